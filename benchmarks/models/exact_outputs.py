# SPDX-License-Identifier: MIT
"""A model's outputs when every real number is a float64.

They are the truth from which the speed session measures the errors of runtimes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import armnn
from armnn import DataType, Network, TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Value


def exact_outputs(path: Path, feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]] | None:
    """Return what CpuRef computes in Float64.

    It is None of models that compute in steps, and of those whose layers data decides about.

    Args:
        path: The model.
        feed: Its inputs.

    Raises:
        ArmnnError: The model cannot be read, or a layer of it is not computed in Float64.
    """
    network = armnn.parse(path)
    if any(layer.type == "StandIn" for layer in network.layers):
        return None
    infos = [value.info for layer in network.layers for value in layer.outputs]
    if any(info.is_quantized or _counts_steps(info) for info in infos):
        return None
    wide = {
        name: array.astype(np.float64) if array.dtype.kind == "f" else array
        for name, array in feed.items()
    }
    with armnn.Runtime() as runtime:
        model = runtime.load_model(in_float64(network), backends=["CpuRef"])
        return list(model.run(wide).values())


def in_float64(network: Network) -> Network:
    """Return a copy whose floats have 64 bits."""
    copy = Network(network.name, network.metadata)
    copies: dict[Value, Value] = {}
    for layer in network.topological_order():
        for value in layer.inputs:
            if value is not None and value.constant is not None and value not in copies:
                copies[value] = _constant(copy, value)
        if layer.type == "Input":
            copies[layer.output] = copy.add_input(layer.name, _widened(layer.output.info))
        elif layer.type == "Output":
            (value,) = layer.inputs
            assert value is not None
            copy.add_output(layer.name, copies[value])
        elif layer.type != "Constant":
            copies.update(zip(layer.outputs, _added(copy, layer, copies).outputs, strict=True))
    return copy


def _added(copy: Network, layer: Layer, copies: Mapping[Value, Value]) -> Layer:
    operands = [None if value is None else copies[value] for value in layer.inputs]
    infos = [_widened(info) for info in layer.output_infos]
    return copy.add(layer.type, operands, layer.descriptor, name=layer.name, outputs=infos)


def _constant(copy: Network, value: Value) -> Value:
    array = np.asarray(value.constant)
    return copy.add_constant(array.astype(np.float64) if value.info.data_type.is_float else array)


def _widened(info: TensorInfo) -> TensorInfo:
    return TensorInfo(info.shape, DataType.FLOAT64) if info.data_type.is_float else info


def _counts_steps(info: TensorInfo) -> bool:
    """Return whether a tensor may hold computed steps."""
    return info.data_type in (DataType.SIGNED8, DataType.UNSIGNED8)
