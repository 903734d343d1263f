# SPDX-License-Identifier: MIT
"""The parser and the writer of ``.armnn`` files, Arm NN's own format."""

from __future__ import annotations

from typing import Final

__all__ = ["VERSIONS"]

VERSIONS: Final = ("20.08", "23.08")
"""The versions of Arm NN whose files are described, the newest last."""
