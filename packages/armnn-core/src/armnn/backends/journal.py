# SPDX-License-Identifier: MIT
"""An import path of released distributions, see ``armnn.backends._moved``."""

from __future__ import annotations

from armnn.backends._moved import moved_names

globals().update(moved_names(__name__))
