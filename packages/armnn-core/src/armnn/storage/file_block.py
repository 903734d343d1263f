# SPDX-License-Identifier: MIT
"""Blocks in files.

A program has as many bytes as its weights, which are in memory already.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from armnn.backends.cache import GrowingBlock

_PIECE: Final = 1 << 20


class FileBlock(GrowingBlock):
    """A block in a file, once it is large.

    The file has no name and goes with the block.
    """

    def __init__(self, folder: str) -> None:
        """Begin without bytes, and without a file in the folder."""
        super().__init__()
        self._folder = folder
        self._file: BinaryIO | None = None

    def append(self, piece: bytes | memoryview) -> None:
        """Write further bytes.

        Raises:
            OSError: There is no room for them.
        """
        if self._file is None and self.size + len(piece) > _PIECE:
            self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115  # it goes with the block
            self._file.writelines(self._pieces)
            self._pieces.clear()
        if self._file is None:
            super().append(piece)
        else:
            self._file.write(piece)
            self.size += len(piece)

    def __iter__(self) -> Iterator[bytes]:
        """Yield all of them; several threads may read them."""
        if self._file is None:
            yield from self._pieces
            return
        self._file.flush()
        for start in range(0, self.size, _PIECE):
            yield os.pread(self._file.fileno(), _PIECE, start)

    def __del__(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()
