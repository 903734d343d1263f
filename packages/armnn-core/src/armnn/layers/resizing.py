# SPDX-License-Identifier: MIT
"""Images sampled at other places: Resize, GridSample and RoiAlign."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._shapes import (
    PICTURES,
    PLANAR,
    known_better,
    require_rank,
    require_shape,
    same_dimension,
)
from armnn.layers._spec import Inputs, Numerics, Shapes, filling, layer, result, slot
from armnn.tensor import format_shape
from armnn.types import DataLayout, GridPadding, PoolingAlgorithm, ResizeMethod, ResizeRounding

_SUMMED_UP = (PoolingAlgorithm.AVERAGE, PoolingAlgorithm.MAX)


def _resized(descriptor: ResizeDescriptor, inputs: Inputs) -> Shapes:
    output = list(require_rank(inputs, "input", 4))
    targets = (descriptor.target_height, descriptor.target_width)
    fields = ("target_height", "target_width")
    for axis, target, field in zip(
        descriptor.data_layout.spatial_axes, targets, fields, strict=True
    ):
        awaited = inputs.awaits(field)
        if not awaited and target == 0:
            raise ShapeError(f"the {field} is 0: expected at least 1")
        output[axis] = None if awaited else target
    return [tuple(output)]


@layer(
    49,
    inputs=[
        slot("input", "[N,H,W,C] or [N,C,H,W], as ``data_layout`` says."),
        filling("target_width", "A tensor of one integer."),
        filling("target_height", "A tensor of one integer."),
    ],
    infer=_resized,
    numerics=Numerics(
        terms=16,
        sums=True,
        overflows="weights of cubic samples are negative: their partial sums may overflow",
    ),
    axes=PICTURES,
)
class ResizeDescriptor(Descriptor):
    """An image sampled at another number of rows and columns.

    Row y of the output is taken at y * in / out of the input; with ``half_pixel_centers`` at (y +
    0.5) * in / out - 0.5; with ``align_corners`` at y * (in - 1) / (out - 1). Outside, the image's
    border is repeated.

    Attributes:
        target_width: Columns of the output.
        target_height: Rows of the output.
        method: How the value between two samples is found.
        data_layout: NCHW or NHWC.
        align_corners: Whether the corner samples of both images coincide.
        half_pixel_centers: Whether a sample stands in the middle of its pixel.
        rounding: Which sample NearestNeighbor takes. TensorFlow: the nearest with
            ``align_corners`` or ``half_pixel_centers``, else the one before; of two as near the
            latter one. The others as in ONNX.
        cubic_coefficient: The slope of Cubic beside a sample (Keys 1981), -0.75 or -0.5.
        exclude_outside: Whether Cubic leaves out samples outside of the image, instead of
            repeating them.
        scale_width: Columns out / in (ONNX: scales); 0 for the quotient of the sizes.
        scale_height: Rows out / in; 0 for the quotient of the sizes.
    """

    target_width: int = parameter(0, at_least=0)
    target_height: int = parameter(0, at_least=0)
    method: ResizeMethod = ResizeMethod.NEAREST_NEIGHBOR
    data_layout: DataLayout = parameter(DataLayout.NCHW, one_of=PLANAR)
    align_corners: bool = False
    half_pixel_centers: bool = False
    rounding: ResizeRounding = ResizeRounding.TENSORFLOW
    cubic_coefficient: float = -0.75
    exclude_outside: bool = False
    scale_width: float = parameter(0.0, at_least=0)
    scale_height: float = parameter(0.0, at_least=0)


def _sampled(_descriptor: GridSampleDescriptor, inputs: Inputs) -> Shapes:
    shape, grid = inputs.shape("input"), inputs.shape("grid")
    rank = len(shape)
    if (
        rank < 3
        or len(grid) != rank
        or not same_dimension(grid[0], shape[0])
        or not same_dimension(grid[-1], rank - 2)
    ):
        raise ShapeError(
            f"the grid of shape {format_shape(grid)} does not fit the input of shape "
            f"{format_shape(shape)}: expected a grid [N,...,{rank - 2}] and an input [N,C,...] of "
            "the same rank, 3 or more"
        )
    return [(known_better(shape[0], grid[0]), shape[1], *grid[1:-1])]


@layer(
    1021,
    inputs=[
        slot("input", "[N,C,H,W], with any number of spatial axes."),
        slot("grid", "[N,H_out,W_out,2]: x and y of each place, -1 and 1 at the borders."),
    ],
    outputs=[result("output", "Shape [N,C,H_out,W_out].")],
    infer=_sampled,
    numerics=Numerics(
        terms=16, overflows="weights of cubic samples are negative: their partial sums may overflow"
    ),
    axes=PICTURES,
)
class GridSampleDescriptor(Descriptor):
    """The values of an image at given places.

    Jaderberg et al. 2015, ONNX: GridSample-20.

    Attributes:
        method: How the value between samples is found; Cubic with the coefficient -0.75, and
            NearestNeighbor takes the even one of two that are as near.
        padding_mode: The values outside: zeros, the border, or the image reflected.
        align_corners: Whether -1 and 1 are the first and the last sample, else the outer borders
            of their pixels.
    """

    method: ResizeMethod = ResizeMethod.BILINEAR
    padding_mode: GridPadding = GridPadding.ZEROS
    align_corners: bool = False


def _aligned(descriptor: RoiAlignDescriptor, inputs: Inputs) -> Shapes:
    channels = require_rank(inputs, "input", 4)[1]
    (count,) = require_rank(inputs, "batch_indices", 1)
    require_shape(inputs, "boxes", (count, 4))
    count = known_better(count, inputs.shape("boxes")[0])
    return [(count, channels, descriptor.output_height, descriptor.output_width)]


@layer(
    1027,
    inputs=[
        slot("input", "Shape [N,C,H,W]."),
        slot(
            "boxes",
            "[R,4]: x and y of the upper left corner, then of the lower right one.",
            finite=True,
        ),
        slot("batch_indices", "[R], integers: which image each box is in."),
    ],
    outputs=[result("output", "Shape [R,C,output_height,output_width].")],
    infer=_aligned,
    numerics=Numerics(terms=16),
    axes=PICTURES,
)
class RoiAlignDescriptor(Descriptor):
    """Boxes of images sampled at one size.

    It feeds a head of Mask R-CNN (He et al. 2017, ONNX: RoiAlign). Each element sums up bilinear
    samples that stand evenly in its part of the box. Those more than a pixel outside of the image
    are 0.

    Attributes:
        output_height: Rows of the output.
        output_width: Columns of the output.
        sampling_ratio: Samples of an element along each axis; 0 for one per pixel, rounded up.
        spatial_scale: Pixels of the input per unit of the boxes.
        half_pixel_centers: Whether a sample stands in the middle of its pixel; otherwise a box has
            at least one pixel.
        pool_type: Average or Max.
    """

    output_height: int = parameter(1, at_least=1)
    output_width: int = parameter(1, at_least=1)
    sampling_ratio: int = parameter(0, at_least=0)
    spatial_scale: float = 1.0
    half_pixel_centers: bool = True
    pool_type: PoolingAlgorithm = parameter(
        PoolingAlgorithm.AVERAGE, one_of=(PoolingAlgorithm.AVERAGE, PoolingAlgorithm.MAX)
    )
