# SPDX-License-Identifier: MIT
"""What tells CpuAcc's sources of one day from another's."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tools import ROOT

PACKAGE = ROOT / "packages/armnn-backend-neon"


@cache
def digest_of_sources(package: Path = PACKAGE) -> str:
    """Return a digest of the C++ sources and their levels.

    The compiler and its flags are not part of it, so it is the same on every machine. Nor are
    emulated registers, which only builds for tests have.
    """
    digest = hashlib.sha256()
    sources = [path for path in (package / "cpp").rglob("*") if path.is_file()]
    shipped = [path for path in sources if "_emulated" not in path.name]
    for path in sorted([*shipped, package / "levels.toml"]):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
