# SPDX-License-Identifier: MIT
"""Conformance cases of data movement, index by index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.layers import Descriptor
from armnn.layers.reshaping import (
    BatchToSpaceNdDescriptor,
    BroadcastToDescriptor,
    ChannelShuffleDescriptor,
    DepthToSpaceDescriptor,
    PadDescriptor,
    PermuteDescriptor,
    ReshapeDescriptor,
    ReverseV2Descriptor,
    SpaceToBatchNdDescriptor,
    SpaceToDepthDescriptor,
    TileDescriptor,
    TransposeDescriptor,
)
from armnn.types import DataLayout, DataType, PaddingMode
from armnn_conformance.cases import LayerCase, case, cases
from armnn_conformance.operands import ANY, QUANTIZED, CaseTensor, tensor, values

NHWC, NCHW = DataLayout.NHWC, DataLayout.NCHW
Source = Callable[..., tuple[int, ...]]
"""From the index of an output element to that of the input element it comes from."""


def _moved(x: NDArray[Any], shape: Sequence[int], source: Source) -> NDArray[Any]:
    y = np.empty(shape, x.dtype)
    for place in np.ndindex(*shape):
        y[place] = x[source(*place)]
    return y


def _picture(data_type: DataType, shape: Sequence[int]) -> CaseTensor:
    return values(data_type, shape, 0, 9, seed=1)


@cases(ReshapeDescriptor, types=ANY)
def reshape(data_type: DataType) -> Iterator[LayerCase]:
    """Cover another rank, an inferred size, a scalar, no elements."""
    for name, shape, target, real in (
        ("flattened", (2, 1, 3, 2, 2), (24,), (24,)),
        ("with -1", (2, 3, 4), (2, 1, -1, 1, 4), (2, 1, 3, 1, 4)),
        ("a scalar", (1, 1), (), ()),
        ("empty", (0, 3), (3, 0), (3, 0)),
    ):
        x = _picture(data_type, shape)
        expected = np.array(x.real.reshape(-1).tolist(), x.real.dtype).reshape(real)
        d = ReshapeDescriptor(target_shape=target)
        yield case(data_type, name, d, [x], expected, like=x, edge=shape != (2, 3, 4))
    x = _picture(data_type, (2, 3, 4))
    expected = np.array(x.real.reshape(-1).tolist(), x.real.dtype).reshape(2, 3, 2, 2)
    d = ReshapeDescriptor(target_shape=(0, 0, 2, -1), zero_copies=True)
    yield case(data_type, "with zeros", d, [x], expected, like=x)


@cases(PermuteDescriptor, TransposeDescriptor, types=ANY)
def transpose(data_type: DataType) -> Iterator[LayerCase]:
    """Cover cycles, one axis, and size one.

    Cycles tell the two mappings from their inverses.
    """
    for shape, mapping in (
        ((2, 3, 4), (1, 2, 0)),
        ((2, 3, 4, 5), (0, 3, 1, 2)),
        ((2, 1, 3, 1, 4), (4, 0, 2, 1, 3)),
        ((5,), (0,)),
    ):
        x = _picture(data_type, shape)
        turned = [shape[axis] for axis in mapping]

        def taken(*place: int, mapping: tuple[int, ...] = mapping) -> tuple[int, ...]:
            return tuple(place[mapping.index(axis)] for axis in range(len(mapping)))

        name, edge = str(mapping), len(shape) != 4
        d: Descriptor = TransposeDescriptor(dim_mappings=mapping)
        yield case(data_type, name, d, [x], _moved(x.real, turned, taken), like=x, edge=edge)
        sent = [0] * len(shape)
        for axis, target in enumerate(mapping):
            sent[target] = shape[axis]

        def sender(*place: int, mapping: tuple[int, ...] = mapping) -> tuple[int, ...]:
            return tuple(place[target] for target in mapping)

        d = PermuteDescriptor(dim_mappings=mapping)
        yield case(data_type, name, d, [x], _moved(x.real, sent, sender), like=x, edge=edge)


@cases(TransposeDescriptor, types=QUANTIZED)
def transpose_with_scales_per_axis(data_type: DataType) -> Iterator[LayerCase]:
    """Cover per-axis scales that become one, or change places."""
    if data_type not in (DataType.QSYMM_S8, DataType.QSYMM_S16):
        return
    x = tensor(data_type, [[1.0, -2.0], [0.25, 0.5], [8.0, 4.0]], axis=0)
    d = TransposeDescriptor(dim_mappings=(1, 0))
    expected = np.array([[x.real[j, i] for j in range(3)] for i in range(2)])
    yield case(data_type, "scales per axis", d, [x], expected, edge=True)
    x = tensor(data_type, [[1.0, -0.5], [0.25, 2.0]], axis=0)
    expected = np.array([[x.real[j, i] for j in range(2)] for i in range(2)])
    name = "scales that stay where they are"
    yield case(data_type, name, d, [x], expected, outputs=[x.info], edge=True)


def _blocks(layout: DataLayout, source: Source) -> Source:
    """Convert a source of (n, h, w, c) between layouts."""
    if layout is NHWC:
        return source

    def of_nchw(n: int, c: int, h: int, w: int) -> tuple[int, ...]:
        image, row, column, channel = source(n, h, w, c)
        return image, channel, row, column

    return of_nchw


def _shape(layout: DataLayout, n: int, h: int, w: int, c: int) -> tuple[int, ...]:
    return (n, h, w, c) if layout is NHWC else (n, c, h, w)


@cases(SpaceToDepthDescriptor, DepthToSpaceDescriptor, types=ANY)
def space_and_depth(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both layouts, two block sizes, several channels and images."""
    for layout in (NHWC, NCHW):
        for size in (2, 3):
            h, w, c = 2, 3, 2
            large = _shape(layout, 2, h * size, w * size, c)
            small = _shape(layout, 2, h, w, c * size * size)

            def from_large(n: int, i: int, j: int, k: int, size: int = size) -> tuple[int, ...]:
                block, channel = divmod(k, 2)
                return n, i * size + block // size, j * size + block % size, channel

            def from_small(n: int, i: int, j: int, k: int, size: int = size) -> tuple[int, ...]:
                block = i % size * size + j % size
                return n, i // size, j // size, block * 2 + k

            def from_columns(n: int, i: int, j: int, k: int, size: int = size) -> tuple[int, ...]:
                block = i % size * size + j % size
                return n, i // size, j // size, k * size * size + block

            name, edge = f"{size} {layout.arm_name}", size == 3
            x = _picture(data_type, large)
            d: Descriptor = SpaceToDepthDescriptor(block_size=size, data_layout=layout)
            expected = _moved(x.real, small, _blocks(layout, from_large))
            yield case(data_type, name, d, [x], expected, like=x, edge=edge)
            x = _picture(data_type, small)
            d = DepthToSpaceDescriptor(block_size=size, data_layout=layout)
            expected = _moved(x.real, large, _blocks(layout, from_small))
            yield case(data_type, name, d, [x], expected, like=x, edge=edge)
            d = DepthToSpaceDescriptor(block_size=size, data_layout=layout, column_row_depth=True)
            expected = _moved(x.real, large, _blocks(layout, from_columns))
            yield case(data_type, f"{name}, columns first", d, [x], expected, like=x, edge=edge)


_BLOCK, _PADS, _CROPS = (2, 3), ((1, 0), (2, 1)), ((0, 1), (2, 1))


@cases(SpaceToBatchNdDescriptor, types=ANY)
def space_to_batch(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both layouts, different padding, and a block of one."""
    for layout in (NHWC, NCHW):
        x = _picture(data_type, _shape(layout, 2, 3, 3, 2))
        for name, block, pads in (
            ("uneven", _BLOCK, _PADS),
            ("a block of one", (1, 1), ((1, 2), (0, 1))),
        ):
            pictures = x.real if layout is NHWC else x.real.transpose(0, 2, 3, 1)
            padded = np.zeros((2, 3 + sum(pads[0]), 3 + sum(pads[1]), 2), x.real.dtype)
            padded[:, pads[0][0] : pads[0][0] + 3, pads[1][0] : pads[1][0] + 3] = pictures
            tall, wide = block
            out = (2 * tall * wide, padded.shape[1] // tall, padded.shape[2] // wide, 2)

            def source(
                n: int, i: int, j: int, k: int, tall: int = tall, wide: int = wide
            ) -> tuple[int, ...]:
                place, image = divmod(n, 2)
                return image, i * tall + place // wide, j * wide + place % wide, k

            y = _moved(padded, out, source)
            expected = y if layout is NHWC else y.transpose(0, 3, 1, 2)
            d = SpaceToBatchNdDescriptor(block_shape=block, pad_list=pads, data_layout=layout)
            yield case(data_type, f"{name} {layout.arm_name}", d, [x], expected, like=x, edge=True)


@cases(BatchToSpaceNdDescriptor, types=ANY)
def batch_to_space(data_type: DataType) -> Iterator[LayerCase]:
    """Cover both layouts, different crops, and a block of one."""
    for layout in (NHWC, NCHW):
        for name, block, crops in (
            ("uneven", _BLOCK, _CROPS),
            ("uncropped", (2, 2), ((0, 0), (0, 0))),
        ):
            tall, wide = block
            x = _picture(data_type, _shape(layout, 2 * tall * wide, 2, 3, 2))
            height = 2 * tall - sum(crops[0])
            width = 3 * wide - sum(crops[1])

            def source(
                n: int, i: int, j: int, k: int, block: Any = block, crops: Any = crops
            ) -> tuple[int, ...]:
                row, column = i + crops[0][0], j + crops[1][0]
                place = row % block[0] * block[1] + column % block[1]
                return place * 2 + n, row // block[0], column // block[1], k

            expected = _moved(x.real, _shape(layout, 2, height, width, 2), _blocks(layout, source))
            d = BatchToSpaceNdDescriptor(block_shape=block, crops=crops, data_layout=layout)
            yield case(data_type, f"{name} {layout.arm_name}", d, [x], expected, like=x, edge=True)


@cases(ChannelShuffleDescriptor, types=ANY)
def channel_shuffle(data_type: DataType) -> Iterator[LayerCase]:
    """Cover groups along each axis, a group for each channel."""
    for axis, groups, shape in (
        (1, 2, (2, 6, 6)),
        (-1, 3, (2, 1, 2, 1, 6)),
        (1, 6, (2, 6, 6)),
        (0, 1, (2, 6, 6)),
    ):
        x = _picture(data_type, shape)
        size = x.real.shape[axis]
        members = size // groups
        order = [group * members + member for member in range(members) for group in range(groups)]
        elements = np.moveaxis(x.real, axis, 0)
        expected = np.moveaxis(np.array([elements[place] for place in order]), 0, axis)
        d = ChannelShuffleDescriptor(num_groups=groups, axis=axis)
        name = f"{groups} groups along {axis}"
        yield case(data_type, name, d, [x], expected, like=x, edge=axis < 1)


@cases(BroadcastToDescriptor, types=ANY)
def broadcast_to(data_type: DataType) -> Iterator[LayerCase]:
    """Cover repeated axes, axes put in front, a scalar."""
    for name, shape, target in (
        ("rows", (1, 3), (2, 3)),
        ("columns in front", (2, 1), (3, 2, 4)),
        ("a scalar", (), (2, 2)),
        ("rank 5", (1, 3, 1, 2), (2, 2, 3, 2, 2)),
    ):
        x = _picture(data_type, shape)
        skipped = len(target) - len(shape)

        def source(
            *place: int, shape: tuple[int, ...] = shape, skipped: int = skipped
        ) -> tuple[int, ...]:
            return tuple(0 if n == 1 else p for n, p in zip(shape, place[skipped:], strict=True))

        d = BroadcastToDescriptor(broadcast_to_shape=target)
        yield case(
            data_type, name, d, [x], _moved(x.real, target, source), like=x, edge=skipped > 0
        )


@cases(TileDescriptor, types=ANY)
def tile(data_type: DataType) -> Iterator[LayerCase]:
    """Cover copies along several axes, none at all, one axis."""
    for multiples, shape in (
        ((2, 1, 3, 1, 2), (2, 2, 1, 3, 1)),
        ((1, 1), (2, 3)),
        ((3,), (2,)),
        ((0, 2), (2, 1)),
    ):
        x = _picture(data_type, shape)
        target = [n * size for n, size in zip(multiples, shape, strict=True)]

        def source(*place: int, shape: tuple[int, ...] = shape) -> tuple[int, ...]:
            return tuple(p % size for p, size in zip(place, shape, strict=True))

        d = TileDescriptor(multiples=multiples)
        expected = _moved(x.real, target, source)
        yield case(data_type, str(multiples), d, [x], expected, like=x, edge=len(shape) < 3)


def _mirror(place: int, size: int, *, repeats: bool) -> int:
    if place < 0:
        place = -place - 1 if repeats else -place
    if place >= size:
        place = 2 * size - 1 - place if repeats else 2 * size - 2 - place
    return place


@cases(PadDescriptor, types=ANY)
def pad(data_type: DataType) -> Iterator[LayerCase]:
    """Cover different sides, a value, and both mirror modes."""
    x = _picture(data_type, (3, 4))
    pads = ((1, 2), (2, 0))
    shape = (6, 6)
    for number in (0.0, 1.0):
        expected = np.full(shape, number).astype(x.real.dtype)
        expected[1:4, 2:6] = x.real
        d = PadDescriptor(pad_list=pads, pad_value=number)
        if data_type in QUANTIZED:
            yield case(data_type, f"value {number}", d, [x], expected, outputs=[x.info], edge=True)
        else:
            yield case(data_type, f"value {number}", d, [x], expected, like=x, edge=True)
    for mode, repeats in ((PaddingMode.REFLECT, False), (PaddingMode.SYMMETRIC, True)):

        def source(i: int, j: int, repeats: bool = repeats) -> tuple[int, ...]:
            return _mirror(i - 1, 3, repeats=repeats), _mirror(j - 2, 4, repeats=repeats)

        d = PadDescriptor(pad_list=pads, padding_mode=mode)
        yield case(data_type, mode.arm_name, d, [x], _moved(x.real, shape, source), like=x)
    deep = _picture(data_type, (1, 2, 1, 2, 3))
    expected = np.zeros((2, 3, 1, 5, 5), x.real.dtype)
    expected[:1, 1:, :, 2:4, 1:4] = deep.real
    d = PadDescriptor(pad_list=((0, 1), (1, 0), (0, 0), (2, 1), (1, 1)))
    outputs = [deep.info]
    yield case(data_type, "rank 5", d, [deep], expected, outputs=outputs, edge=True)
    d = PadDescriptor(pad_list=((0, 0), (0, 0)))
    yield case(data_type, "nothing", d, [x], x.real, like=x, edge=True)


@cases(ReverseV2Descriptor, types=ANY)
def reverse(data_type: DataType) -> Iterator[LayerCase]:
    """Cover one axis, several, negative ones, and none."""
    for axes, shape in (
        ((0,), (2, 3, 4)),
        ((-1, 0), (2, 1, 3, 2, 2)),
        ((1,), (2, 3, 4)),
        ((), (2, 3, 4)),
    ):
        x = _picture(data_type, shape)
        named = tensor(DataType.SIGNED32, np.array(axes, np.int32), constant=True)
        turned = [axis % len(shape) for axis in axes]

        def source(
            *place: int, turned: list[int] = turned, shape: tuple[int, ...] = shape
        ) -> tuple[int, ...]:
            return tuple(
                size - 1 - p if axis in turned else p
                for axis, (p, size) in enumerate(zip(place, shape, strict=True))
            )

        expected = _moved(x.real, shape, source)
        yield case(
            data_type,
            f"axes {axes}",
            ReverseV2Descriptor(),
            [x, named],
            expected,
            like=x,
            edge=len(axes) != 1,
        )
