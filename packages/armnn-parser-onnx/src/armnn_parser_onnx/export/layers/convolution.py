# SPDX-License-Identifier: MIT
"""Writers of convolutions; ONNX has channels first, weights [O,I,...]."""

from __future__ import annotations

from collections.abc import Sequence

from armnn_parser_onnx.export.operation import Operation, exports


@exports("Convolution2d")
def convolution2d(op: Operation) -> str:
    """Write Conv; the weights' channels determine the groups."""
    layout = op.d.data_layout
    weights = op.channels_first(op.input("weights"), layout)
    groups = op.shape("input")[layout.channel_axis] // op.shape("weights")[layout.channel_axis]
    return _convolution(op, weights, groups)


@exports("DepthwiseConvolution2d")
def depthwise_convolution2d(op: Operation) -> str:
    """Write Conv with one group per input channel.

    The weights are [1,KH,KW,I*M] here.
    """
    weights = op.emit("Transpose", op.input("weights"), perm=[3, 0, 1, 2])
    return _convolution(op, weights, op.shape("input")[op.d.data_layout.channel_axis])


@exports("Convolution3d")
def convolution3d(op: Operation) -> str:
    """Conv with three spatial axes; the weights are [KD,KH,KW,I,O] here."""
    weights = op.emit("Transpose", op.input("weights"), perm=[4, 3, 0, 1, 2])
    d = op.d
    return _convolution(
        op,
        weights,
        1,
        strides=(d.stride_z, d.stride_y, d.stride_x),
        dilations=(d.dilation_z, d.dilation_y, d.dilation_x),
        pads=(d.pad_front, d.pad_top, d.pad_left, d.pad_back, d.pad_bottom, d.pad_right),
    )


@exports("TransposeConvolution2d")
def transpose_convolution2d(op: Operation) -> str:
    """Write ConvTranspose, whose weights are [I,O/groups,KH,KW].

    A given output shape becomes output_padding.
    """
    d, layout = op.d, op.d.data_layout
    rows, columns = layout.spatial_axes
    kernel = [op.shape("weights")[axis] for axis in (rows, columns)]
    strides = (d.stride_y, d.stride_x)
    pads = ((d.pad_top, d.pad_bottom), (d.pad_left, d.pad_right))
    more: list[int] = []
    for axis, size, stride, (before, after) in zip(
        (rows, columns), kernel, strides, pads, strict=True
    ):
        natural = (op.shape("input")[axis] - 1) * stride + size - before - after
        more.append(op.output_shape[axis] - natural)
    if any(not 0 <= extra < stride for extra, stride in zip(more, strides, strict=True)):
        op.refuse(f"its output shape {list(op.output_shape)} is not that of its parameters")
    inputs, members = (op.shape(name)[layout.channel_axis] for name in ("input", "weights"))
    outputs, groups = op.shape("weights")[0], inputs // members
    weights = op.channels_first(op.input("weights"), layout)
    apart = op.reshape(weights, (groups, outputs // groups, members, *kernel))
    swapped = op.emit("Transpose", apart, perm=[0, 2, 1, 3, 4])
    y = op.emit(
        "ConvTranspose",
        op.channels_first(op.x, layout),
        op.reshape(swapped, (inputs, outputs // groups, *kernel)),
        op.input("bias"),
        group=groups,
        strides=list(strides),
        pads=[d.pad_top, d.pad_left, d.pad_bottom, d.pad_right],
        output_padding=more,
    )
    return op.laid_out(y, layout)


def _convolution(
    op: Operation,
    weights: str,
    groups: int,
    *,
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
    pads: Sequence[int] = (),
) -> str:
    d, layout = op.d, op.d.data_layout
    y = op.emit(
        "Conv",
        op.channels_first(op.x, layout),
        weights,
        op.input("bias"),
        group=groups,
        strides=list(strides or (d.stride_y, d.stride_x)),
        dilations=list(dilations or (d.dilation_y, d.dilation_x)),
        pads=list(pads or (d.pad_top, d.pad_left, d.pad_bottom, d.pad_right)),
    )
    return op.laid_out(y, layout)
