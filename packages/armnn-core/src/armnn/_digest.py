# SPDX-License-Identifier: MIT
"""SHA-256, imported on first use.

OpenSSL takes 3.5 MB, and few loads need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import hashlib
    from os import PathLike


DIGEST_SIZE = 32


def sha256(data: bytes | memoryview = b"") -> hashlib._Hash:
    """Return a hash object of bytes, which takes more."""
    import hashlib

    return hashlib.sha256(data)


def file_sha256(path: str | PathLike[str]) -> str:
    """Return the sha256 of a file in hexadecimal."""
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
