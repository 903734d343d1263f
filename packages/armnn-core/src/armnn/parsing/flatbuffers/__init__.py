# SPDX-License-Identifier: MIT
"""FlatBuffers files (https://flatbuffers.dev/internals), read within bounds and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.parsing.flatbuffers._kinds import Tables
    from armnn.parsing.flatbuffers._reader import FlatFile, FlatTable
    from armnn.parsing.flatbuffers._writer import MOST_BYTES, FlatRecord, Piece, flat_pieces
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "_kinds": "Tables",
            "_reader": "FlatFile FlatTable",
            "_writer": "MOST_BYTES FlatRecord Piece flat_pieces",
        },
    )

__all__ = ["MOST_BYTES", "FlatFile", "FlatRecord", "FlatTable", "Piece", "Tables", "flat_pieces"]
