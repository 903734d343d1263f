# SPDX-License-Identifier: MIT
"""Normalisation and softmax."""

from __future__ import annotations

import numpy as np

from armnn.types import (
    DataLayout,
    NormalizationAlgorithmChannel,
    NormalizationAlgorithmMethod,
)
from armnn_parser_onnx.export.operation import Operation, exports


@exports("BatchNormalization")
def batch_normalization(op: Operation) -> str:
    """BatchNormalization; the channels may be in any axis here."""
    axis = op.d.channel_axis % len(op.shape("input"))
    statistics = [op.input(name) for name in ("gamma", "beta", "mean", "variance")]
    order = [0, axis, *(a for a in range(1, len(op.shape("input"))) if a != axis)]
    if axis == 0:
        op.refuse("its channels are in axis 0")
    x = op.x if axis == 1 else op.emit("Transpose", op.x, perm=order)
    y = op.emit("BatchNormalization", x, *statistics, epsilon=float(op.d.eps))
    return y if axis == 1 else op.emit("Transpose", y, perm=np.argsort(order).tolist())


@exports("InstanceNormalization")
def instance_normalization(op: Operation) -> str:
    """InstanceNormalization, with the one gamma and beta for each channel."""
    layout = op.d.data_layout
    channels = op.shape("input")[layout.channel_axis]
    y = op.emit(
        "InstanceNormalization",
        op.channels_first(op.x, layout),
        op.constant(np.full(channels, op.d.gamma)),
        op.constant(np.full(channels, op.d.beta)),
        epsilon=float(op.d.eps),
    )
    return op.laid_out(y, layout)


@exports("L2Normalization")
def l2_normalization(op: Operation) -> str:
    """Write the layer's formula: LpNormalization has no lower bound."""
    axis = 1 if op.d.data_layout is DataLayout.NCHW else len(op.shape("input")) - 1
    squares = op.emit("ReduceSumSquare", op.x, op.integers([axis]), keepdims=1)
    length = op.emit("Sqrt", op.emit("Max", squares, op.constant(op.d.eps)))
    return op.emit("Div", op.x, length)


@exports("Normalization")
def normalization(op: Operation) -> str:
    """LRN, whose alpha is that of the whole window."""
    d = op.d
    across = d.norm_channel_type is NormalizationAlgorithmChannel.ACROSS
    brightness = d.norm_method_type is NormalizationAlgorithmMethod.LOCAL_BRIGHTNESS
    if not (across and brightness and d.norm_size % 2):
        op.refuse("it is not local brightness across an odd number of channels")
    y = op.emit(
        "LRN",
        op.channels_first(op.x, d.data_layout),
        alpha=float(d.alpha) * d.norm_size,
        beta=float(d.beta),
        bias=float(d.k),
        size=d.norm_size,
    )
    return op.laid_out(y, d.data_layout)


@exports("Softmax", "LogSoftmax")
def softmax(op: Operation) -> str:
    """Softmax or LogSoftmax of beta times the input."""
    x = op.x if op.d.beta == 1 else op.emit("Mul", op.x, op.constant(op.d.beta))
    return op.emit(op.layer.type, x, axis=op.d.axis)


@exports("LayerNormalization")
def layer_normalization(op: Operation) -> str:
    """LayerNormalization, which wants a gamma."""
    axis = op.d.axis % len(op.shape("input"))
    gamma = op.input("gamma") or op.constant(np.ones(op.shape("input")[axis:]))
    beta = op.input("beta")
    return op.emit("LayerNormalization", op.x, gamma, beta, axis=axis, epsilon=float(op.d.eps))


@exports("RmsNormalization")
def rms_normalization(op: Operation) -> str:
    """Write the layer's formula: opset 20 lacks the operator."""
    rank = len(op.shape("input"))
    axes = op.integers(range(op.d.axis % rank, rank))
    mean = op.emit("ReduceMean", op.emit("Mul", op.x, op.x), axes, keepdims=1)
    y = op.emit("Div", op.x, op.emit("Sqrt", op.emit("Add", mean, op.constant(op.d.eps))))
    gamma = op.input("gamma")
    return op.emit("Mul", y, gamma) if gamma else y
