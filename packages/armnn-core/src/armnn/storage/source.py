# SPDX-License-Identifier: MIT
"""The identity of a model's file."""

from __future__ import annotations

import os
from typing import Any

from armnn._dataclasses import dataclass, field
from armnn._digest import file_sha256
from armnn.errors import ModelFileError


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model file as it was when it was loaded.

    Attributes:
        path: The absolute path.
        stamp: The file's number, size and time of change; empty in another process.
        known_sha256: The sha256 of its bytes, once it was computed.
    """

    path: str
    stamp: tuple[int, ...]
    known_sha256: list[str] = field(default_factory=list, compare=False)

    @classmethod
    def of(cls, path: str) -> ModelSource:
        """Return the source of a model file."""
        return cls(os.path.realpath(path), _stamp_of(path))

    @property
    def sha256(self) -> str:
        """The sha256 of the file, computed at the first access.

        Raises:
            ModelFileError: The file is gone or has changed.
        """
        if not self.known_sha256:
            path = self.path
            digest = file_sha256(path) if _stamp_of(path) == self.stamp else ""
            if not digest or _stamp_of(path) != self.stamp:
                raise ModelFileError(
                    f"the model {self.path!r} is gone or has changed since it was loaded: load it "
                    "again"
                )
            self.known_sha256.append(digest)
        return self.known_sha256[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return ModelSource, (self.path, (), [self.sha256])


def _stamp_of(path: str) -> tuple[int, ...]:
    """Return what changes with a file; empty without one."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns
