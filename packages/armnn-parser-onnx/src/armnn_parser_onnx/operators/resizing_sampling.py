# SPDX-License-Identifier: MIT
"""Images sampled at places that are data: GridSample and RoiAlign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.parsing.conversion import RefusedError
from armnn.types import GridPadding, PoolingAlgorithm, ResizeMethod
from armnn_parser_onnx._registry import operator

if TYPE_CHECKING:
    from armnn.graph import Value
    from armnn_parser_onnx.operation import Operation

_METHODS = {
    "linear": ResizeMethod.BILINEAR,
    "bilinear": ResizeMethod.BILINEAR,
    "nearest": ResizeMethod.NEAREST_NEIGHBOR,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
}
_PADDING = {
    "zeros": GridPadding.ZEROS,
    "border": GridPadding.BORDER,
    "reflection": GridPadding.REFLECTION,
}


@operator("GridSample")
def grid_sample(operation: Operation) -> Value:
    """Add GridSample."""
    return operation.network.add_grid_sample(
        operation.input(),
        operation.input(1),
        method=_METHODS[operation.text("mode", _METHODS)],
        padding_mode=_PADDING[operation.text("padding_mode", _PADDING)],
        align_corners=operation.flag("align_corners"),
        name=operation.layer_name(),
    )


@operator("RoiAlign")
def roi_align(operation: Operation) -> Value:
    """Add RoiAlign; before opset 16, pixel centres were integers."""
    halves = ("half_pixel", "output_half_pixel")
    shift = operation.text("coordinate_transformation_mode", halves, "output_half_pixel")
    if operation.text("mode", ("avg", "max")) == "max":
        raise RefusedError("it takes the largest weighted neighbour, no layer does")
    return operation.network.add_roi_align(
        operation.input(),
        operation.input(1),
        operation.input(2),
        output_height=operation.integer("output_height"),
        output_width=operation.integer("output_width"),
        sampling_ratio=operation.integer("sampling_ratio"),
        spatial_scale=operation.real("spatial_scale"),
        half_pixel_centers=shift == "half_pixel",
        pool_type=PoolingAlgorithm.AVERAGE,
        name=operation.layer_name(),
    )
