# SPDX-License-Identifier: MIT
"""Fusion: layers that one kernel computes, and the PreCompiled layer that replaces them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from armnn.backends import Substitution
from armnn.types import DataType, QuantizedArithmetic
from armnn_backend_cl.chains import FUNCTIONS, Chain, chain_of
from armnn_backend_cl.launches import Argument, In, Launch, Weights
from armnn_backend_cl.layers.blocks import mat_mul_n_bits
from armnn_backend_cl.layers.convolution import (
    convolution2d,
    depthwise_convolution2d,
    fully_connected,
    transpose_convolution2d,
)
from armnn_backend_cl.layers.elementwise import launch_of
from armnn_backend_cl.layers.matmul import batch_mat_mul
from armnn_backend_cl.layers.table import launches_of

if TYPE_CHECKING:
    from armnn.backends import SubgraphView
    from armnn.graph import Layer, Value

_HEADS: Final[dict[str, Callable[[Layer, Chain], Sequence[Launch]]]] = {
    "BatchMatMul": batch_mat_mul,
    "Convolution2d": convolution2d,
    "DepthwiseConvolution2d": depthwise_convolution2d,
    "FullyConnected": fully_connected,
    "MatMulNBits": mat_mul_n_bits,
    "TransposeConvolution2d": transpose_convolution2d,
}
"""The types of layers whose kernels can apply a chain of elementwise functions to their results."""

_MOST_LAYERS: Final = 16
"""The most layers of a part."""

_MOST_READ: Final = 6
"""The most tensors that a chain reads beside those of its head. OpenCL guarantees 1024 bytes of
kernel arguments, of which a matrix product takes up to 240, a tensor 96 and a layer 8."""


class Compiled:
    """The launches of a PreCompiled layer, and the type of its first layer."""

    def __init__(self, launches: Sequence[Launch], head: str) -> None:
        self.launches = launches
        self.head = head


def parts_of(view: SubgraphView) -> Iterator[SubgraphView]:
    """Yield the parts of a view that one kernel can compute; each layer is in exactly one part.

    The first layer of a part may be of any type. The others are elementwise functions of the
    outputs of layers before them in the part, and of other tensors.
    """
    left = {layer: place for place, layer in enumerate(view.layers)}
    for layer in view.layers:
        if layer in left:
            part = _grown(layer, left)
            for each in part:
                del left[each]
            yield view.part(*part)


def substituted(part: SubgraphView, arithmetic: QuantizedArithmetic) -> Substitution | None:
    """Return the substitution of a part by a PreCompiled layer, None if fusion gains nothing.

    Constants are not among the inputs of the PreCompiled layer: the device holds only packed ones.
    """
    head, *followers = part.layers
    is_head = head.type in _HEADS
    if not is_head and not followers:
        return None
    read = [value for value in part.inputs if value.constant is None]
    if not read:
        return None
    places: dict[Value, Argument] = {value: In(place) for place, value in enumerate(read)}
    for value in part.inputs:
        if value.constant is not None:
            places[value] = Weights(
                (value.constant,), "as they are", lambda array: array, value.info
            )
    if is_head:
        chain = chain_of(followers, places, head.output)
        alone = _HEADS[head.type](head, chain) if followers else launches_of(head, arithmetic)
        given = [None if value is None else places.get(value) for value in head.inputs]
        launches = [_placed(each, chain, given) for each in alone]
    else:
        launches = [launch_of(chain_of(part.layers, places), part.outputs[0].info)]
    replacement = part.replacement()
    inside = {
        value: each.output for each, value in zip(replacement.inputs, part.inputs, strict=True)
    }
    (output,) = part.outputs
    made = replacement.add_pre_compiled(
        [inside[value] for value in read],
        num_output_slots=1,
        outputs=[output.info],
        name=head.name,
    )
    (value,) = made if isinstance(made, Sequence) else (made,)
    value.producer.compiled = Compiled(launches, str(head.type))
    replacement.add_output("output", value)
    return Substitution(part, replacement)


def _placed(launch: Launch, chain: Chain, given: Sequence[Argument | None]) -> Launch:
    """Return a launch whose inputs are those of the PreCompiled layer instead of the head's.

    Args:
        launch: The launch of the head, whose arguments begin with those of the chain.
        chain: The chain.
        given: The argument in the PreCompiled layer for each input of the head.
    """
    own: list[Argument] = []
    for argument in launch.arguments[len(chain.arguments) :]:
        placed = given[argument.place] if isinstance(argument, In) else argument
        assert placed is not None
        own.append(placed)
    tiling = launch.tiling
    if tiling is not None:
        make = tiling.retiled
        tiling = replace(tiling, retiled=lambda tile: _placed(make(tile), chain, given))
    return replace(launch, arguments=(*chain.arguments, *own), tiling=tiling)


def _grown(head: Layer, order: Mapping[Layer, int]) -> list[Layer]:
    """Return the part that begins with a layer: the layers that its kernel can compute.

    Readers are added in the order of the network. The part is then cut after the last layer at
    which only the output of this layer is read outside of the part, as a kernel has one output.
    """
    if not (head.type in FUNCTIONS and _is_float(head)) and not _is_float_product(head):
        return [head]
    part, end = [head], 1
    shape = head.output.info.static_shape
    while len(part) < _MOST_LAYERS:
        readers = [
            reader
            for layer in part
            for reader in layer.output.consumers
            if reader in order and reader not in part
        ]
        fitting = [
            reader
            for reader in readers
            if reader.type in FUNCTIONS
            and _is_float(reader)
            and reader.output.info.static_shape == shape
        ]
        if not fitting:
            break
        part.append(min(fitting, key=order.__getitem__))
        read = {value for layer in part[1:] for value in layer.inputs}
        if len(read.difference(layer.output for layer in part)) > _MOST_READ:
            break
        is_open = [any(each not in part for each in layer.output.consumers) for layer in part]
        if is_open[-1] and sum(is_open) == 1:
            end = len(part)
    return part[:end]


def _is_float(layer: Layer) -> bool:
    return all(
        info is None or info.data_type is DataType.FLOAT32
        for info in (*layer.input_infos, *layer.output_infos)
    )


def _is_float_product(layer: Layer) -> bool:
    """Return whether a layer of :data:`_HEADS` has computed inputs and outputs in Float32.

    Its weights may have any type.
    """
    read = [value.info for value in layer.inputs if value is not None and value.constant is None]
    return layer.type in _HEADS and all(
        info.data_type is DataType.FLOAT32 for info in (*read, *layer.output_infos)
    )
