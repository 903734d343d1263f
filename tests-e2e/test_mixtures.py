# SPDX-License-Identifier: MIT
"""CpuRef and CpuAcc take the same mixtures of types.

Exceptions are listed here. The cases of the conformance kit are asked about with one tensor of
another data type.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn.errors import ShapeError
from armnn.layers.activation import PreluDescriptor
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, case, cases_of, covered_layers, data_types_of
from armnn_conformance.checks.correctness import CaseResult, Outcome, check_case
from armnn_conformance.operands import CaseTensor, fitted, tensor
from armnn_conformance.running import NonconformityError, layer_of
from armnn_conformance.subject import Subject

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer

TYPES = (
    DataType.FLOAT32,
    DataType.FLOAT16,
    DataType.FLOAT64,
    DataType.QASYMM_U8,
    DataType.QSYMM_S16,
    DataType.SIGNED32,
)
ASKED = (DataType.FLOAT32, DataType.QASYMM_U8, DataType.SIGNED32)
"""The data types of the cases, of which one tensor then gets another type."""

LACKING = {
    r"layers of type \w+ are not computed here": "it has no kernel for the layer",
    r"known only when it is computed": "the C interface takes outputs of known shapes",
    r"(Float64|(Uns|S)igned\d+) is not computed here": "it has no kernel for the data type",
    r"it must be Float32 of rank 4": "it has no attention for the data type",
    r"the (input|output|scales|bias) must be Float32": "it has no kernel for the data type",
    r"only 8 and 16 bits with one scale are (de)?quantized here": "Float64 would be rounded twice",
    r"the (indices|axes) must be Signed32 or Signed64": "it reads two types of indices",
    r"only neighboring channels are computed here": "it has no kernel for the parameter",
    r"padding with this data type must be 0": "a whole number is no real one",
}
"""Why CpuAcc may refuse what CpuRef takes: its reason, and what is behind it."""


@pytest.fixture(scope="module")
def backends() -> Iterator[tuple[Subject, Subject]]:
    with Subject("CpuRef") as reference, Subject("CpuAcc") as accelerated:
        yield reference, accelerated


def moderate(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers that every type has a scale for."""
    return np.clip(np.nan_to_num(np.asarray(values, np.float64)), -1e9, 1e9).round(6)


def retyped(operand: CaseTensor, data_type: DataType) -> CaseTensor:
    """Return the operand as another data type stores it."""
    real = moderate(operand.real)
    if data_type.is_integer:
        real = np.rint(real)
    with np.errstate(over="ignore"):
        return tensor(data_type, real, constant=operand.constant)


def mixtures(layer: str) -> Iterator[Layer]:
    """Yield a layer with one tensor of another data type.

    The shape function must agree.
    """
    for data_type in data_types_of(layer):
        if data_type not in ASKED:
            continue
        first = next(cases_of(layer, data_type))
        for other in TYPES:
            for changed in with_a_tensor_of(first, other):
                try:
                    yield layer_of(changed)
                except (ShapeError, NonconformityError):  # the layer table refuses it
                    continue


def with_a_tensor_of(given: LayerCase, data_type: DataType) -> Iterator[LayerCase]:
    """Yield the case with each tensor in turn changed."""
    for slot, operand in enumerate(given.inputs[:9]):  # the parameters of all gates are alike
        if operand is not None:
            inputs = list(given.inputs)
            inputs[slot] = retyped(operand, data_type)
            yield dataclasses.replace(given, inputs=tuple(inputs))
    for place, expected in enumerate(given.expected):
        outputs = list(given.outputs)
        outputs[place] = fitted(data_type, moderate(expected))
        yield dataclasses.replace(given, outputs=tuple(outputs))


@pytest.mark.parametrize("layer", covered_layers())
def test_both_backends_take_the_same_mixtures(
    backends: tuple[Subject, Subject], layer: str
) -> None:
    reference, accelerated = backends
    unlike = []
    for asked in mixtures(layer):
        first, second = reference.supports(asked), accelerated.supports(asked)
        if bool(first) == bool(second):
            continue
        if not second and any(re.search(known, second.reason) for known in LACKING):
            continue
        types = [info.data_type.arm_name for info in asked.input_infos if info is not None]
        made = [info.data_type.arm_name for info in asked.output_infos]
        unlike.append(f"{types} -> {made}: CpuRef {first}, CpuAcc {second}")
    assert not unlike, "\n".join(unlike)


def test_mixtures_are_computed_alike(backends: tuple[Subject, Subject]) -> None:
    """Mixed types are rounded once, at the end.

    There are Float16 data, Float32 and quantized operands, and a BFloat16 result.
    """
    x = tensor(DataType.FLOAT16, [-1.5, 2.25, -3.0])
    for other in (DataType.FLOAT32, DataType.QASYMM_U8, DataType.BFLOAT16):
        slope = tensor(other, [0.5, 0.25, 0.75])
        expected = np.where(x.real > 0, x.real, slope.real * x.real)
        for made in (DataType.FLOAT32, DataType.BFLOAT16, DataType.QSYMM_S16):
            mixed = case(
                DataType.FLOAT16, "mixed", PreluDescriptor(), [x, slope], expected, outputs=[made]
            )
            for subject in backends:
                assert check_case(subject, mixed) == Outcome(CaseResult.PASSED)
