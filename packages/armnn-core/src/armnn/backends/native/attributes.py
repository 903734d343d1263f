# SPDX-License-Identifier: MIT
"""An import path of released distributions; ``armnn.backends._moved`` says what it holds."""

from __future__ import annotations

from armnn.backends._moved import moved_names

globals().update(moved_names(__name__))
