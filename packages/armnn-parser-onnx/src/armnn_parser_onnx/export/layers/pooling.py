# SPDX-License-Identifier: MIT
"""Pooling; ONNX has the channels in axis 1."""

from __future__ import annotations

from typing import Any

from armnn.types import PaddingMethod, PoolingAlgorithm
from armnn_parser_onnx.export.operation import Operation, exports


@exports("Pooling2d", "Pooling3d")
def pooling(op: Operation) -> str:
    """MaxPool or AveragePool, the mean square's root for L2.

    Windows beyond the padded input, which a rounded-up output has, become padding: it counts in
    no average here, so that averages that count padding cannot have any.
    """
    d, layout = op.d, op.d.data_layout
    if not op.info.data_type.is_float:
        op.refuse(f"it pools {op.info.data_type.arm_name}, expected floating point")
    counts_padding = d.padding_method is PaddingMethod.IGNORE_VALUE
    window, before, after = [], [], []
    for axis, size, stride, (low, high) in zip(
        layout.spatial_axes, d.window, d.strides, d.padding, strict=True
    ):
        length = op.shape("input")[axis]
        wanted = size if size else length
        more = max((op.output_shape[axis] - 1) * stride + wanted - low - high - length, 0)
        if low >= wanted or high + more >= wanted:
            op.refuse("a window of it reads nothing but padding")
        counted = (low + length + high + more - wanted) // max(stride, 1) + 1
        if counted != op.output_shape[axis]:
            op.refuse(f"it has {op.output_shape[axis]} windows where ONNX counts {counted}")
        if more and counts_padding and d.pool_type is not PoolingAlgorithm.MAX:
            op.refuse("a window of it reaches beyond the padding that counts")
        window.append(wanted)
        before.append(low)
        after.append(high + more)
    x = op.channels_first(op.x, layout)
    parameters: dict[str, Any] = {
        "kernel_shape": window,
        "strides": [max(stride, 1) for stride in d.strides],
        "pads": [*before, *after],
    }
    if d.pool_type is PoolingAlgorithm.MAX:
        return op.laid_out(op.emit("MaxPool", x, **parameters), layout)
    squares = op.emit("Mul", x, x) if d.pool_type is PoolingAlgorithm.L2 else x
    y = op.emit("AveragePool", squares, count_include_pad=int(counts_padding), **parameters)
    return op.laid_out(op.emit("Sqrt", y) if d.pool_type is PoolingAlgorithm.L2 else y, layout)
