# SPDX-License-Identifier: MIT
"""The layers of a network for Arm NN's profile."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from armnn.tensor import format_shape
from armnn.types import ArmnnEnum

if TYPE_CHECKING:
    from armnn.graph import Layer, Network
    from armnn.tensor import TensorInfo

_NOT_DESCRIBED = ("Input", "Output", "Constant")


def layer_details(network: Network) -> list[dict[str, Any]]:
    """Return the layers of a network, in running order.

    Each has its name, type, GUID, tensors and parameters. Weights and bias have these names, the
    other inputs are numbered.
    """
    layers = (each for each in network.topological_order() if each.type not in _NOT_DESCRIBED)
    return [_details_of(layer) for layer in layers]


def _details_of(layer: Layer) -> dict[str, Any]:
    found: dict[str, Any] = {"Name": layer.name, "Type": layer.type, "GUID": str(layer.guid)}
    found |= dict(_inputs_of(layer))
    for number, value in enumerate(layer.outputs):
        found[f"Output {number}"] = _tensor(value.info)
    if dataclasses.is_dataclass(layer.descriptor):
        for each in dataclasses.fields(layer.descriptor):
            found[_camel(each.name)] = _text_of(getattr(layer.descriptor, each.name))
    return found


def _inputs_of(layer: Layer) -> Iterator[tuple[str, dict[str, str]]]:
    numbered = 0
    for index, value in enumerate(layer.inputs):
        name = layer.spec.input_slot(index).name
        if name not in ("weights", "bias"):
            title, numbered = f"Input {numbered}", numbered + 1
        else:
            title = f"{name.capitalize()} 0"
        if value is not None:
            yield title, _tensor(value.info)


def _tensor(info: TensorInfo) -> dict[str, str]:
    rank = "?" if info.shape is None else str(len(info.shape))
    return {
        "Shape": format_shape(info.shape),
        "DataType": info.data_type.arm_name,
        "Num Dims": rank,
    }


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _text_of(value: object) -> str:
    if isinstance(value, ArmnnEnum):
        return value.arm_name
    return str(value).lower() if isinstance(value, bool) else str(value)
