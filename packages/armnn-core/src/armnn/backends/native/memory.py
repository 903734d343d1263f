# SPDX-License-Identifier: MIT
"""An import path of released distributions; ``armnn._moved`` says where its names live now."""

from __future__ import annotations

from armnn._moved import moved_names

globals().update(moved_names(__name__))
