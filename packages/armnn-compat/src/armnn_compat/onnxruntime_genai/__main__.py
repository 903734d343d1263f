# SPDX-License-Identifier: MIT
"""``python -m armnn_compat.onnxruntime_genai program.py``: run a program, unchanged, on armnn."""

from __future__ import annotations

import sys

from armnn_compat import onnxruntime_genai
from armnn_compat.standing_in import run_program

run_program(onnxruntime_genai.install, onnxruntime_genai, "onnxruntime_genai", sys.argv[1:])
