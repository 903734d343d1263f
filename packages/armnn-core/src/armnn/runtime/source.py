# SPDX-License-Identifier: MIT
"""How a loaded model can be loaded again in another process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn.errors import ModelFileError

if TYPE_CHECKING:
    from armnn.backends import CreationOptions
    from armnn.runtime.loaded_network import LoadedNetwork


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model file as it was when it was loaded.

    Attributes:
        path: Where it lies, absolute.
        sha256: Of its bytes.
        arguments: What ``load_model`` was called with.
        creation_options: The options of the runtime.
    """

    path: str
    sha256: str
    arguments: Mapping[str, Any]
    creation_options: CreationOptions

    @classmethod
    def of(
        cls, path: Path, arguments: Mapping[str, Any], creation_options: CreationOptions
    ) -> ModelSource:
        """Return the source of a model file."""
        return cls(str(path.resolve()), file_sha256(path), dict(arguments), creation_options)

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


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
