# SPDX-License-Identifier: MIT
"""Every layer that CpuRef claims to support runs.

Types, shapes and parameters are other than those of the cases. Layers that the layer table takes
are either refused with a reason or run without a crash and without a warning; that their values are
right is what the cases are for.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn.backends import ArrayHandle, ModelContext, TensorHandle
from armnn.errors import ArmnnError, ExecutionError
from armnn.graph import Layer, Network
from armnn.optimizer.shapes.specialize import fill_descriptor, state_target_shape, update_outputs
from armnn.tensor import MAX_RANK, TensorInfo
from armnn.types import ArmnnEnum, DataType
from armnn_backend_ref.backend import RefBackend
from armnn_conformance.cases import LayerCase, cases_of, covered_layers, data_types_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Operand = tuple["NDArray[Any]", TensorInfo]

_LOOKED_AT = (DataType.FLOAT32, DataType.QASYMM_U8, DataType.BOOLEAN)
_STORED_ONLY = tuple(kind for kind in DataType if kind >= DataType.INT4)
_OTHERS = tuple(kind for kind in DataType if kind not in _STORED_ONLY[1:])


class Receiver(TensorHandle):
    """An output that takes any shape and records it."""

    def __init__(self, info: TensorInfo) -> None:
        self.info = info.with_shape(None)
        self.shape: tuple[int, ...] = ()

    def map(self) -> NDArray[Any]:
        raise AssertionError("there is nothing to map before a shape is known")

    def assign(self, array: NDArray[Any]) -> None:
        self.shape = array.shape


def _chosen(layer: str, count: int) -> list[LayerCase]:
    """Return some cases of a layer that differ much."""
    columns = [kind for kind in _LOOKED_AT if kind in data_types_of(layer)]
    found = [case for kind in columns or data_types_of(layer)[:1] for case in cases_of(layer, kind)]
    return found[:: max(1, len(found) // count)]


def _operands(case: LayerCase, changed: Mapping[int, TensorInfo]) -> list[Operand | None]:
    """Return the inputs of a case, with some tensors changed."""
    found: list[Operand | None] = []
    for place, operand in enumerate(case.inputs):
        if operand is None:
            found.append(None)
            continue
        info, stored = changed.get(place, operand.info), operand.stored
        if info is not operand.info:
            numbers = np.nan_to_num(np.asarray(operand.real, np.float64), posinf=1, neginf=0)
            if info.shape != operand.info.shape:
                numbers = np.resize(numbers, info.static_shape)
            with np.errstate(all="ignore"):
                stored = np.clip(numbers, 0, 3).astype(info.data_type.numpy_dtype)
        found.append((stored, info))
    return found


def _layer(
    case: LayerCase, operands: list[Operand | None], output: DataType | None
) -> Layer | None:
    """Return the layer for CpuRef, None if the table refuses."""
    network = Network("test")
    outputs: list[TensorInfo | DataType | None] = [None] * len(case.outputs)
    if output is not None:
        outputs[0] = TensorInfo(None, output, 0.5 if output.is_quantized else ())
    try:
        values = [
            None
            if pair is None
            else network.add_constant(*pair)
            if operand is not None and operand.constant
            else network.add_input(str(place), pair[1])
            for place, (pair, operand) in enumerate(zip(operands, case.inputs, strict=True))
        ]
        layer = network.add(case.layer, values, case.descriptor, outputs=outputs)
        fill_descriptor(network, layer)
        update_outputs(layer)
    except ArmnnError:
        return None
    state_target_shape(layer)
    return layer


def _run(
    case: LayerCase, changed: Mapping[int, TensorInfo], output: DataType | None = None
) -> None:
    operands = _operands(case, changed)
    layer = _layer(case, operands, output)
    if layer is None:
        return
    backend, model = RefBackend(), ModelContext({})
    support = backend.supports(layer, model)
    if not support:
        assert support.reason
        return
    inputs = [
        None if value is None or pair is None else ArrayHandle(pair[1], pair[0])
        for value, pair in zip(layer.inputs, operands, strict=False)
    ]
    targets = [Receiver(info) for info in layer.output_infos]
    what = f"{case} ({case.descriptor}) with {changed} into {output}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            backend.create_workload(layer, model).bind(inputs, targets)()
    except ExecutionError:  # of values: an index that is out of range, for one
        return
    except Exception as error:
        raise AssertionError(f"{what}: {error!r}") from error
    for info, target in zip(layer.output_infos, targets, strict=True):
        assert info.accepts(target.shape), f"{what}: {target.shape} is not {info}"


def _reshaped(case: LayerCase) -> Iterator[dict[int, TensorInfo]]:
    """Yield other shapes for the inputs of a case.

    They have an axis less or more, or an axis of no, one and one more element.
    """
    operands = {place: each for place, each in enumerate(case.inputs) if each is not None}
    for place, operand in operands.items():
        shape = operand.info.static_shape
        longer = [(2, *shape), (*shape, 1)] if len(shape) < MAX_RANK else []
        shapes = [shape[1:], *longer, ()]
        for axis, size in enumerate(shape):
            shapes += [(*shape[:axis], other, *shape[axis + 1 :]) for other in (0, 1, size + 1)]
        if operand.info.axis is None:
            yield from ({place: operand.info.with_shape(other)} for other in shapes)
    for axis in range(5):
        for size in (0, 1):
            together = {}
            for place, operand in operands.items():
                shape = operand.info.static_shape
                if len(shape) > axis and operand.info.axis is None:
                    other = (*shape[:axis], size, *shape[axis + 1 :])
                    together[place] = operand.info.with_shape(other)
            yield together


def _others(value: Any) -> list[Any]:
    """Return other values of a parameter, most of them unlikely."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, ArmnnEnum):
        return [other for other in type(value) if other is not value]
    if isinstance(value, int):
        return [-2, -1, 0, 1, 2, 3, 7]
    if isinstance(value, float):
        return [-1.0, 0.0, 0.5, 2.0]
    if isinstance(value, tuple):
        changed = [
            (*value[:place], other, *value[place + 1 :])
            for place, item in enumerate(value)
            for other in _others(item)
        ]
        return [*changed, value[1:], value + value[-1:], value[::-1]]
    return []


def _parametrized(case: LayerCase) -> Iterator[LayerCase]:
    for field in dataclasses.fields(case.descriptor):
        for other in _others(getattr(case.descriptor, field.name)):
            try:
                descriptor = dataclasses.replace(case.descriptor, **{field.name: other})
            except ArmnnError:
                continue
            yield dataclasses.replace(case, descriptor=descriptor)


@pytest.mark.parametrize("layer", covered_layers())
def test_other_parameters_are_refused_or_run(layer: str) -> None:
    for case in _chosen(layer, 3):
        for other in _parametrized(case):
            _run(other, {})


@pytest.mark.parametrize("layer", covered_layers())
def test_other_types_are_refused_or_run(layer: str) -> None:
    for case in _chosen(layer, 2):
        shapes = {i: each.info.shape for i, each in enumerate(case.inputs) if each is not None}
        for kind in _OTHERS:
            infos = {
                place: TensorInfo(shape, kind, 0.5 if kind.is_quantized else ())
                for place, shape in shapes.items()
            }
            _run(case, infos)
            _run(case, {}, kind)
            for place, info in infos.items():
                _run(case, {place: info})


@pytest.mark.parametrize("layer", covered_layers())
def test_other_shapes_are_refused_or_run(layer: str) -> None:
    for case in _chosen(layer, 5):
        for changed in _reshaped(case):
            _run(case, changed)
