# SPDX-License-Identifier: MIT
"""Compiles the backend with a C++ compiler, for hatchling.

``python hatch_build.py`` builds into the source tree and compiles only what has changed. The
machine is the one that the compiler in CXX compiles for: a cross-compiler makes another wheel.
``ARMNN_CPUACC_LEVELS`` names the levels of ``levels.toml`` to compile, ``native`` the best one of
this processor without bfloat16; a wheel without the others has their names in its version.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.version import Version

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))  # hatchling loads this file by its path, and nothing beside it

from native_build.library import (  # noqa: E402  # after the path
    LIBRARY,
    build_library,
    header_directory,
    label,
)
from native_build.platform_tag import platform_tag  # noqa: E402  # after the path

SOURCES = ROOT / "src"


def version_of_distribution() -> str:
    """Return the version in ``__about__.py``."""
    scope: dict[str, str] = {}
    exec((ROOT / "src/armnn_backend_neon/__about__.py").read_text(), scope)
    return scope["__version__"]


class NativeBuildHook(BuildHookInterface[BuilderConfig]):
    """Builds the library for wheels; adds headers to sdists."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before hatchling collects the files."""
        if self.target_name == "sdist":
            build_data["force_include"][str(header_directory())] = "include"
            return
        library = build_library(self.metadata.version)
        if version == "editable":
            put_into_sources(library)
        else:
            build_data["force_include"][str(library)] = str(LIBRARY)
            self.label_version(label())
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(library)}"

    def label_version(self, levels: str) -> None:
        """Make levels the local part of the wheel's version.

        No index and no release takes such a version. Hatchling has no public way to do so from a
        hook: what it read from ``__about__.py`` is replaced before it names the wheel and writes
        the metadata.
        """
        if levels:
            read = self.metadata.version
            labeled = str(Version(f"{read}+{levels}"))
            self.metadata._version = self.metadata._original_version = labeled
            if self.metadata.version != labeled:
                raise RuntimeError(f"hatchling keeps the version {read}, expected {labeled}")


def put_into_sources(library: Path) -> Path:
    """Copy a library into the source tree; return the copy."""
    # The old file may be mapped by a process: it is replaced, never written to.
    unfinished = (SOURCES / LIBRARY).with_suffix(".part")
    shutil.copy2(library, unfinished)
    return unfinished.replace(SOURCES / LIBRARY)


if __name__ == "__main__":
    try:
        print(put_into_sources(build_library(version_of_distribution())), file=sys.stderr)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{shlex.join(error.cmd)}\nended with {error.returncode}; its messages are above.")
