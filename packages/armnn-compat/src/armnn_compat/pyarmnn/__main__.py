# SPDX-License-Identifier: MIT
"""``python -m armnn_compat.pyarmnn program.py``: run a program, unchanged, on armnn."""

from __future__ import annotations

import sys

from armnn_compat import pyarmnn
from armnn_compat.standing_in import run_program

run_program(pyarmnn.install, pyarmnn, "pyarmnn", sys.argv[1:])
