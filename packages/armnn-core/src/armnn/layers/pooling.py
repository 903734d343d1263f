# SPDX-License-Identifier: MIT
"""Sums over sliding windows: Pooling2d and Pooling3d."""

from __future__ import annotations

from typing import ClassVar

from armnn.layers._descriptor import WindowDescriptor, parameter
from armnn.layers._shapes import PICTURES, PLANAR, VOLUMETRIC, require_rank, window_positions
from armnn.layers._spec import Inputs, Numerics, Shapes, layer, slot
from armnn.types import DataLayout, OutputShapeRounding, PaddingMethod, PoolingAlgorithm


def _pooled(descriptor: Pooling2dDescriptor | Pooling3dDescriptor, inputs: Inputs) -> Shapes:
    layout = descriptor.data_layout
    output = list(require_rank(inputs, "input", len(layout.name)))
    for index, axis in enumerate(layout.spatial_axes):
        stride, window = descriptor.strides[index], descriptor.window[index]
        if stride == 0 or window == 0:
            output[axis] = 1
            continue
        output[axis] = window_positions(
            output[axis],
            window,
            stride=stride,
            dilation=descriptor.dilations[index],
            padding=descriptor.padding[index],
            round_up=descriptor.output_shape_rounding is OutputShapeRounding.CEILING,
        )
    return [tuple(output)]


class _PoolingDescriptor(WindowDescriptor):
    """The common part of pooling in two and three dimensions."""

    __slots__ = ()

    @property
    def window(self) -> tuple[int, ...]:
        """The window's size along each spatial axis."""
        return tuple([getattr(self, name) for name in self._sizes])

    @property
    def _sizes(self) -> tuple[str, ...]:
        return ("pool_depth", "pool_height", "pool_width")[-len(self.spatial_axes) :]


@layer(
    42,
    inputs=[slot("input", "[N,H,W,C] or [N,C,H,W], as ``data_layout`` says.")],
    infer=_pooled,
    numerics=Numerics(averages=True),
    axes=PICTURES,
)
class Pooling2dDescriptor(_PoolingDescriptor):
    """The maximum, average or L2 norm of each window.

    The L2 norm is the root of the mean square. A stride of 0 makes one window, as Arm NN's global
    pooling does; a window of size 0 is as large as the input. With Ceiling, a last window that is
    not whole counts if it starts in the input or in the padding before it (Arm NN, ONNX); with
    Floor only whole windows count, wherever they start, as in ONNX and in Arm NN's kernels (Arm
    NN's shape inference would drop those that start in the padding after the input). The divisor of
    an average counts the elements in the input, with IgnoreValue the places of padding as well, but
    none behind the padding, where a last window may end. The maximum over padding only is 0.

    Attributes:
        pool_type: The function of each window.
        pad_left: Columns before the input.
        pad_right: Columns after the input.
        pad_top: Rows before the input.
        pad_bottom: Rows after the input.
        pool_width: Columns of a window; 0 for all.
        pool_height: Rows of a window; 0 for all.
        stride_x: Columns from one window to the next; 0 for a single window.
        stride_y: Rows from one window to the next; 0 for a single window.
        output_shape_rounding: Whether a last window that is not whole counts.
        padding_method: Whether padding counts in the divisor of an average.
        data_layout: NCHW or NHWC.
        dilation_x: Columns from one element of a window to the next.
        dilation_y: Rows from one element of a window to the next.
    """

    pool_type: PoolingAlgorithm = PoolingAlgorithm.MAX
    pad_left: int = parameter(0, at_least=0)
    pad_right: int = parameter(0, at_least=0)
    pad_top: int = parameter(0, at_least=0)
    pad_bottom: int = parameter(0, at_least=0)
    pool_width: int = parameter(0, at_least=0)
    pool_height: int = parameter(0, at_least=0)
    stride_x: int = parameter(0, at_least=0)
    stride_y: int = parameter(0, at_least=0)
    output_shape_rounding: OutputShapeRounding = OutputShapeRounding.FLOOR
    padding_method: PaddingMethod = PaddingMethod.EXCLUDE
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)
    dilation_x: int = parameter(1, at_least=1)
    dilation_y: int = parameter(1, at_least=1)


@layer(
    69,
    inputs=[slot("input", "[N,D,H,W,C] or [N,C,D,H,W], as ``data_layout`` says.")],
    infer=_pooled,
    numerics=Numerics(averages=True),
)
class Pooling3dDescriptor(_PoolingDescriptor):
    """The maximum, average or L2 norm of each box.

    The rules are those of Pooling2d.

    Attributes:
        pool_type: The function of each window.
        pad_left: Columns before the input.
        pad_right: Columns after the input.
        pad_top: Rows before the input.
        pad_bottom: Rows after the input.
        pad_front: Planes before the input.
        pad_back: Planes after the input.
        pool_width: Columns of a window; 0 for all.
        pool_height: Rows of a window; 0 for all.
        pool_depth: Planes of a window; 0 for all.
        stride_x: Columns from one window to the next; 0 for a single window.
        stride_y: Rows from one window to the next; 0 for a single window.
        stride_z: Planes from one window to the next; 0 for a single window.
        output_shape_rounding: Whether a last window that is not whole counts.
        padding_method: Whether padding counts in the divisor of an average.
        data_layout: NCDHW or NDHWC.
        dilation_x: Columns from one element of a window to the next.
        dilation_y: Rows from one element of a window to the next.
        dilation_z: Planes from one element of a window to the next.
    """

    pool_type: PoolingAlgorithm = PoolingAlgorithm.MAX
    pad_left: int = parameter(0, at_least=0)
    pad_right: int = parameter(0, at_least=0)
    pad_top: int = parameter(0, at_least=0)
    pad_bottom: int = parameter(0, at_least=0)
    pad_front: int = parameter(0, at_least=0)
    pad_back: int = parameter(0, at_least=0)
    pool_width: int = parameter(0, at_least=0)
    pool_height: int = parameter(0, at_least=0)
    pool_depth: int = parameter(0, at_least=0)
    stride_x: int = parameter(0, at_least=0)
    stride_y: int = parameter(0, at_least=0)
    stride_z: int = parameter(0, at_least=0)
    output_shape_rounding: OutputShapeRounding = OutputShapeRounding.FLOOR
    padding_method: PaddingMethod = PaddingMethod.EXCLUDE
    data_layout: DataLayout = parameter(DataLayout.NCDHW, one_of=VOLUMETRIC)
    dilation_x: int = parameter(1, at_least=1)
    dilation_y: int = parameter(1, at_least=1)
    dilation_z: int = parameter(1, at_least=1)

    spatial_axes: ClassVar[str] = "zyx"
