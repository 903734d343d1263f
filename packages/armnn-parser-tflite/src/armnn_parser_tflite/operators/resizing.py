# SPDX-License-Identifier: MIT
"""Images in another size: RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

from armnn.graph import Value
from armnn.types import DataLayout, ResizeMethod
from armnn_parser_tflite._registry import operator
from armnn_parser_tflite.operation import Operation


@operator("RESIZE_BILINEAR", newest=4)
def resize_bilinear(operation: Operation) -> Value:
    """Add Resize."""
    return _resize(operation, ResizeMethod.BILINEAR, "ResizeBilinearOptions")


@operator("RESIZE_NEAREST_NEIGHBOR", newest=4)
def resize_nearest_neighbor(operation: Operation) -> Value:
    """Add Resize."""
    return _resize(operation, ResizeMethod.NEAREST_NEIGHBOR, "ResizeNearestNeighborOptions")


def _resize(operation: Operation, method: ResizeMethod, kind: str) -> Value:
    options = operation.options(kind)
    size = operation.integers(1)
    if size.info.shape not in ((2,), None):
        raise operation.error("the new size is not a list of height and width")
    height, width = (_element(operation, size, index) for index in (0, 1))
    return operation.network.add_resize(
        operation.input(),
        width,
        height,
        method=method,
        data_layout=DataLayout.NHWC,
        align_corners=options.flag("AlignCorners"),
        half_pixel_centers=options.flag("HalfPixelCenters"),
        name=operation.layer_name(),
        output=operation.info(),
    )


def _element(operation: Operation, numbers: Value, index: int) -> Value:
    if numbers.constant is not None:
        return operation.integers_constant([int(numbers.constant[index])], "size")
    return operation.network.add_slice(
        numbers, begin=(index,), size=(1,), name=operation.layer_name("size")
    )
