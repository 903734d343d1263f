# SPDX-License-Identifier: MIT
"""How a loaded model can be loaded again in another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn._digest import file_sha256
from armnn.errors import ModelFileError

if TYPE_CHECKING:
    from armnn.backends import CreationOptions
    from armnn.runtime.loaded_network import LoadedNetwork


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model file as it was when it was loaded.

    Attributes:
        path: Where it lies, absolute.
        stamp: The file's number, size and time of change; empty in another process.
        arguments: What ``load_model`` was called with.
        creation_options: The options of the runtime.
        known_sha256: Of its bytes, once somebody asked.
    """

    path: str
    stamp: tuple[int, ...]
    arguments: Mapping[str, Any]
    creation_options: CreationOptions
    known_sha256: list[str] = field(default_factory=list, compare=False)

    @classmethod
    def of(
        cls, path: Path, arguments: Mapping[str, Any], creation_options: CreationOptions
    ) -> ModelSource:
        """Return the source of a model file."""
        return cls(str(path.resolve()), _stamp_of(path), dict(arguments), creation_options)

    @property
    def sha256(self) -> str:
        """Of the bytes of the file; they are read when this is first asked for.

        Raises:
            ModelFileError: The file is gone or has changed.
        """
        if not self.known_sha256:
            path = Path(self.path)
            digest = file_sha256(path) if _stamp_of(path) == self.stamp else ""
            if not digest or _stamp_of(path) != self.stamp:
                raise ModelFileError(
                    f"the model {self.path!r} is gone or has changed since it was loaded: load it "
                    "again"
                )
            self.known_sha256.append(digest)
        return self.known_sha256[0]

    def load(self) -> LoadedNetwork:
        """Load the model again.

        Raises:
            ModelFileError: The file is gone or has changed.
        """
        from armnn.runtime.default import runtime_for  # the models of a process share runtimes

        path = Path(self.path)
        if not path.is_file() or file_sha256(path) != self.sha256:
            raise ModelFileError(
                f"the model {self.path!r} is gone or has changed since it was pickled: expected "
                f"sha256 {self.sha256}"
            )
        return runtime_for(self.creation_options).load_model(path, **self.arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        known = [self.sha256]
        return ModelSource, (self.path, (), self.arguments, self.creation_options, known)


def _stamp_of(path: Path) -> tuple[int, ...]:
    """Return what changes with a file; empty if there is none."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns
