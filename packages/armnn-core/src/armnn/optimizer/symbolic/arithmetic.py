# SPDX-License-Identifier: MIT
"""Arithmetic of shapes in constants that hold symbolic numbers.

Such constants are small arrays of Python objects. Layers that move elements are computed here if
they are frequent, others by a backend on the positions; arithmetic is done element by element.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn._symbolic import is_symbolic
from armnn.graph import Layer, Network, Value
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.symbolic.movement import MOVED, carried, moved_by
from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, ComparisonOperation, UnaryOperation

MOST_ELEMENTS = 100
"""Of a constant that is computed here; positions in it fit every data type."""


def moved(layer: Layer) -> list[NDArray[Any]] | None:
    """Return the output of a layer that moves few integers.

    None of another layer. Models compute their shapes by dozens of such layers, and a backend takes
    fifty times as long for one.

    Args:
        layer: Its inputs are constant, its parameters and the shape of its output are plain.
    """
    if layer.type not in MOVED:
        return None
    (made,) = layer.output_infos
    dtype = made.data_type.numpy_dtype
    if dtype.kind not in "biu" or made.is_quantized:
        return None
    first, last = MOVED[layer.type]
    arrays: list[NDArray[Any]] = []
    for index, value in enumerate(layer.inputs):
        array = None if value is None else value.constant
        if value is None or array is None or array.size > MOST_ELEMENTS:
            return None
        if first <= index < last:
            if value.info.data_type is not made.data_type:
                return None
        elif array.dtype == object:
            return None
        arrays.append(array)
    found = moved_by(layer.type, layer.descriptor, made, arrays)
    if found is None or found.size > MOST_ELEMENTS:
        return None  # the backend says what is wrong
    if found.dtype != object:
        return [np.array(found, dtype)]
    return [_array_of(found.ravel().tolist(), found.shape, dtype)]


def computed(layer: Layer, evaluate: Evaluate) -> list[NDArray[Any]] | None:
    """Return the outputs' data, None if not computed here.

    Args:
        layer: Its inputs are constant, at least one holds symbolic numbers; the shapes of its
            outputs, and its parameters, are plain.
        evaluate: Computes a layer whose inputs are constant.
    """
    inputs = [None if value is None else value.constant for value in layer.inputs]
    if any(each is not None and each.size > MOST_ELEMENTS for each in inputs):
        return None
    if layer.type in _MOVED:
        return _moved(layer, inputs, evaluate)
    return _by_elements(layer, inputs)


def plain_outputs(layer: Layer, spare: NDArray[Any] | None = None) -> list[NDArray[Any]] | None:
    """Return the outputs' data, None if a backend computes it.

    Args:
        layer: Its inputs are constant, and nothing of it is symbolic.
        spare: The data of an input that nothing else needs; an output may be written there.
    """
    values = [None if value is None else value.constant for value in layer.inputs]
    infos = layer.output_infos
    operands = [
        None if value is None or info is None else (value, info)
        for value, info in zip(values, layer.input_infos, strict=True)
    ]
    found = carried(layer.type, layer.descriptor, infos[0], operands, spare)
    if found is not None:
        return [found]
    are_few = all(each is not None and each.size <= MOST_ELEMENTS for each in values)
    if (
        not are_few
        or infos[0].num_elements > MOST_ELEMENTS
        or not all(map(_is_whole, (*layer.input_infos, *infos)))
    ):
        return None
    return _by_elements(layer, values)


def _is_whole(info: TensorInfo | None) -> bool:
    return info is not None and info.data_type.numpy_dtype.kind in "biu" and not info.is_quantized


def _by_elements(layer: Layer, inputs: Sequence[NDArray[Any] | None]) -> list[NDArray[Any]] | None:
    function = _function_of(layer)
    dtype = layer.output_infos[0].data_type.numpy_dtype
    if function is None or dtype.kind not in "biu":
        return None
    operands = np.broadcast_arrays(*[_as_objects(each) for each in inputs if each is not None])
    rows = zip(*[each.ravel().tolist() for each in operands], strict=True)
    made = _elements(function, rows, dtype)
    return None if made is None else [_array_of(made, operands[0].shape, dtype)]


def decided(layer: Layer) -> None:
    """Make a layer's symbolic constants plain, which is a decision."""
    for value in layer.inputs:
        if value is not None and value.constant is not None and is_symbolic(value.constant):
            dtype = value.info.data_type.numpy_dtype
            plain = [int(each) for each in value.constant.ravel().tolist()]
            value.producer.data = np.array(plain, dtype).reshape(value.constant.shape)


def shape_array(dims: Sequence[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return dimensions as data, symbolic if one of them is."""
    return _array_of(list(dims), (len(dims),), dtype)


def _array_of(
    elements: Sequence[Any], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    if not any(map(is_symbolic, elements)):
        return np.array(elements, dtype).reshape(shape)
    made = np.empty(len(elements), object)
    for index, element in enumerate(elements):
        made[index] = element
    return made.reshape(shape)


def _as_objects(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.dtype == object else array.astype(object)


def _moved(
    layer: Layer, inputs: Sequence[NDArray[Any] | None], evaluate: Evaluate
) -> list[NDArray[Any]] | None:
    """Compute a layer that moves elements, on their positions."""
    first, last = _MOVED[layer.type]
    pool: list[Any] = []
    network = Network()
    operands: list[Value | None] = []
    for index, (array, value) in enumerate(zip(inputs, layer.inputs, strict=True)):
        if array is None or value is None:
            operands.append(None)
            continue
        if first <= index < last:
            begin = len(pool)
            pool += array.ravel().tolist()
            array = np.arange(begin, len(pool)).reshape(array.shape)
        elif is_symbolic(array):
            return None
        info = value.info
        operands.append(network.add_constant(array.astype(info.data_type.numpy_dtype), info))
    if len(pool) > MOST_ELEMENTS:
        return None
    infos = layer.output_infos
    results = evaluate(network.add(layer.type, operands, layer.descriptor, outputs=infos))
    if results is None:
        return None
    return [
        _array_of(
            [pool[place] for place in data.ravel().tolist()], data.shape, np.asarray(data).dtype
        )
        for data in map(np.asarray, results)
    ]


_MOVED = {
    **MOVED,
    **dict.fromkeys(("Slice", "Splitter", "Transpose"), (0, 1)),
}
"""Likewise; see :data:`MOVED`. A backend computes the others on positions."""


def _elements(
    function: Callable[..., Any], rows: Iterable[Sequence[Any]], dtype: np.dtype[Any]
) -> list[Any] | None:
    """Return the elements, None if the type cannot hold one."""
    if dtype.kind == "b":
        return [bool(function(*row)) for row in rows]
    limits = np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    found: list[Any] = []
    for row in rows:
        made = function(*row)
        if made is None or not least <= made <= most:
            return None
        found.append(made)
    return found


def _function_of(layer: Layer) -> Callable[..., Any] | None:
    kind, chosen = layer.type, getattr(layer.descriptor, "operation", None)
    if kind in _KINDS:
        return _KINDS[kind]
    if kind == "Comparison" and isinstance(chosen, ComparisonOperation):
        return _COMPARISONS[chosen]
    if kind == "ElementwiseUnary" and isinstance(chosen, UnaryOperation):
        return _UNARY.get(chosen)
    if kind == "ElementwiseBinary" and isinstance(chosen, BinaryOperation):
        return _BINARY.get(chosen)
    return None


def _same(number: Any) -> Any:
    return number


def _quotient(number: Any, divisor: Any) -> Any:
    """Return the quotient of numbers that are not negative."""
    return number // divisor if number >= 0 and divisor > 0 else None


_KINDS: dict[str, Callable[..., Any]] = {
    "Addition": operator.add,
    "Cast": _same,
    "Division": _quotient,
    "Maximum": max,
    "Minimum": min,
    "Multiplication": operator.mul,
    "Subtraction": operator.sub,
}

_BINARY: dict[BinaryOperation, Callable[[Any, Any], Any]] = {
    BinaryOperation.ADD: operator.add,
    BinaryOperation.SUB: operator.sub,
    BinaryOperation.MUL: operator.mul,
    BinaryOperation.DIV: _quotient,
    BinaryOperation.FLOOR_DIV: _quotient,
    BinaryOperation.MAXIMUM: max,
    BinaryOperation.MINIMUM: min,
}

_UNARY: dict[UnaryOperation, Callable[[Any], Any]] = {
    UnaryOperation.ABS: abs,
    UnaryOperation.NEG: operator.neg,
    UnaryOperation.LOGICAL_NOT: operator.not_,
}

_COMPARISONS: dict[ComparisonOperation, Callable[[Any, Any], Any]] = {
    ComparisonOperation.EQUAL: operator.eq,
    ComparisonOperation.NOT_EQUAL: operator.ne,
    ComparisonOperation.GREATER: operator.gt,
    ComparisonOperation.GREATER_OR_EQUAL: operator.ge,
    ComparisonOperation.LESS: operator.lt,
    ComparisonOperation.LESS_OR_EQUAL: operator.le,
}
