# SPDX-License-Identifier: MIT
"""The stand-in for onnxruntime_genai in child processes."""

from __future__ import annotations

import sys

from armnn_compat.onnxruntime_genai import install
from armnn_compat.standing_in import withdraw

withdraw({__name__: sys.modules[__name__]})
install()
