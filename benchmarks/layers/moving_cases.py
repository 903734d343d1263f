# SPDX-License-Identifier: MIT
"""Layers that move elements: reshaped, in blocks, joined, picked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from armnn import DataLayout
from armnn import types as t
from benchmarks.layers.case import Array, Case


def moving_cases(x: Array, y: Array, indices: Array) -> Iterator[Case]:
    """Yield the cases of two images and of indices."""
    yield from _shapes(x)
    yield from _blocks(x)
    yield from _joined(x, y)
    yield from _picked(x, indices)


def _shapes(x: Array) -> Iterator[Case]:
    yield Case("Reshape", "", (x,), lambda x: x.reshape(32, -1), {"target_shape": (32, 128 * 128)})
    for axes in ((0, 2, 3, 1), (0, 1, 3, 2), (3, 2, 1, 0)):
        yield Case(
            "Transpose", f"{axes}", (x,), lambda x, a=axes: x.transpose(a), {"dim_mappings": axes}
        )
    yield Case(
        "Permute",
        "(0, 3, 1, 2)",
        (x,),
        lambda x: x.transpose(0, 2, 3, 1),
        {"dim_mappings": (0, 3, 1, 2)},
    )
    border = ((0, 0), (0, 0), (1, 1), (2, 2))
    modes = {t.PaddingMode.CONSTANT: "constant", t.PaddingMode.REFLECT: "reflect"}
    modes[t.PaddingMode.SYMMETRIC] = "symmetric"
    for mode, name in modes.items():
        fields = {"pad_list": border, "padding_mode": mode}
        yield Case("Pad", mode.arm_name, (x,), lambda x, name=name: np.pad(x, border, name), fields)
    part = x[:, :, :64, :64].copy()
    twice = (1, 1, 2, 2)
    yield Case("Tile", "", (part,), lambda x: np.tile(x, twice), {"multiples": twice})
    yield Case(
        "BroadcastTo",
        "",
        (x[:, :, :1].copy(),),
        lambda x: np.broadcast_to(x, x.shape),
        {"broadcast_to_shape": x.shape},
    )
    axis = np.array([3], np.int32)
    yield Case("ReverseV2", "", (x, axis), lambda x, axis: np.flip(x, tuple(axis)))
    yield Case("Trilu", "", (x,), np.triu)
    yield Case("Debug", "", (x,), np.copy)


def _blocks(x: Array) -> Iterator[Case]:
    nchw = DataLayout.NCHW
    fields = {"block_size": 2, "data_layout": nchw}
    yield Case(
        "SpaceToDepth",
        "",
        (x,),
        lambda x: (
            x.reshape(1, 32, 64, 2, 64, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 128, 64, 64)
        ),
        fields,
    )
    yield Case(
        "DepthToSpace",
        "",
        (x,),
        lambda x: (
            x.reshape(1, 2, 2, 8, 128, 128).transpose(0, 3, 4, 1, 5, 2).reshape(1, 8, 256, 256)
        ),
        fields,
    )
    yield Case(
        "SpaceToBatchNd",
        "",
        (x,),
        lambda x: x.reshape(1, 32, 64, 2, 64, 2).transpose(3, 5, 0, 1, 2, 4).reshape(4, 32, 64, 64),
        {"block_shape": (2, 2), "data_layout": nchw},
    )
    yield Case(
        "BatchToSpaceNd",
        "",
        (x.reshape(4, 32, 64, 64),),
        lambda x: x.reshape(2, 2, 1, 32, 64, 64).transpose(2, 3, 4, 0, 5, 1).reshape(x.shape),
        {"block_shape": (2, 2), "data_layout": nchw},
    )
    yield Case(
        "ChannelShuffle",
        "",
        (x,),
        lambda x: x.reshape(1, 4, 8, 128, 128).swapaxes(1, 2).reshape(x.shape),
        {"num_groups": 4, "axis": 1},
    )
    yield Case(
        "Resize",
        "nearest",
        (x,),
        lambda x: x.repeat(2, 2).repeat(2, 3),
        {"target_height": 256, "target_width": 256},
    )


def _joined(x: Array, y: Array) -> Iterator[Case]:
    for axis in (1, 3):
        variant, fields = f"axis {axis}", {"axis": axis}
        yield Case("Concat", variant, (x, y), lambda *p, a=axis: np.concatenate(p, a), fields)
        yield Case("Stack", variant, (x, y), lambda *p, a=axis: np.stack(p, a), fields)
        half = x.shape[axis] // 2
        yield Case(
            "Splitter",
            variant,
            (x,),
            lambda x, a=axis: tuple(part.copy() for part in np.split(x, 2, a)),
            {"axis": axis, "sizes": (half, half)},
        )


def _largest(x: Array) -> tuple[Array, Array]:
    order = np.argsort(-x, -1, kind="stable")[:, :8]
    return np.take_along_axis(x, order, -1), order


def _picked(x: Array, indices: Array) -> Iterator[Case]:
    table = x.reshape(512, 1024)
    yield Case("Gather", "rows", (table, indices), lambda x, i: np.take(x, i, 0), {"axis": 0})
    yield Case("Gather", "columns", (table, indices), lambda x, i: np.take(x, i, 1), {"axis": 1})
    pairs = np.stack([indices // 32, indices[::-1] // 32], -1)
    cube = x.reshape(16, 16, 2048)
    yield Case("GatherNd", "", (cube, pairs), lambda x, i: x[i[:, 0], i[:, 1]])
    places = np.broadcast_to(indices, (512, 512)).copy()
    yield Case(
        "GatherElements", "", (table, places), lambda x, i: np.take_along_axis(x, i, 1), {"axis": 1}
    )
    yield Case("TopK", "", (table,), _largest, {"k": 8})
    box = {"begin": (0, 0, 8, 8), "size": (1, 32, 112, 112)}
    yield Case("Slice", "", (x,), lambda x: x[:, :, 8:120, 8:120], box)
    steps = {"begin": (0, 0, 0, 0), "end": x.shape, "stride": (1, 1, 2, 2)}
    yield Case("StridedSlice", "", (x,), lambda x: x[:, :, ::2, ::2], steps)
    levels = np.array([0, 1], np.float32)
    wide = indices.astype(np.int32)
    yield Case("OneHot", "", (wide, levels), lambda i, _: np.eye(512, dtype="f")[i], {"depth": 512})
