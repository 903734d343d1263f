# SPDX-License-Identifier: MIT
"""The files beside a model.

Entries of a cache and pickled networks record their names below the model's folder, and the sha256
of each. A name is checked like that of a model before its file is opened, as the record may come
from anywhere.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping

from armnn.backends.cache import StaleEntryError
from armnn.parsing._locations import is_below, resolved_below
from armnn.storage.stamps import stamp_in, stamp_of


class ExternalFiles:
    """The files beside one model.

    Args:
        model: The model's file.
        digest_of: Returns the sha256 of a file.
    """

    def __init__(self, model: str, digest_of: Callable[[str], str]) -> None:
        self._folder = os.path.dirname(model)
        self._digest_of = digest_of

    def digests_of(self, files: Mapping[str, os.stat_result]) -> dict[str, str]:
        """Return the sha256 of files as they were read.

        Args:
            files: The status of each when it was opened.

        Raises:
            StaleEntryError: One is another now.
        """
        return {name: self._digest(name, stamp_in(status)) for name, status in files.items()}

    def check(self, recorded: Mapping[str, str]) -> None:
        """Check that files are those of an entry.

        Args:
            recorded: The sha256 of each.

        Raises:
            StaleEntryError: One is another, is gone, or is not below the model's folder.
        """
        for name, digest in recorded.items():
            if self._digest(name) != digest:
                raise _changed(name)

    def complete(self, recorded: dict[str, str], files: Mapping[str, os.stat_result]) -> None:
        """Check recorded files, and record those read, as above."""
        self.check(recorded)
        # Parsers that were made for armnn-core 1.2.0 read files that have no name.
        new = {name: files[name] for name in files if name and name not in recorded}
        recorded.update(self.digests_of(new))

    def _digest(self, name: str, stamp: tuple[int, ...] = ()) -> str:
        path = resolved_below(self._folder, name) if is_below(name) else ""
        if not path:
            raise StaleEntryError(f"its file {name!r} is not below the model's folder")
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe would wait
                raise StaleEntryError(f"its file {name!r} is not a regular one")
            digest = self._digest_of(path)
        except OSError as error:
            raise StaleEntryError(f"its file {name!r} cannot be read: {error.strerror}") from error
        if stamp and stamp_of(path) != stamp:
            raise _changed(name)
        return digest


def _changed(name: str) -> StaleEntryError:
    return StaleEntryError(f"its file {name!r} has changed")
