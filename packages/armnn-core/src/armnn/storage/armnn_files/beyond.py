# SPDX-License-Identifier: MIT
"""Layers that Arm NN lacks, as JSON in StandIn layers."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, NamedTuple

from armnn.graph import Layer
from armnn.layers import LAYERS, Descriptor, LayerSpec
from armnn.layers._descriptor import enumeration_of
from armnn.parsing.conversion import RefusedError
from armnn.types import ArmnnEnum


class BeyondLayer(NamedTuple):
    """A layer of the extension.

    Attributes:
        spec: Its row of the layer table.
        descriptor: Its parameters.
        slots: The slot in which each of its stored inputs stands.
    """

    spec: LayerSpec
    descriptor: Descriptor
    slots: tuple[int, ...]


def encoded(layer: Layer) -> str:
    """Return a layer's type, parameters and slots as JSON."""
    descriptor = layer.descriptor
    parameters = {
        field.name: _plain(getattr(descriptor, field.name))
        for field in dataclasses.fields(descriptor)
        if getattr(descriptor, field.name) != field.default
    }
    slots = [slot for slot, value in enumerate(layer.inputs) if value is not None]
    return json.dumps({"type": layer.type, "parameters": parameters, "inputs": slots})


def decoded(text: str, inputs: int) -> BeyondLayer:
    """Return the layer of :func:`encoded`.

    Args:
        text: The JSON.
        inputs: How many inputs the layer has in the file.

    Raises:
        RefusedError: It is something else, or names what is not known here.
    """
    try:
        stored = json.loads(text)
        spec = LAYERS[stored["type"]]
        slots = tuple(stored["inputs"])
        parameters = _parameters(spec.descriptor, stored["parameters"])
        descriptor = spec.descriptor(**parameters)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RefusedError(f"its extension cannot be read: {error!r}") from error
    expected = len(spec.inputs) if not spec.is_variadic else max(len(spec.inputs), inputs)
    if (
        len(slots) != inputs
        or sorted(set(slots)) != list(slots)
        or not all(type(slot) is int and 0 <= slot < expected for slot in slots)
    ):
        raise RefusedError(f"its extension names the inputs {list(slots)[:8]} for {inputs}")
    return BeyondLayer(spec, descriptor, slots)


def _parameters(kind: type[Descriptor], stored: dict[str, Any]) -> dict[str, Any]:
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    return {name: _typed(enumeration_of(defaults[name]), value) for name, value in stored.items()}


def _typed(enumeration: type[ArmnnEnum] | None, value: Any) -> Any:
    """Return a JSON value as a descriptor's field holds it."""
    if isinstance(value, list):
        return tuple(_typed(enumeration, item) for item in value)
    return value if enumeration is None else enumeration.of(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, ArmnnEnum) else value
