# SPDX-License-Identifier: MIT
"""Elements picked by their indices or their rank."""

from __future__ import annotations

import numpy as np

from armnn.types import DataType
from armnn_parser_onnx.export.operation import Operation, exports


@exports("Slice")
def slice_(op: Operation) -> str:
    """Slice; a size of -1 is what is left."""
    starts = list(op.d.begin)
    ends = [start + size for start, size in zip(starts, op.output_shape, strict=True)]
    return op.emit("Slice", op.x, op.integers(starts), op.integers(ends))


@exports("StridedSlice")
def strided_slice(op: Operation) -> str:
    """Write Slice, then Reshape for the masks' axes.

    The masks add and remove axes.
    """
    shape = op.shape("input")
    taken = [entry for entry in op.d.index(len(shape)) if entry is not None]
    starts, ends, steps = [], [], []
    for entry, size in zip(taken, shape, strict=True):
        if isinstance(entry, slice):
            start, end, step = entry.indices(size)
        else:
            start, end, step = entry % size, entry % size + 1, 1
        starts.append(start)
        # Backward past the first element: -1 would be the last one.
        ends.append(end if end >= 0 else np.iinfo(np.int64).min)
        steps.append(step)
    axes = op.integers(range(len(shape)))
    sliced = op.emit(
        "Slice", op.x, op.integers(starts), op.integers(ends), axes, op.integers(steps)
    )
    return op.reshape(sliced, op.output_shape)


@exports("Gather")
def gather(op: Operation) -> str:
    """Gather."""
    return op.emit("Gather", op.x, _indices(op), axis=op.d.axis)


@exports("GatherNd")
def gather_nd(op: Operation) -> str:
    """GatherND; its indices have 64 bits."""
    return op.emit("GatherND", op.x, _indices(op))


@exports("GatherElements")
def gather_elements(op: Operation) -> str:
    """Write GatherElements."""
    return op.emit("GatherElements", op.x, _indices(op), axis=op.d.axis)


@exports("TopK")
def top_k(op: Operation) -> tuple[str, str]:
    """TopK; its indices have 64 bits."""
    values, places = op.emit_several(
        2,
        "TopK",
        op.x,
        op.integers([op.d.k]),
        axis=op.d.axis,
        largest=int(op.d.largest),
        sorted=int(op.d.sorted),
    )
    return values, op.cast(places, op.layer.outputs[1].info.data_type)


@exports("Trilu")
def trilu(op: Operation) -> str:
    """Trilu."""
    return op.emit("Trilu", op.x, op.integers(op.d.k), upper=int(op.d.upper))


def _indices(op: Operation) -> str:
    return op.cast(op.input("indices"), DataType.SIGNED64)
