# SPDX-License-Identifier: MIT
"""``python -m armnn_compat.litert program.py``: run a program, unchanged, on armnn."""

from __future__ import annotations

import sys

from armnn_compat import litert
from armnn_compat.standing_in import run_program

run_program(litert.install, litert, "ai_edge_litert and tflite_runtime", sys.argv[1:])
