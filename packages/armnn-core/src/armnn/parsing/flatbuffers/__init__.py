# SPDX-License-Identifier: MIT
"""FlatBuffers files (https://flatbuffers.dev/internals), read within bounds and written."""

from __future__ import annotations

from armnn.parsing.flatbuffers._kinds import Tables
from armnn.parsing.flatbuffers._reader import FlatFile, FlatTable
from armnn.parsing.flatbuffers._writer import MOST_BYTES, FlatRecord, Piece, flat_pieces

__all__ = ["MOST_BYTES", "FlatFile", "FlatRecord", "FlatTable", "Piece", "Tables", "flat_pieces"]
