# SPDX-License-Identifier: MIT
"""Makes the matrix's backends: a wheel and a shared library.

They are for a Backend API version. Those of released versions are frozen: they were made once, by
``python fixtures.py freeze 1.1`` at the release, and compat.toml holds their sha256. Those of
versions to come are made for each run from the header of the checkout, with other numbers in it.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FROZEN = HERE / "frozen"
SOURCES = HERE / "sources"
REPOSITORY = HERE.parents[1]
HEADER = REPOSITORY / "packages/armnn-backend-api/src/armnn_backend_api/include/armnn/backend.h"
PACKAGE = "armnn_compat_backend"
EPOCH = (2026, 1, 1, 0, 0, 0)  # the same bytes whenever they are made


@dataclass(frozen=True)
class Made:
    """How a backend of the matrix is made.

    Attributes:
        known: Major and minor of the Backend API that it was made with.
        declared: Major and minor that it says it needs.
    """

    known: tuple[int, int]
    declared: tuple[int, int]

    @property
    def version(self) -> str:
        """The distribution's version: declared API, patch by made API."""
        return f"{self.declared[0]}.{self.declared[1]}.{self.known[1] - self.declared[1]}"

    @property
    def wheel(self) -> str:
        """The name of its wheel."""
        return f"{PACKAGE}-{self.version}-py3-none-any.whl"

    @property
    def library(self) -> str:
        """The shared library's name, which tests extend for scans."""
        return f"backend-{self.version}.so"


BACKENDS_FROZEN = (
    Made((1, 0), (1, 0)),
    Made((1, 1), (1, 1)),
    Made((1, 1), (1, 0)),
    Made((1, 2), (1, 2)),
    Made((1, 3), (1, 3)),
)
"""The backends of released versions."""


def write_wheel(made: Made, folder: Path) -> Path:
    """Write the wheel of a backend in Python."""
    (major, minor), stem = made.declared, f"{PACKAGE}-{made.version}"
    source = (SOURCES / "backend.py").read_text(encoding="utf-8")
    source = source.replace("BackendVersion(1, 0)", f"BackendVersion({major}, {minor})")
    source = source.replace("KNOWN = (1, 0)", f"KNOWN = {made.known}")
    files = {
        f"{PACKAGE}/__init__.py": source,
        f"{stem}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: armnn-compat-backend\nVersion: {made.version}\n"
            f"Requires-Dist: armnn-backend-api>={major}.{minor},<{major + 1}\n"
            "Requires-Dist: armnn-core\n"
        ),
        f"{stem}.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: compat\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{stem}.dist-info/entry_points.txt": (
            f"[armnn.backends]\nCompat = {PACKAGE}:CompatBackend\n"
        ),
    }
    record = f"{stem}.dist-info/RECORD"
    rows = [f"{name},sha256={_hash(text)},{len(text.encode())}" for name, text in files.items()]
    files[record] = "\n".join([*rows, f"{record},,", ""])
    path = folder / made.wheel
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), text)
    return path


def _hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def build_library(made: Made, header: str, folder: Path) -> Path:
    """Compile a C backend's shared library against a header."""
    path = folder / made.library
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    flags += ["-fvisibility=hidden", "-Wl,-z,defs", "-Wl,--build-id=none", "-s"]
    with tempfile.TemporaryDirectory() as include:
        place = Path(include, "armnn", "backend.h")
        place.parent.mkdir()
        place.write_text(header, encoding="utf-8")
        where = [f"-I{include}", f"-DARMNN_BACKEND_TARGET_MINOR={made.declared[1]}"]
        subprocess.run(["gcc", *flags, *where, "-o", path, SOURCES / "backend.c"], check=True)
    return path


def header_of(version: tuple[int, int]) -> str:
    """Return the checkout's header as another version's."""
    text = HEADER.read_text(encoding="utf-8")
    for name, number in zip(("MAJOR", "MINOR"), version, strict=True):
        text = re.sub(rf"(#define ARMNN_BACKEND_API_{name}) \d+", rf"\1 {number}", text)
    return text


def freeze(version: tuple[int, int]) -> None:
    """Make the checkout's backend of a version, once, at its release."""
    made = Made(version, version)
    print(write_wheel(made, FROZEN))
    print(build_library(made, header_of(version), FROZEN))


if __name__ == "__main__":
    major, minor = sys.argv[2].split(".")
    freeze((int(major), int(minor)))
