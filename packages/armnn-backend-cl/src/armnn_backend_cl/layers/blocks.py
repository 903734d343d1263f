# SPDX-License-Identifier: MIT
"""Integers of few bits in blocks with a scale each: products with such weights, their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from armnn.layers.matmul import MatMulNBitsDescriptor
from armnn.layers.quantizing import DequantizeBlocksDescriptor
from armnn.types import DataType
from armnn_backend_cl.chains import NO_CHAIN, Chain
from armnn_backend_cl.device import GROUP
from armnn_backend_cl.elements import REALS, Elements, accessors, elements_of
from armnn_backend_cl.launches import Argument, In, Launch, Out, Refused, Weights
from armnn_backend_cl.layers.convolution import biases
from armnn_backend_cl.layers.table import constant, lowers, program, require, shape_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer

_ROWS: Final = 4
"""The most rows of a product that a group of work items makes."""

_COLUMNS: Final = GROUP // 2
"""Columns that it makes: an eighth of its items has four each."""


@lowers("MatMulNBits")
def mat_mul_n_bits(layer: Layer, chain: Chain = NO_CHAIN) -> Sequence[Launch]:
    """Multiply by the transpose of the weights; a group makes a few columns of a few rows."""
    d = cast("MatMulNBitsDescriptor", layer.descriptor)
    require(layer, *REALS, but=["weights", "scales", "zero_points", "bias"])
    if d.block_size * d.bits % 32:
        raise Refused(
            f"a block has {d.block_size} numbers of {d.bits} bits, expected words of 32 bits"
        )
    (columns, _), depth = shape_of(layer.input_infos[1]), shape_of(layer.input_infos[0])[-1]
    rows = math.prod(shape_of(layer.output_infos[0])[:-1])
    blocks = -(-depth // d.block_size)
    stored = {name: constant(layer, name) for name in ("weights", "scales", "zero_points")}
    weights, scales, zeros = stored.values()
    assert weights is not None
    assert scales is not None
    at_once = min(rows, _ROWS) or 1
    macros = {"BITS": d.bits, "BLOCK": d.block_size, "ROWS": at_once, "GROUP": GROUP}
    macros["ZERO" if zeros is None else "GIVEN"] = 1 << (d.bits - 1)
    packed_scales = Weights((scales,), "columns last", _columns_last)
    arguments: tuple[Argument, ...] = (
        *chain.arguments,
        In(0),
        Weights((weights,), ("words", d.bits, depth), lambda array: _words(array, depth * d.bits)),
        packed_scales,
        packed_scales if zeros is None else _packed_zeros(zeros, d.bits, blocks),
        biases(layer, "weights", columns)("in fours", _in_fours),
        Out(0),
        rows,
        columns,
        depth,
        blocks,
    )
    text = accessors(x=elements_of(layer.input_infos[0]), out=elements_of(layer.output_infos[0]))
    source = program(text, chain.text, "blocks.cl", **macros)
    groups = -(-columns // _COLUMNS) * -(-rows // at_once)
    return [Launch(source, "matmul_blocks", arguments, groups, groups=True)]


@lowers("DequantizeBlocks")
def dequantize_blocks(layer: Layer) -> Sequence[Launch]:
    """Return the real numbers."""
    d = cast("DequantizeBlocksDescriptor", layer.descriptor)
    x, scales, zeros, *_ = (*layer.input_infos, None)
    require(layer, DataType.UNSIGNED8, but=["scales", "zero_points", "output"])
    require(layer, *REALS, but=["input", "zero_points"])
    require(layer, *REALS, DataType.UNSIGNED8)
    y = layer.output_infos[0]
    is_packed = zeros is not None and zeros.data_type is DataType.UNSIGNED8
    macros: dict[str, object] = {"BITS": d.bits, "BLOCK": d.block_size}
    macros |= {"PACKED": 1} if is_packed else {}
    macros["ZERO" if zeros is None else "GIVEN"] = 1 << (d.bits - 1)
    bytes_ = Elements("uchar", "uchar")
    given = bytes_ if zeros is None or is_packed else elements_of(zeros)
    text = accessors(x=bytes_, scales=elements_of(scales), zeros=given, y=elements_of(y))
    arguments: tuple[Argument, ...] = (
        In(0),
        In(1),
        In(0 if zeros is None else 2),
        Out(0),
        y.num_elements,
        d.size,
        shape_of(scales)[-1],
        shape_of(x)[-1],
        0 if zeros is None else shape_of(zeros)[-1],
    )
    source = program(text, "blocks.cl", **macros)
    return [Launch(source, "dequantize_blocks", arguments, y.num_elements)]


def _in_fours(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with zeros behind its last axis, a multiple of four."""
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, -array.shape[-1] % 4)])


def _columns_last(array: NDArray[Any]) -> NDArray[Any]:
    return _in_fours(array.T.astype(np.float32))


def _words(array: NDArray[Any], bits: int) -> NDArray[Any]:
    """Return the first bits of rows of bytes as words of 32 bits, those of a row in a column."""
    count = -(-bits // 32)
    padded = np.zeros((len(array), count * 4), np.uint8)
    kept = array[:, : count * 4]
    padded[:, : kept.shape[1]] = kept
    return _in_fours(padded.view("<u4").T)


def _packed_zeros(zeros: NDArray[Any], bits: int, blocks: int) -> Weights:
    """Return zero points as real numbers, those of a row in a column."""

    def unpacked(array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype == np.uint8:
            shifts = np.arange(0, 8, bits, dtype=np.uint8)
            numbers = array[..., np.newaxis] >> shifts & np.uint8((1 << bits) - 1)
            array = numbers.reshape(len(array), -1)[:, :blocks]
        return _columns_last(array)

    return Weights((zeros,), ("zero points", bits, blocks), unpacked)
