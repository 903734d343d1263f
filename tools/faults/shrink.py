# SPDX-License-Identifier: MIT
"""A fault of onnxruntime: Shrink is computed in Float32.

    python -m tools.faults.shrink

ONNX defines Shrink as ``x - bias`` above ``lambd``, in the type of the input, for all numeric
types. With ``bias`` 0 the result is the input itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from armnn_backend_onnxruntime.library import onnxruntime

FOLDER: Final = Path(__file__).parent / "models"
"""Reduced models of one node each: ``lambd`` 0.5, ``bias`` 0."""

INPUTS: Final = {
    "shrink_float64": np.array([1 + 1e-12, 3.3]),
    "shrink_int64": np.array([2**24 + 1, 2**31 + 1], np.int64),
}
"""By model: numbers that Float32 does not hold."""


def shrink_errors() -> int:
    """Return how many results differ from their inputs."""
    wrong = 0
    for name, given in INPUTS.items():
        content = (FOLDER / f"{name}.onnx").read_bytes()
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        (got,) = session.run(None, {"x": given})
        wrong += int(np.count_nonzero(got != given))
        print(f"{name}: {given.tolist()} became {got.tolist()}")
    return wrong


if __name__ == "__main__":
    shrink_errors()
