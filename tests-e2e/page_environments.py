# SPDX-License-Identifier: MIT
"""Environments with exactly what a page tells to install, or a requirement leads to.

Nothing is downloaded or unpacked: distributions installed here are linked. So a test that needs
more than its page names fails, as a reader would.
"""

from __future__ import annotations

import functools
import re
import shlex
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[1]
COMMAND = re.compile(r"^(?: {4}|\$ )pip install (.*)$", re.MULTILINE)
AS_IN = re.compile(r"[Ii]nstalled? as in the \[[^]]*\]\(([\w-]+\.md)\)")
WITH_A_VALUE = ("--find-links",)
COMPILED = "__pycache__"
THIRD_PARTY = ("-r", "dist/wheelhouse/requirements.txt")


def requirements_of(page: Path) -> frozenset[str]:
    """Return a page's pip requirements, including those of named pages.

    Raises:
        ValueError: It does not say what to install, or ours from anywhere but dist/wheelhouse.
    """
    text = page.read_text(encoding="utf-8")
    commands = COMMAND.findall(text)
    for other in AS_IN.findall(text):
        commands += COMMAND.findall((page.parent / other).read_text(encoding="utf-8"))
    found = [each for command in commands for each in _named(command)]
    if not found:
        raise ValueError(f"{page.name} does not say what to install")
    return frozenset(found)


def _named(command: str) -> Iterator[str]:
    """Yield pip install's requirements; folders are the reader's own."""
    words = shlex.split(command)
    if tuple(words) == THIRD_PARTY:
        return
    ours = any(word.startswith("armnn") for word in words)
    if ours and words[:3] != ["--no-index", "--find-links", "dist/wheelhouse"]:
        raise ValueError(f"pip install {command}: an index might have a stranger's package")
    while words:
        word = words.pop(0)
        if word in WITH_A_VALUE:
            words.pop(0)
        elif not word.startswith(("-", ".")):
            yield word


@functools.cache
def closure(requirement: str) -> dict[str, Distribution]:
    """Return the distributions that a requirement leads to, by name."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(requirement)]
    while waiting:
        wanted = waiting.pop()
        for extra in ("", *wanted.extras):
            if (wanted.name, extra) in seen:
                continue
            seen.add((wanted.name, extra))
            there = found.setdefault(wanted.name, distribution(wanted.name))
            waiting += [
                needed
                for needed in map(Requirement, there.requires or ())
                if needed.marker is None or needed.marker.evaluate({"extra": extra})
            ]
    return found


def _entries(installed: Distribution) -> set[str]:
    """Return what to link of a distribution: packages as folders, all else file by file."""
    files = [each for each in installed.files or () if ".." not in each.parts]
    whole = {each.parts[0] for each in files if each.parts[1:] == ("__init__.py",)}
    whole |= {each.parts[0] for each in files if each.parts[0].endswith(".dist-info")}
    single = {str(each) for each in files if whole.isdisjoint(each.parts[:1])}
    return whole | {each for each in single if COMPILED not in each}


def make(folder: Path, requirements: Iterable[str]) -> Path:
    """Make and return a virtual environment of links.

    Whichever environment imports a module first compiles it for all.
    """
    venv.create(folder, symlinks=True, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    installed = {name: each for wanted in requirements for name, each in closure(wanted).items()}
    for each in installed.values():
        for entry in _entries(each):
            link = site / entry
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists():
                link.symlink_to(Path(each.locate_file(entry)))
        for point in each.entry_points.select(group="console_scripts"):
            script = folder / "bin" / point.name
            function = f"from {point.module} import {point.attr} as main"
            script.write_text(f"#!{folder}/bin/python\nimport sys\n{function}\nsys.exit(main())\n")
            script.chmod(0o755)
    return folder
