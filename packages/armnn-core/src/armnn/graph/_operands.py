# SPDX-License-Identifier: MIT
"""Checked arguments of network methods: operands, layers and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.arguments import closest, instance, integer, items, refused, with_article
from armnn.errors import GraphError, InvalidArgumentError, ShapeError
from armnn.graph.layer import Layer, Value
from armnn.layers import LAYERS, LayerSpec, LayerType, Requested
from armnn.tensor import TensorInfo
from armnn.types import DataType

Operand: TypeAlias = "Value | NDArray[Any] | None"
"""The types of an input slot; an array becomes a Constant layer."""

ARRAYS = (np.ndarray, np.generic)
"""The types that become a Constant layer."""

_OPERANDS = (Value, *ARRAYS)


def operands(values: object, name: str) -> Sequence[Operand]:
    """Return the operands of a variadic input.

    They must be a list: an array is one operand.

    Raises:
        InvalidArgumentError: They are not a list.
    """
    return _listed(values, f"the input {name!r}")


def checked_operands(values: object, spec: LayerSpec, name: str) -> Sequence[Operand]:
    """Return the operands of a new layer, one per slot.

    Raises:
        InvalidArgumentError: They are not a list, or one is neither a value nor an array.
        ShapeError: There are too many, or a required one is missing.
    """
    listed: Sequence[Any] = (
        values
        if isinstance(values, (list, tuple))
        else _listed(values, f"the inputs of layer {name!r} ({spec.name})")
    )
    if len(listed) > len(spec.inputs) and not spec.is_variadic:
        raise ShapeError(
            f"layer {name!r} ({spec.name}): got {len(listed)} inputs, expected at most "
            f"{len(spec.inputs)}"
        )
    is_full = len(listed) >= len(spec.inputs)
    for index, value in enumerate(listed):
        if type(value) is Value:
            continue  # as most are
        is_full = is_full and value is not None
        if value is not None and not isinstance(value, _OPERANDS):
            what = f"layer {name!r} ({spec.name}): the input {spec.input_slot(index).name!r}"
            raise refused(what, value, f"a Value of the network or an array{_hint(value)}")
    for index, input_slot in enumerate(() if is_full else spec.inputs):
        if not input_slot.optional and (index >= len(listed) or listed[index] is None):
            raise ShapeError(
                f"layer {name!r} ({spec.name}): the input {input_slot.name!r} is missing"
            )
    return listed


def _listed(values: object, what: str) -> Sequence[Any]:
    expected = "a list of values of the network, such as [x, y]"
    if isinstance(values, ARRAYS):  # its items would be operands of their own
        raise refused(what, values, expected)
    return items(values, what, expected)


def _hint(value: object) -> str:
    if isinstance(value, Layer):
        return "; the values of a layer are in its outputs"
    return "; np.float32() makes one of a number" if isinstance(value, (int, float)) else ""


def checked_value(value: object, what: str) -> Value:
    """Return a Value.

    Raises:
        InvalidArgumentError: It is something else.
    """
    return instance(value, Value, what, _hint(value) if isinstance(value, Layer) else "")


def checked_inputs(layer: Layer, values: Sequence[Value | None]) -> list[Value | None]:
    """Return the values that a layer is to read.

    Raises:
        InvalidArgumentError: They are not a list, or one is something else.
    """
    if not isinstance(values, (list, tuple)):
        values = items(values, f"the inputs of layer {layer.name!r}")
    return [
        each
        if each is None or type(each) is Value
        else checked_value(each, f"an input of layer {layer.name!r}")
        for each in values
    ]


def checked_request(request: object, spec: LayerSpec) -> Requested:
    """Return a request for an output, its type converted.

    Whatever names a data type becomes a DataType.

    Raises:
        InvalidArgumentError: It is something else.
    """
    if isinstance(request, (TensorInfo, DataType)):
        return request
    try:
        return DataType.of(request, f"the output of {with_article(spec.name)} layer")
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{error}; or a TensorInfo, or None") from None


def checked_member(layer: object, layers: Iterable[Layer], network: str) -> Layer:
    """Return a layer that must be one of a network.

    Raises:
        InvalidArgumentError: It is not a layer.
        GraphError: It is one of another network, or was removed.
    """
    if isinstance(layer, Layer) and layer in layers:
        return layer
    found = instance(layer, Layer, "the layer")
    raise GraphError(f"layer {found.name!r} is not one of the network {network!r}: find() gets one")


def checked_index(index: object, layer: Layer) -> int:
    """Return the position of an existing or possible input.

    Raises:
        InvalidArgumentError: It is not a position.
    """
    what = f"the position of an input of layer {layer.name!r} ({layer.type})"
    number = integer(index, what)
    last = len(layer.inputs) if layer.spec.is_variadic else len(layer.spec.inputs) - 1
    if not 0 <= number <= last:
        raise refused(what, index, f"one of 0 to {last}" if last >= 0 else "none: it has no inputs")
    return number


def spec_of(layer_type: object) -> LayerSpec:
    """Return a layer table row.

    It is named by the type, the type's name or its number.

    Raises:
        InvalidArgumentError: There is none.
    """
    if isinstance(layer_type, str):
        known = LAYERS.get(layer_type)
        if known is not None:
            return known
        close = closest(layer_type, LAYERS, 0.6)
        hint = f"did you mean {close!r}?" if close else "armnn.layers.LAYERS lists them all"
        raise InvalidArgumentError(f"there is no layer type {layer_type!r}: {hint}")
    expected = "a LayerType, its name or its number; armnn.layers.LAYERS lists them all"
    if isinstance(layer_type, LayerType):
        return LAYERS[layer_type.name]
    try:
        number = integer(layer_type, "the layer type")
        return next(spec for spec in LAYERS.values() if spec.number == number)
    except (InvalidArgumentError, StopIteration):
        raise refused("the layer type", layer_type, expected) from None


def replaced_inputs(layer: Layer, values: Mapping[Value, Value]) -> tuple[Value | None, ...]:
    """Return the values that the copy of a layer reads.

    Raises:
        GraphError: There is nothing for one of its inputs.
    """
    try:
        return tuple([None if value is None else values[value] for value in layer.inputs])
    except KeyError:
        raise GraphError(f"layer {layer.name!r} reads a value from outside") from None


def constant_array(data: ArrayLike, name: str | None) -> NDArray[Any]:
    """Return the data of a constant as an array.

    Raises:
        InvalidArgumentError: It makes none.
    """
    try:
        return np.asarray(data)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidArgumentError(
            f"the data of the constant {name or ''!r} cannot be converted to an array: {error}"
        ) from error


def without_trailing_none(values: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """Return operands without the absent ones at the end."""
    count = len(values)
    while count and values[count - 1] is None:
        count -= 1
    return tuple(values if count == len(values) else values[:count])


def namespace_of(spec: LayerSpec) -> str:
    """Return the namespace of a layer's name.

    Inputs and outputs of a network have names of their own, beside those of the layers.
    """
    return spec.name if spec.name in ("Input", "Output") else ""
