# SPDX-License-Identifier: MIT
"""Asks a backend which layers it takes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from armnn.backends.native.codes import call
from armnn.backends.support import SUPPORTED, Support
from armnn.errors import BackendError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, text_of

if TYPE_CHECKING:
    from armnn.backends.native.devices import NativeDevice
    from armnn.backends.native.graph import NativeGraph
    from armnn.backends.native.lifetimes import NativeObject
    from armnn.graph import Layer

_LEVELS: Final = (abi.NOT_SUPPORTED, abi.SUPPORTED, abi.PREFERRED)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a backend says of one node, copied before the next query overwrites it."""

    node_id: int
    level: int
    input: int
    reason: str


def query(
    backend: NativeObject, device: NativeDevice | None, graph: NativeGraph
) -> tuple[Support, ...]:
    """Return one answer per layer of a graph.

    Raises:
        BackendError: An answer makes no sense.
        ArmnnError: The backend failed to answer.
    """
    arena = Arena()
    rows = arena.structs(abi.Support, len(graph.layers))
    for number, row in enumerate(rows):
        row.node_id = number
    library = backend.library
    call(
        library,
        "query",
        "say which layers it takes",
        backend.pointer,
        device_pointer(device),
        graph.struct,
        rows,
        ctypes.sizeof(abi.Support),
        names=graph.names,
    )
    answers = [_Answer(row.node_id, row.level, row.input, text_of(row.reason)) for row in rows]
    for number, (answer, layer) in enumerate(zip(answers, graph.layers, strict=True)):
        if answer.level not in _LEVELS or answer.node_id != number:
            raise BackendError(
                f"backend {library.id!r} ({library.path}) answered about layer {layer.name!r} with "
                f"level {answer.level} for node {answer.node_id}: expected one of the levels "
                f"{_LEVELS} for node {number}"
            )
    return tuple(
        _support_of(answer, layer) for answer, layer in zip(answers, graph.layers, strict=True)
    )


def device_pointer(device: NativeDevice | None) -> ctypes._Pointer[abi.Device] | None:
    """Return what names a device to the backend; None for its first one."""
    if device is None:
        return None
    return ctypes.cast(device.address, ctypes.POINTER(abi.Device))


def _support_of(answer: _Answer, layer: Layer) -> Support:
    if answer.level != abi.NOT_SUPPORTED:
        return SUPPORTED
    reason = answer.reason or "gave no reason"
    number = answer.input - 1
    value = layer.inputs[number] if 0 <= number < len(layer.inputs) else None
    if value is None:
        return Support.no(reason)
    slot = layer.spec.input_slot(number).name
    return Support.no(f"{reason} (input {number}, {slot!r}: {value.info})")
