# SPDX-License-Identifier: MIT
"""Constants that hold symbolic numbers: small arrays of Python objects.

Layers that move, repeat, fill, convert or dequantize elements, or combine two by one rounding, have
one right value and are computed here: one takes a microsecond, and fifty and more through a
backend. Others that move elements are computed by a backend on the positions; arithmetic is done
element by element.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn._process_memory import HugePages
from armnn._symbolic import is_symbolic
from armnn.graph import Layer, Network, Value
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.quantization import dequantize
from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, ComparisonOperation, DataType, UnaryOperation

Array: TypeAlias = NDArray[Any]

MOVED = {
    "BroadcastTo": (0, 1),
    "Concat": (0, 100),
    "Gather": (0, 1),
    "Reshape": (0, 1),
    "Stack": (0, 100),
    "StridedSlice": (0, 1),
    "Where": (1, 3),
}
"""Layers of one output that move elements: of the inputs from one position to before another."""

_COMBINED: dict[str | BinaryOperation, np.ufunc] = {
    "Addition": np.add,
    "Multiplication": np.multiply,
    "Subtraction": np.subtract,
    BinaryOperation.ADD: np.add,
    BinaryOperation.MUL: np.multiply,
    BinaryOperation.SUB: np.subtract,
}
"""The function that combines elements, by layer type or operation of ElementwiseBinary."""

_MANY = 1 << 17
"""Elements that take longer to copy than Python takes to spare that, or to do it in stripes."""

_FAR = 64
"""Bytes of a line of a cache: elements so far apart share none."""

_STRIPE = 16

_COMBINED_TYPES = (DataType.FLOAT32, DataType.SIGNED32)
_FILLED = (DataType.FLOAT32, DataType.SIGNED32, DataType.SIGNED64)


def carried(
    kind: str,
    descriptor: Any,
    made: TensorInfo,
    operands: Sequence[tuple[Array, TensorInfo] | None],
    spare: Array | None = None,
) -> Array | None:
    """Return the output of a layer that needs no backend.

    None of another one, and where a backend is to say what is wrong.

    Args:
        kind: The type of the layer.
        descriptor: Its parameters, plain as all that follows.
        made: The info of its output.
        operands: The data of its inputs with their infos; None if one is absent.
        spare: The data of an input that nothing else needs; the output may be written there.
    """
    if kind == "Fill":
        return _filled(descriptor.value, made)
    data = [each[0] for each in operands if each is not None]
    types = [None if each is None else each[1].data_type for each in operands]
    if made.is_quantized or len(data) < len(operands):
        return None
    if kind == "Cast":
        return _converted(data[0], types[0], made)
    if kind == "Dequantize" and operands[0] is not None:
        return _dequantized(*operands[0], made)
    if kind == "Transpose" and types[0] is made.data_type:
        return _in_order(data[0].transpose(descriptor.dim_mappings))
    if kind == "Reshape" and len(data) == 1 and types[0] is made.data_type:
        whole = made.is_static and data[0].size == made.num_elements
        if whole and data[0].flags.c_contiguous:  # as one memory, of which packed forms are known
            return data[0].reshape(made.static_shape)
    combine = _COMBINED.get(descriptor.operation if kind == "ElementwiseBinary" else kind)
    if combine is not None:
        return _combined(combine, data, types, made, spare)
    if kind not in MOVED:
        return None
    first, last = MOVED[kind]
    if any(each is not made.data_type for each in types[first:last]):
        return None
    found = _moved_by(kind, descriptor, made, data)
    return None if found is None or found.shape != made.shape else _in_order(found)


def _in_order(found: Array) -> Array:
    """Return a copy with its elements in order.

    Transposed ones are copied in stripes: what a row reads is then in the first cache for the next.
    """
    if found.size < _MANY or found.strides[-1] < _FAR:
        return np.array(found, order="C")
    made = _many(found.shape, found.dtype)
    for begin in range(0, found.shape[-1], _STRIPE):
        stripe = (..., slice(begin, begin + _STRIPE))
        made[stripe] = found[stripe]
    return made


def _many(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return memory for many elements, in huge pages alone.

    NumPy's own begins and ends with others.
    """
    pages = HugePages().empty(math.prod(shape) * dtype.itemsize)
    made: Array = np.frombuffer(pages, dtype)
    return made.reshape(shape)


def _converted(data: Array, kind: DataType | None, made: TensorInfo) -> Array | None:
    """Return integers in a wider type, or as floats."""
    if kind is None or not kind.is_integer or data.dtype.kind not in "iu":
        return None
    dtype = made.data_type.numpy_dtype
    is_held = made.data_type.is_integer and np.can_cast(data.dtype, dtype)
    if not is_held and made.data_type is not DataType.FLOAT32:
        return None
    if data.size < _MANY:
        return data.astype(dtype, order="C")
    found = _many(data.shape, dtype)
    np.copyto(found, data, casting="unsafe")
    return found


def _dequantized(data: Array, info: TensorInfo, made: TensorInfo) -> Array | None:
    """Return the real values of stored ones in float32."""
    if not info.scales or data.dtype.kind not in "iu" or made.data_type is not DataType.FLOAT32:
        return None
    with np.errstate(all="ignore"):
        return dequantize(data, info)


def _combined(
    combine: np.ufunc,
    data: Sequence[Array],
    types: Sequence[DataType | None],
    made: TensorInfo,
    spare: Array | None,
) -> Array | None:
    """Return the results for pairs of elements of one type.

    Many of them take less time in memory that is there than in pages that are new to the process.
    """
    if made.data_type not in _COMBINED_TYPES or any(each is not made.data_type for each in types):
        return None
    if combine is np.subtract and _is_nothing(data[1], data[0], made):
        return data[0]
    if spare is not None and (spare.shape != made.shape or spare.dtype != data[0].dtype):
        spare = None
    try:
        with np.errstate(all="ignore"):  # infinity is a value like any other
            found = np.asarray(combine(*data, out=spare))
    except ValueError:
        return None
    return found if found.shape == made.shape else None


def _is_nothing(data: Array, whole: Array, made: TensorInfo) -> bool:
    """Return whether subtracting it leaves many elements as they are.

    The zero points of symmetric weights are zero. A number minus -0.0 may be another one.
    """
    if whole.size < _MANY or whole.shape != made.shape or 2 * data.size > whole.size:
        return False
    return not data.view(np.int32).any()


def _moved_by(
    kind: str, descriptor: Any, made: TensorInfo, operands: Sequence[Array]
) -> Array | None:
    """Return moved elements, symbolic ones too; None if it fails.

    Args:
        kind: The type of the layer, of :data:`MOVED`.
        descriptor: Its parameters.
        made: The info of its output.
        operands: The elements, with what says where they go.
    """
    try:
        found = _MOVES[kind](descriptor, made, *operands)
    except (IndexError, ValueError):
        return None
    if type(found) is np.ndarray:
        return found
    single = np.empty((), getattr(found, "dtype", object))  # NumPy makes no array of one element
    single[()] = found
    return single


def _filled(value: float, made: TensorInfo) -> Array | None:
    if made.data_type not in _FILLED:
        return None
    dtype = made.data_type.numpy_dtype
    if dtype.kind == "f":
        is_held = abs(value) <= float(np.finfo(dtype).max)
    else:
        limits = np.iinfo(dtype)
        is_held = limits.min <= value <= limits.max and value == int(value)
    return np.full(made.static_shape, value, dtype) if is_held else None


def _broadcast_to(descriptor: Any, _made: TensorInfo, data: Array) -> Array:
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, descriptor.broadcast_to_shape))


def _gather(descriptor: Any, _made: TensorInfo, data: Array, indices: Array) -> Array:
    return np.take(data, indices, axis=descriptor.axis)


def _concat(descriptor: Any, _made: TensorInfo, *data: Array) -> Array:
    return np.concatenate(data, axis=descriptor.axis)


def _reshape(_descriptor: Any, made: TensorInfo, data: Array) -> Array:
    return data.reshape(made.static_shape)


def _stack(descriptor: Any, _made: TensorInfo, *data: Array) -> Array:
    return np.stack(data, axis=descriptor.axis)


def _strided_slice(descriptor: Any, _made: TensorInfo, data: Array) -> Array:
    found: Array = data[descriptor.index(data.ndim)]
    return found


def _where(_descriptor: Any, _made: TensorInfo, condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


_MOVES: dict[str, Callable[..., Array]] = {
    "BroadcastTo": _broadcast_to,
    "Concat": _concat,
    "Gather": _gather,
    "Reshape": _reshape,
    "Stack": _stack,
    "StridedSlice": _strided_slice,
    "Where": _where,
}


MOST_ELEMENTS = 100
"""The most elements of a constant that is computed here; positions in it fit every data type."""


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
    found = _moved_by(layer.type, layer.descriptor, made, arrays)
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
