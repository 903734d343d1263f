# SPDX-License-Identifier: MIT
"""The command that judges a model for Polygraphy.

    python -m tools.faults.judge RUNTIME

It exits with 1 if the runtime computes ``polygraphy_try.onnx`` of the current folder otherwise than
ONNX's reference evaluator: the model's own inputs are the recorded ones, others are random.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator  # noqa: TID251  # neither runtime's own opinion

Arrays: TypeAlias = Mapping[str, NDArray[Any]]


def main() -> int:
    """Return 1 for a wrong model."""
    model = onnx.load("polygraphy_try.onnx")
    with np.load("polygraphy.npz") as recorded:
        inputs = {
            each.name: recorded[each.name] if each.name in recorded else _random(each)
            for each in model.graph.input
        }
    expected = [np.asarray(each) for each in ReferenceEvaluator(model).run(None, dict(inputs))]
    got = _run(sys.argv[1], model.SerializeToString(), inputs)
    exact = [each.dtype.kind != "f" for each in expected]
    right = (
        np.array_equal(a, b) if whole else np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        for a, b, whole in zip(got, expected, exact, strict=True)
    )
    return int(not all(right))


def _run(runtime: str, content: bytes, inputs: Arrays) -> Sequence[NDArray[Any]]:
    """Return what a runtime computes, output by output."""
    if runtime == "onnxruntime":
        import onnxruntime

        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        found: Sequence[NDArray[Any]] = session.run(None, dict(inputs))
        return found
    from armnn_backend_openvino.library import openvino

    core = openvino.Core()
    properties = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(content), "CPU", properties)
    made = compiled({name: array for name, array in inputs.items() if array is not None})
    return [np.array(made[at]) for at in range(len(compiled.outputs))]


def _random(value: onnx.ValueInfoProto) -> NDArray[Any]:
    kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    shape = [each.dim_value for each in value.type.tensor_type.shape.dim]
    return np.random.default_rng(0).standard_normal(shape).astype(kind)


if __name__ == "__main__":
    sys.exit(main())
