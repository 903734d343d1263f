# SPDX-License-Identifier: MIT
"""Extreme but legal values through every layer, against float64.

Each backend is tested. The cases of the conformance kit run again with their numbers replaced: near
the limits of the type, subnormal, infinite and NaN. CpuRef in Float64 says what is right: the kit
holds it to independent oracles, and nothing of Float32 overflows there. Where its formula meets
infinity or NaN itself, the values are worked out by hand below.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.layers import LAYERS, InputSlot, LayerSpec
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, Tolerance, cases_of, covered_layers, usual
from armnn_conformance.comparison import difference
from armnn_conformance.operands import CaseTensor, decode, store
from armnn_conformance.running import BoundCase, layer_of
from armnn_conformance.subject import Subject

Array = NDArray[Any]

LIMITS = {
    DataType.FLOAT32: (3e38, 1e-40),
    DataType.FLOAT16: (65000.0, 6e-7),
    DataType.BFLOAT16: (3e38, 1e-40),
}
"""A number near the largest, and a subnormal one, of the types that are computed in float32."""

KINDS = ("strange", "huge", "all huge", "tiny")

CASES = {
    "Activation": 40,
    "ElementwiseUnary": 40,
    "ElementwiseBinary": 20,
    "Pooling2d": 8,
    "Reduce": 6,
}
"""How many cases of a layer are tried: one for each function."""

OPEN_IF_STRANGE = {
    "Convolution2d": "zeros that fill up windows and filters are multiplied with infinity, too",
    "DepthwiseConvolution2d": "zeros of the padding are multiplied with infinite weights, too",
    "TransposeConvolution2d": "zeros of the padding are multiplied with infinite weights, too",
    "Resize": "a neighbor whose weight is zero is read, or not",
}
"""Layers that CpuAcc lets infinity and NaN spread in, further than the definition says."""


def has_oracle(spec: LayerSpec) -> bool:
    """Return whether Float64 in the place of other floats makes the same layer.

    Where the output says its type itself, there is no Float64: conversions are tested by hand.
    BitCast has no real values.
    """
    floats = [*LIMITS, DataType.FLOAT64]
    return spec.name != "BitCast" and all(
        each.like or (each.data_types and not set(each.data_types) & set(floats))
        for each in spec.outputs
    )


@pytest.fixture(scope="module", params=["CpuRef", "CpuAcc"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    with Subject(request.param) as found:
        yield found


@pytest.fixture(scope="module")
def oracle() -> Iterator[Subject]:
    with Subject("CpuRef") as found:
        yield found


def drawn(kind: str, data_type: DataType, count: int) -> Array:
    """Return numbers of a kind, ordinary ones among them."""
    random = np.random.default_rng([count, len(kind)])
    ordinary = random.uniform(-2, 2, count)
    largest, tiny = LIMITS[data_type]
    choices = {
        "huge": [largest, -largest, largest / 2, -largest / 3],
        "all huge": [largest],
        "tiny": [tiny, -tiny, 2 * tiny, 0.0, 1e4 * tiny],
        "strange": [np.inf, -np.inf, np.nan],
    }[kind]
    some = random.choice(choices, count)
    share = {"huge": 0.6, "strange": 0.3}.get(kind, 1.0)
    return np.where(random.random(count) < share, some, ordinary)


def with_extremes(case: LayerCase, kind: str, slot: int) -> LayerCase:
    """Return the case with the numbers of one input replaced."""
    operand = case.inputs[slot]
    assert operand is not None
    numbers = drawn(kind, operand.info.data_type, operand.stored.size)
    stored = store(numbers.reshape(operand.stored.shape), operand.info)
    inputs = list(case.inputs)
    inputs[slot] = dataclasses.replace(operand, stored=stored, real=decode(stored, operand.info))
    return dataclasses.replace(case, inputs=tuple(inputs))


def in_float64(case: LayerCase, *, magnitudes: bool = False) -> LayerCase:
    """Return the case with floats as Float64, or magnitudes."""

    def widened(operand: CaseTensor | None) -> CaseTensor | None:
        if operand is None or operand.info.data_type not in LIMITS:
            return operand
        real = np.abs(operand.real) if magnitudes else operand.real
        info = TensorInfo(real.shape, DataType.FLOAT64)
        return CaseTensor(info, real, real, operand.constant)

    outputs = tuple(
        TensorInfo(info.shape, DataType.FLOAT64) if info.data_type in LIMITS else info
        for info in case.outputs
    )
    inputs = tuple(map(widened, case.inputs))
    return dataclasses.replace(case, inputs=inputs, outputs=outputs, data_type=DataType.FLOAT64)


def run(subject: Subject, case: LayerCase) -> list[Array] | None:
    """Return the backend's result, None if it refuses the case."""
    layer = layer_of(case)
    return BoundCase(subject, layer, case.inputs).run() if subject.supports(layer) else None


def variants(layer: str, data_type: DataType) -> Iterator[tuple[str, LayerCase]]:
    """Yield a layer's cases with extreme values per input.

    Each of the first inputs has them.
    """
    some = itertools.islice(cases_of(layer, data_type), CASES.get(layer, 2))
    for index, case in enumerate(some if data_type is DataType.FLOAT32 else [*some][:1]):
        slots = [
            slot
            for slot, operand in enumerate(case.inputs)
            if operand is not None
            and operand.info.data_type in LIMITS
            and not _must_be_usual(LAYERS[layer].input_slot(slot))
        ]
        for slot in slots[: 2 if index == 0 else 1]:
            for kind in KINDS if slot == slots[0] else KINDS[:2]:
                if not _is_open(layer, kind):
                    yield f"{case.name}, {kind} input {slot}", with_extremes(case, kind, slot)


def _must_be_usual(slot: InputSlot) -> bool:
    """Return whether an input decides about shapes, or takes finite numbers only."""
    return slot.shapes_output or slot.finite


def _is_open(layer: str, kind: str) -> bool:
    if kind == "strange":
        return layer in OPEN_IF_STRANGE
    return kind != "tiny" and bool(LAYERS[layer].numerics.overflows)


def problem(case: LayerCase, index: int, got: Array, right: Array, reach: Array | None) -> str:
    """Return an output's fault, "" if it is right."""
    info = case.outputs[index]
    if info.data_type not in LIMITS:
        return "" if np.array_equal(got, right) else f"got {got}, expected {right}"
    if reach is not None:
        largest = float(np.float32(LIMITS[info.data_type][0])) * 1.1
        overflows = (reach > largest) & (not LAYERS[case.layer].numerics.averages)
        rounding = np.abs(decode(got, info) - right) <= usual(info.data_type).rtol * reach
        settled = np.isfinite(right) & (overflows | rounding)
        right = np.where(settled, decode(got, info), right)
    loose = Tolerance("some operations of the type", rtol=1e-4, atol=2e-6)
    tolerance = loose if info.data_type is DataType.FLOAT32 else usual(info.data_type)
    return difference(got, info, right, tolerance)


@pytest.mark.parametrize("layer", [name for name in covered_layers() if has_oracle(LAYERS[name])])
def test_extreme_values_are_computed_as_in_float64(
    subject: Subject, oracle: Subject, layer: str
) -> None:
    wrong, is_sum = [], LAYERS[layer].numerics.is_sum
    for data_type in LIMITS:
        for name, case in variants(layer, data_type):
            got = run(subject, case)
            if got is None:
                continue
            with np.errstate(all="ignore"):
                right = run(oracle, in_float64(case))
                reach = run(oracle, in_float64(case, magnitudes=True)) if is_sum else None
                assert right is not None
                for index in range(len(got)):
                    if index in case.open_outputs:
                        continue
                    reached = None if reach is None else reach[index]
                    said = problem(case, index, got[index], right[index], reached)
                    wrong += [f"{data_type.arm_name} {name}, output {index}: {said}"] * bool(said)
    assert not wrong, "\n".join(wrong)
