# SPDX-License-Identifier: MIT
"""Tensors without elements through every layer, on each backend.

The cases of the conformance kit run again with an axis of length 0: each axis of each input alone,
two axes that are as long, and all that are. What comes out with elements nevertheless is what the
definition says: a sum of nothing is that of zeros, others are worked out by hand below.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.backends.memory import ComputedHandle
from armnn.errors import ArmnnError, ExecutionError
from armnn.layers import LAYERS
from armnn.optimizer.shapes.specialize import fill_descriptor, state_target_shape, update_outputs
from armnn.types import DataType, ReduceOperation
from armnn_conformance.cases import LayerCase, cases_of, covered_layers, data_types_of, usual
from armnn_conformance.comparison import difference
from armnn_conformance.operands import CaseTensor, decode, store
from armnn_conformance.running import LAYER, BoundCase, network_of
from armnn_conformance.subject import Subject

if TYPE_CHECKING:
    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

Array = NDArray[Any]

TYPES = (
    DataType.FLOAT32,
    DataType.QASYMM_S8,
    DataType.QSYMM_S16,
    DataType.SIGNED32,
)
"""The data types that are tried where a layer has cases of them: others are computed alike."""

CASES = {
    "Pooling2d": 8,
    "Reduce": 15,
    "SpaceToBatchNd": 2,
    "UnidirectionalSequenceLstm": 4,
    "Unique": 12,
}
"""How many cases are tried of a data type: elsewhere 2 of Float32 and one of each other type."""

STATES = {
    "DynamicQuantizeLstm": (5, 6),
    "Gru": (5,),
    "Rnn": (5,),
    "SequenceLstm": (5, 6),
    "UnidirectionalSequenceLstm": (1, 2),
}
"""The inputs that hold the states before the first step, which are those after no step."""

REDUCED = {
    ReduceOperation.SUM: 0,
    ReduceOperation.PROD: 1,
    ReduceOperation.MAX: -np.inf,
    ReduceOperation.MIN: np.inf,
    ReduceOperation.MEAN: np.nan,
}

REFUSED = (
    r"has no pixels to sample",
    r"the index -?\d+ is outside of axis -?\d+: it has no elements",
    r"the sequence length \d+ is not that of an item: expected 0 to 0",
    r"a cache of 0 keys cannot have \d+: expected 0 to 0",
    r"the batch index \d+ is not that of a picture: there are none",
)
"""What CpuRef says where the definition has no result."""


@pytest.fixture(scope="module")
def reference() -> Iterator[Subject]:
    with Subject("CpuRef") as found:
        yield found


@pytest.fixture(scope="module")
def accelerated() -> Iterator[Subject]:
    with Subject("CpuAcc") as found:
        yield found


Axis = tuple[int, int]
"""An input and one of its axes."""


def with_lengths(case: LayerCase, axes: tuple[Axis, ...], length: int) -> LayerCase:
    """Return the case with axes of length 0, or 1.

    It is 1 where the case holds zeros.
    """
    inputs = list(case.inputs)
    for slot in {slot for slot, _ in axes}:
        operand = inputs[slot]
        assert operand is not None
        shape = list(operand.stored.shape)
        for _, axis in (each for each in axes if each[0] == slot):
            shape[axis] = length
        info = operand.info.with_shape(shape)
        stored = store(np.zeros(shape, operand.real.dtype), info)
        inputs[slot] = CaseTensor(info, stored, decode(stored, info), operand.constant)
    return dataclasses.replace(case, inputs=tuple(inputs))


def choices(case: LayerCase) -> Iterator[tuple[Axis, ...]]:
    """Yield the axes that may be empty together."""
    lengths = {
        (slot, axis): length
        for slot, operand in enumerate(case.inputs)
        if operand is not None
        for axis, length in enumerate(operand.stored.shape)
        if length > 0
    }
    for axis in lengths:
        yield (axis,)
    for length in sorted(set(lengths.values())):
        alike = [axis for axis in lengths if lengths[axis] == length]
        if len(alike) <= 4:
            yield from itertools.combinations(alike, 2)
        if len(alike) > 2:
            yield tuple(alike)


def layer_of(case: LayerCase) -> Layer:
    """Return the layer for a backend, with inferred shapes."""
    network = network_of(case)
    layer = network.find(LAYER)
    fill_descriptor(network, layer)
    update_outputs(layer)
    state_target_shape(layer)
    return layer


def empty_cases(layer: str) -> Iterator[tuple[LayerCase, tuple[Axis, ...], Layer]]:
    """Yield cases with empty axes that the shape function accepts.

    The inputs of their originals have elements.
    """
    types = data_types_of(layer)
    for data_type in [each for each in TYPES if each in types] or types[:1]:
        count = CASES.get(layer, 2 if data_type is DataType.FLOAT32 else 1)
        for case in itertools.islice(cases_of(layer, data_type), count):
            for axes in choices(case):
                try:
                    yield case, axes, layer_of(with_lengths(case, axes, 0))
                except ArmnnError:  # a layer of such shapes is none
                    continue


def computed(subject: Subject, layer: Layer, case: LayerCase) -> list[Array] | str:
    """Return CpuRef's result with its shapes, or the refusal."""
    support = subject.supports(layer)
    if not support:
        return support.reason
    workload = subject.backend.create_workload(layer, subject.model)
    inputs = BoundCase(subject, layer, case.inputs).inputs
    outputs = [ComputedHandle(info.with_shape(None)) for info in layer.output_infos]
    try:
        workload.bind(inputs, outputs)()
    except ExecutionError as error:
        return str(error)
    return [output.map() for output in outputs]


def without_elements(case: LayerCase, place: int, info: TensorInfo) -> Array | None:
    """Return the real values that the definition gives an output.

    None if they are those of zeros.

    The case has empty inputs.
    """
    shape = info.static_shape
    rule = BY_HAND.get(case.layer)
    if case.layer in STATES and _steps(case) == 0:
        rule = _state
    if rule is None:
        assert _sums_nothing(case.layer), f"{case.layer} makes {shape} of nothing: what is right?"
        return None
    return np.broadcast_to(np.asarray(rule(case, place)), shape)


def _sums_nothing(layer: str) -> bool:
    """Return whether a layer gives of nothing what it gives of zeros.

    Sums of products do: biases alone, averages of the values.
    """
    return LAYERS[layer].multiply_adds is not None or layer == "DynamicQuantize"


def _joined(case: LayerCase, _place: int) -> Array:
    parts = [operand.real for operand in case.inputs if operand is not None]
    return np.concatenate(parts, case.descriptor.axis)


def _base(case: LayerCase, _place: int) -> Array:
    base = case.inputs[0]
    return np.zeros(()) if base is None else base.real


def _of(name: str) -> Callable[[LayerCase, int], Any]:
    return lambda case, _place: getattr(case.descriptor, name)


def _reduced(data_type: DataType, operation: ReduceOperation) -> float | int:
    if data_type.is_float or data_type.is_quantized:
        return REDUCED[operation]
    limits = np.iinfo(data_type.numpy_dtype)
    whole = {ReduceOperation.MAX: limits.min, ReduceOperation.MIN: limits.max}
    return whole.get(operation, 1 if operation is ReduceOperation.PROD else 0)


def _nothing(case: LayerCase, _place: int) -> Any:
    operand = case.inputs[0]
    assert operand is not None
    return {"Rank": operand.real.ndim, "Shape": operand.real.shape}[case.layer]


def _steps(case: LayerCase) -> int:
    """Return how many steps a sequence has."""
    operand = case.inputs[0]
    assert operand is not None
    return operand.real.shape[0 if case.descriptor.time_major else 1]


def _state(case: LayerCase, place: int) -> Array:
    first = 0 if case.layer == "UnidirectionalSequenceLstm" else 1
    slot = STATES[case.layer][place - first]
    operand = case.inputs[slot] if slot < len(case.inputs) else None
    return np.zeros(()) if operand is None else operand.real


BY_HAND: dict[str, Callable[[LayerCase, int], Any]] = {
    "Concat": _joined,
    "ConvolutionInteger": lambda _case, _place: 0,
    "Determinant": lambda _case, _place: 1,
    "DetectionPostProcess": lambda _case, _place: 0,
    "Fill": _of("value"),
    "GatherNd": _base,
    "MatMulInteger": lambda _case, _place: 0,
    "Mean": lambda case, _place: _reduced(case.data_type, ReduceOperation.MEAN),
    "Pad": _of("pad_value"),
    "Pooling2d": lambda _case, _place: 0,
    "Rank": _nothing,
    "Reduce": lambda case, _place: _reduced(case.data_type, case.descriptor.reduce_operation),
    "ReverseV2": _base,
    "RotaryEmbedding": _base,
    "ScatterElements": _base,
    "ScatterNd": _base,
    "Shape": _nothing,
    "SpaceToBatchNd": lambda _case, _place: 0,
    "TensorScatter": _base,
    "Unique": lambda case, place: [0, 0, 0, case.inputs[0].real.shape[case.descriptor.axis]][place],
}
"""What comes out of empty inputs, by the definition of the layer."""


def problem(case: LayerCase, layer: Layer, got: list[Array], zeros: list[Array] | None) -> str:
    """Return the outputs' faults, "" if they are right."""
    for place, (array, info) in enumerate(zip(got, layer.output_infos, strict=True)):
        if not info.accepts(array.shape):
            return f"output {place}: the shape {array.shape}, inferred {info}"
        if array.size == 0 or place in case.open_outputs:
            continue
        right = without_elements(case, place, info.with_shape(array.shape))
        if right is None:
            assert zeros is not None
            stored = zeros[place][tuple(slice(length) for length in array.shape)]
            right = decode(stored, info)
        said = difference(array, info, right, usual(info.data_type))
        if said:
            return f"output {place}: {said}"
    return ""


@pytest.mark.parametrize("layer", covered_layers())
def test_without_elements_a_layer_gives_what_its_definition_says(
    reference: Subject, accelerated: Subject, layer: str
) -> None:
    wrong = []
    for whole, axes, asked in empty_cases(layer):
        case = with_lengths(whole, axes, 0)
        got = computed(reference, asked, case)
        if isinstance(got, str):
            said = "" if any(re.search(known, got) for known in REFUSED) else got
        else:
            zeros = None
            if _sums_nothing(layer) and any(array.size for array in got):
                full = with_lengths(whole, axes, 1)
                zeros = BoundCase(reference, layer_of(full), full.inputs).run()
            said = problem(case, asked, got, zeros)
            said = said or _unlike(accelerated, asked, case, got)
        wrong += [f"{whole.id}, without {axes}: {said}"] * bool(said)
    assert not wrong, "\n".join(wrong)


def _unlike(accelerated: Subject, layer: Layer, case: LayerCase, right: list[Array]) -> str:
    """Return CpuAcc's difference from CpuRef, "" without one.

    A refusal is no difference.
    """
    if not accelerated.supports(layer):
        return ""
    got = BoundCase(accelerated, layer, case.inputs).run()
    for place, (array, info) in enumerate(zip(got, layer.output_infos, strict=True)):
        if place not in case.open_outputs:
            said = difference(array, info, decode(right[place], info), usual(info.data_type))
            if said:
                return f"CpuAcc, output {place}: {said}"
    return ""
