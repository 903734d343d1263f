# SPDX-License-Identifier: MIT
"""``python -m armnn_compat.onnxruntime program.py``: run a program, unchanged, on armnn."""

from __future__ import annotations

import sys

from armnn_compat import onnxruntime
from armnn_compat.standing_in import run_program

run_program(onnxruntime.install, onnxruntime, "onnxruntime", sys.argv[1:])
