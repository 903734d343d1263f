# SPDX-License-Identifier: MIT
"""Lets tests import the networks that are stored in ``data``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
