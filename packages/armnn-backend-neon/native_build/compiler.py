# SPDX-License-Identifier: MIT
"""The C++ compiler, and translation units compiled after changes."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import NamedTuple


def compiler() -> list[str]:
    """Return the compiler's command: that of CXX, else g++."""
    return shlex.split(os.environ.get("CXX", "g++"))


def added_flags() -> list[str]:
    """Return the environment's additional flags, those of CXXFLAGS."""
    return shlex.split(os.environ.get("CXXFLAGS", ""))


def machine_of_compiler() -> str:
    """Return the compiler's target machine, such as ``aarch64``."""
    return answer("-dumpmachine").partition("-")[0]


def answer(question: str) -> str:
    """Return what the compiler prints about itself."""
    command = [*compiler(), question]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def run(command: list[str]) -> None:
    """Run a compiler or linker; its messages go to stderr."""
    subprocess.run(command, check=True)


def write_if_changed(path: Path, text: str) -> None:
    """Write a generated source if it has changed.

    An unchanged one causes no compilation.
    """
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


class Unit(NamedTuple):
    """A translation unit: a source with its compiler arguments."""

    source: Path
    object: Path
    arguments: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """What compiles it."""
        paths = ["-MMD", "-c", str(self.source), "-o", str(self.object)]
        return [*compiler(), *self.arguments, *paths]

    def compile(self) -> None:
        """Compile it, and note with which command."""
        begun = time.time()
        run(self.command)
        os.utime(self.object, (begun, begun))  # what changes from then on is younger
        self.object.with_suffix(".txt").write_text(repr(self.command))

    def is_stale(self) -> bool:
        """Return whether source, header or command outdate the object."""
        dependencies, stamp = (self.object.with_suffix(suffix) for suffix in (".d", ".txt"))
        if not all(path.exists() for path in (self.object, dependencies, stamp)):
            return True
        if stamp.read_text() != repr(self.command):
            return True
        made = self.object.stat().st_mtime
        _, _, listed = dependencies.read_text().replace("\\\n", " ").partition(":")
        files = [Path(name) for name in listed.split()]
        return any(not file.exists() or file.stat().st_mtime > made for file in files)
