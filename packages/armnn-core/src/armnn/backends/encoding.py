# SPDX-License-Identifier: MIT
"""Layers and tensor infos as JSON and arrays, for stored entries and messages to workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.backends.cache import StaleEntryError
from armnn.tensor import TensorInfo
from armnn.types import ArmnnEnum, DataType

if TYPE_CHECKING:
    from armnn.graph import Layer, Network, Value
    from armnn.layers import Descriptor

_E = TypeVar("_E", bound=ArmnnEnum)


def member_of(kind: type[_E], number: int) -> _E:
    """Return the member of an enumeration that has a number.

    Raises:
        StaleEntryError: None has.
    """
    for member in kind:
        if member == number:
            return member
    raise StaleEntryError(f"{kind.__name__} has no {number!r}")


def encoded_info(info: TensorInfo) -> list[Any]:
    """Return a tensor info as JSON."""
    return [info.shape, int(info.data_type), info.scales, info.zero_points, info.axis]


def decoded_info(stored: list[Any]) -> TensorInfo:
    """Return the tensor info of :func:`encoded_info`."""
    shape, data_type, scales, zero_points, axis = stored
    return TensorInfo(shape, member_of(DataType, data_type), scales, zero_points, axis)


class UnstorableError(Exception):
    """A network cannot be stored; the text says why."""


def encoded_layer(
    layer: Layer, numbers: Mapping[Value, list[int]], arrays: list[NDArray[Any]]
) -> dict[str, Any]:
    """Return a layer as JSON.

    Args:
        layer: What it was compiled to is not encoded.
        numbers: The position of each value's producer, and which of its outputs the value is.
        arrays: Gets the data of a Constant layer.

    Raises:
        UnstorableError: A parameter is none that JSON can hold.
    """
    stored: dict[str, Any] = {
        "type": layer.type,
        "name": layer.name,
        "backend": layer.backend,
        "inputs": [None if value is None else numbers[value] for value in layer.inputs],
        "outputs": [encoded_info(value.info) for value in layer.outputs],
        "parameters": _encoded_parameters(layer.descriptor),
    }
    if layer.data is not None:
        stored["data"] = len(arrays)
        arrays.append(layer.data)
    return stored


def decoded_layer(
    row: Mapping[str, Any],
    network: Network,
    layers: Sequence[Layer],
    blocks: Sequence[memoryview],
) -> Layer:
    """Add the layer of :func:`encoded_layer` to a network.

    Args:
        row: The layer.
        network: The network.
        layers: The layers before it.
        blocks: The data of constants, which share the bytes.

    Raises:
        StaleEntryError: The layer has other outputs now.
        Exception: It is something else: a LookupError, TypeError, ValueError or AttributeError.
    """
    from armnn.layers import LAYERS  # late: a prepared load does without

    infos = [decoded_info(each) for each in row["outputs"]]
    if "data" in row:
        (info,) = infos
        data = np.frombuffer(blocks[row["data"]], info.data_type.numpy_dtype)
        data = data.reshape(info.static_shape)
        return network.add_constant(data, info, name=row["name"]).producer
    inputs = [None if at is None else layers[at[0]].outputs[at[1]] for at in row["inputs"]]
    kind = LAYERS[row["type"]].descriptor
    descriptor = _decoded_descriptor(kind, row["parameters"])
    layer = network.add(row["type"], inputs, descriptor, name=row["name"], outputs=infos)
    if list(layer.output_infos) != infos:
        raise StaleEntryError(f"the layer {layer.name!r} has other outputs than it had")
    layer.backend = row["backend"]
    return layer


def _encoded_parameters(descriptor: Descriptor) -> dict[str, Any]:
    """Return the parameters that have other values than their defaults."""
    values = {field: getattr(descriptor, field.name) for field in fields(descriptor)}
    return {field.name: _plain(value) for field, value in values.items() if value != field.default}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, ArmnnEnum):
        return int(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise UnstorableError(f"a parameter is {value!r}")


def _decoded_descriptor(kind: type[Descriptor], parameters: dict[str, Any]) -> Descriptor:
    from armnn.layers._descriptor import enumeration_of  # late: a prepared load does without

    defaults = {field.name: field.default for field in fields(kind)}
    values = {
        name: _typed(enumeration_of(defaults[name]), value) for name, value in parameters.items()
    }
    return kind(**values)


def _typed(enumeration: type[ArmnnEnum] | None, value: Any) -> Any:
    """Return a JSON value as a descriptor's field holds it."""
    if isinstance(value, list):
        return tuple(_typed(enumeration, item) for item in value)
    return value if enumeration is None else member_of(enumeration, value)
