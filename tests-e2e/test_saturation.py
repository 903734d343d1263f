# SPDX-License-Identifier: MIT
"""Quantized tensors at their types' ends, on each backend.

The cases of the conformance kit run again with what one input stores replaced: the ends of the
type and the zero point. Outputs keep their steps, or have an eighth of them with the zero point at
an end, so that most results saturate. CpuRef in Float64 says what is right; it is then rounded and
clamped here.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.errors import ArmnnError
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, cases_of, covered_layers, data_types_of, usual
from armnn_conformance.comparison import difference
from armnn_conformance.operands import SYMMETRIC, CaseTensor, decode
from armnn_conformance.running import BoundCase, NonconformityError, layer_of
from armnn_conformance.subject import Subject

Array = NDArray[Any]

TYPES = (DataType.QASYMM_U8, DataType.QASYMM_S8, DataType.QSYMM_S16)

CASES = {
    "Activation": 20,
    "ElementwiseBinary": 8,
    "ElementwiseUnary": 20,
    "Pooling2d": 6,
    "Reduce": 6,
}
"""How many cases of a layer are tried: one for each function."""

NO_ORACLE = {
    "Dequantize": "its types are those of its cases, which hold the ends of each type",
    "DetectionPostProcess": "its outputs are Float32, from boxes that Float64 is refused for",
    "Fill": "its input is a shape",
    "Lstm": "its gates and cells are kept in 16 bits on the way, which Float64 does not show",
    "QLstm": "it has no real values: its gates and cells are kept in few bits on the way",
    "QuantizedLstm": "it has no real values: its gates and cells are kept in few bits on the way",
    "Quantize": "its types are those of its cases, which saturate",
}
"""Layers that are not compared, and why."""

OPEN = {
    ("ElementwiseBinary", "Power"): "a power of a negative number is NaN unless its exponent is "
    "whole, to which float32 may round it",
}
"""Cases whose results hang on the last bit of what is decoded, and why."""

LAYERS = [
    name
    for name in covered_layers()
    if name not in NO_ORACLE and set(TYPES) & set(data_types_of(name))
]


@pytest.fixture(scope="module")
def backends() -> Iterator[tuple[Subject, Subject]]:
    with Subject("CpuRef") as reference, Subject("CpuAcc") as accelerated:
        yield reference, accelerated


def at_the_ends(operand: CaseTensor) -> CaseTensor:
    """Return the operand with ends and zeros stored."""
    info, shape = operand.info, operand.stored.shape
    limits = np.iinfo(info.data_type.numpy_dtype)
    random = np.random.default_rng([17, *shape])
    stored = random.choice([limits.min, limits.max, info.zero_points[0]], shape, p=[0.4, 0.4, 0.2])
    stored = stored.astype(info.data_type.numpy_dtype)
    return dataclasses.replace(operand, stored=stored, real=decode(stored, info))


def narrowed(info: TensorInfo, end: str) -> TensorInfo:
    """Return the info with smaller steps and extreme zero point.

    There is an eighth of the steps.
    """
    limits = np.iinfo(info.data_type.numpy_dtype)
    zero = 0 if info.data_type in SYMMETRIC else int(getattr(limits, end))
    return TensorInfo(info.shape, info.data_type, info.scale / 8, zero)


def variants(case: LayerCase) -> Iterator[tuple[str, LayerCase]]:
    """Yield the case with each input at the ends.

    Outputs saturate.
    """
    slots = [
        slot
        for slot, operand in enumerate(case.inputs)
        if operand is not None and operand.info.is_quantized
    ]
    for slot in slots[:2]:
        inputs = list(case.inputs)
        operand = inputs[slot]
        assert operand is not None
        inputs[slot] = at_the_ends(operand)
        ended = dataclasses.replace(case, inputs=tuple(inputs))
        if slot == slots[0]:
            yield f"input {slot} at the ends", ended
        for end in ("min", "max") if slot == slots[0] else ("max",):
            outputs = tuple(
                narrowed(info, end) if info.data_type in TYPES and info.axis is None else info
                for info in case.outputs
            )
            yield (
                f"input {slot} at the ends, the zero point at the {end}",
                dataclasses.replace(ended, outputs=outputs),
            )


def in_float64(case: LayerCase) -> LayerCase:
    """Return the case with real values as Float64.

    They are those of quantized tensors and biases.
    """

    def widened(operand: CaseTensor | None) -> CaseTensor | None:
        if operand is None or operand.real.dtype != np.float64:
            return operand
        info = TensorInfo(operand.real.shape, DataType.FLOAT64)
        return CaseTensor(info, operand.real, operand.real, operand.constant)

    outputs = tuple(
        TensorInfo(info.shape, DataType.FLOAT64)
        if info.is_quantized or info.data_type.is_float
        else info
        for info in case.outputs
    )
    inputs = tuple(map(widened, case.inputs))
    return dataclasses.replace(case, inputs=inputs, outputs=outputs, data_type=DataType.FLOAT64)


def tried(layer: str) -> Iterator[tuple[str, LayerCase]]:
    """Yield the cases of a layer that are compared."""
    for data_type in TYPES:
        for case in itertools.islice(cases_of(layer, data_type), CASES.get(layer, 1)):
            if (layer, case.name) not in OPEN:
                yield from variants(case)


def run(subject: Subject, case: LayerCase) -> list[Array] | None:
    """Return the backend's result, None for a refusal.

    The layer table may refuse as well.
    """
    try:
        layer = layer_of(case)
    except (ArmnnError, NonconformityError):
        return None
    return BoundCase(subject, layer, case.inputs).run() if subject.supports(layer) else None


@pytest.mark.parametrize("layer", LAYERS)
def test_quantized_results_are_those_of_float64_rounded_and_clamped(
    backends: tuple[Subject, Subject], layer: str
) -> None:
    wrong, compared = [], 0
    for name, case in tried(layer):
        right = run(backends[0], in_float64(case))
        for subject in backends:
            got = None if right is None else run(subject, case)
            if got is None or right is None:
                continue
            compared += 1
            for place, info in enumerate(case.outputs):
                said = difference(got[place], info, right[place], usual(info.data_type))
                if said and place not in case.open_outputs:
                    wrong.append(f"{subject.id}, {case.id}, {name}, output {place}: {said}")
    assert not wrong, "\n".join(wrong)
    assert compared, "nothing was computed, and nothing would be noticed"
