# SPDX-License-Identifier: MIT
"""Pictures sampled at other places."""

from __future__ import annotations

from armnn.types import ResizeMethod, ResizeRounding
from armnn_parser_onnx.export.operation import Operation, exports

_NEAREST = {
    ResizeRounding.ROUND_PREFER_FLOOR: "round_prefer_floor",
    ResizeRounding.ROUND_PREFER_CEIL: "round_prefer_ceil",
    ResizeRounding.FLOOR: "floor",
    ResizeRounding.CEIL: "ceil",
}
_METHODS = {
    ResizeMethod.BILINEAR: "linear",
    ResizeMethod.NEAREST_NEIGHBOR: "nearest",
    ResizeMethod.CUBIC: "cubic",
}


@exports("Resize")
def resize(op: Operation) -> str:
    """Resize to the size that it has here."""
    d, layout = op.d, op.d.data_layout
    if d.scale_width or d.scale_height:
        op.refuse("its scales are not those of its sizes")
    nearest = None
    if d.method is ResizeMethod.NEAREST_NEIGHBOR:
        nearest = _NEAREST.get(d.rounding)
        if nearest is None and (d.align_corners or d.half_pixel_centers):
            op.refuse("it rounds as TensorFlow does, which ONNX cannot say")
        nearest = nearest or "floor"
    if d.align_corners:
        mode = "align_corners"
    else:
        mode = "half_pixel" if d.half_pixel_centers else "asymmetric"
    x = op.channels_first(op.x, layout)
    batch, channels = (op.output_shape[axis] for axis in (0, layout.channel_axis))
    sizes = op.integers([batch, channels, *(op.output_shape[axis] for axis in layout.spatial_axes)])
    y = op.emit(
        "Resize",
        x,
        "",
        "",
        sizes,
        mode=_METHODS[d.method],
        coordinate_transformation_mode=mode,
        nearest_mode=nearest,
        cubic_coeff_a=float(d.cubic_coefficient),
        exclude_outside=int(d.exclude_outside),
    )
    return op.laid_out(y, layout)
