# SPDX-License-Identifier: MIT
"""Convolutions, and the attributes of sliding windows, which poolings have, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.layers.convolution import (
    Convolution2dDescriptor,
    ConvolutionIntegerDescriptor,
    DepthwiseConvolution2dDescriptor,
)
from armnn.parsing.conversion import (
    NotKnownYetError,
    RefusedError,
    add_layer,
    reshape,
    same_padding,
    static_shape,
    transpose,
)
from armnn.tensor import Dimension
from armnn.types import BinaryOperation, DataLayout, GridPadding, ResizeMethod
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.shapes import with_spatial_axes, without_spatial_axes

_AUTO_PAD = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_LARGEST = 2**31 - 1


class Window(NamedTuple):
    """A sliding window, one number per spatial axis.

    Attributes:
        size: How many elements it reads.
        strides: The distance from one window to the next.
        dilations: The distance from one element that it reads to the next.
        before: The padding before the input.
        after: The padding after the input.
    """

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    def parameters(self, **layer: Any) -> dict[str, Any]:
        """Return the parameters of a layer with two or three spatial axes.

        Args:
            layer: Its other parameters.
        """
        numbers = zip(self.before, self.after, self.strides, self.dilations, strict=True)
        names = _PARAMETERS[3 - len(self.size) :]
        for each, values in zip(names, numbers, strict=True):
            layer.update(zip(each, values, strict=True))
        layer["data_layout"] = DataLayout.NCDHW if len(self.size) == 3 else DataLayout.NCHW
        return layer

    def counts(self, spatial: Sequence[int]) -> tuple[int, ...]:
        """Return how many windows fit along each axis of an input."""
        return tuple(
            (length + before + after - dilation * (size - 1) - 1) // stride + 1
            for length, size, stride, dilation, before, after in zip(spatial, *self, strict=True)
        )

    def padded_to(self, count: int) -> Window:
        """Return a window padded to ``count`` axes, new ones first.

        It does nothing along the new axes.
        """
        new = count - len(self.size)
        ones, zeros = (1,) * new, (0,) * new
        return Window(
            ones + self.size,
            ones + self.strides,
            ones + self.dilations,
            zeros + self.before,
            zeros + self.after,
        )


_PARAMETERS: Final = (
    ("pad_front", "pad_back", "stride_z", "dilation_z"),
    ("pad_top", "pad_bottom", "stride_y", "dilation_y"),
    ("pad_left", "pad_right", "stride_x", "dilation_x"),
)
"""The parameters of layers along depth, height and width."""


def read_window(operation: Operation, size: Sequence[int], spatial: Sequence[Dimension]) -> Window:
    """Return the window that the attributes of a node describe.

    Args:
        operation: The node.
        size: The size of the window.
        spatial: The spatial dimensions of the input.

    Raises:
        ParseError: An attribute has a wrong length or a number out of its range.
        NotKnownYetError: The padding depends on a dimension that is not known.
    """
    rank = len(size)
    if len(spatial) != rank:
        raise operation.error(
            f"a window of {rank} axes cannot slide over an input of {len(spatial)} spatial axes"
        )
    strides = per_axis(operation, "strides", rank, default=1, least=1)
    dilations = per_axis(operation, "dilations", rank, default=1, least=1)
    mode = operation.text("auto_pad", _AUTO_PAD, "NOTSET")
    if mode == "NOTSET":
        pads = per_axis(operation, "pads", 2 * rank, default=0, least=0)
        before, after = pads[:rank], pads[rank:]
    elif mode == "VALID":
        before = after = (0,) * rank
    else:
        pairs = [
            _same_padding(*four, upper=mode == "SAME_UPPER")
            for four in zip(spatial, size, strides, dilations, strict=True)
        ]
        before, after = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    return Window(tuple(size), strides, dilations, before, after)


def kernel_shape(operation: Operation) -> tuple[int, ...]:
    """Return the size of a pooling window.

    Raises:
        ParseError: A number is out of its range.
    """
    size = operation.integers("kernel_shape")
    assert size is not None  # the schema requires it
    return per_axis(operation, "kernel_shape", len(size), default=1, least=1)


def per_axis(
    operation: Operation, name: str, count: int, *, default: int, least: int
) -> tuple[int, ...]:
    """Return an attribute with one number per axis or side.

    Raises:
        ParseError: It has a wrong length or a number out of its range.
    """
    values = operation.integers(name)
    if values is None:
        return (default,) * count
    if len(values) != count or not all(least <= value <= _LARGEST for value in values):
        raise operation.error(
            f"the attribute {name!r} is {list(values)}: expected {count} numbers, each at least "
            f"{least}"
        )
    return values


def _same_padding(
    size: Dimension, window: int, stride: int, dilation: int, *, upper: bool
) -> tuple[int, int]:
    """Return the padding that makes ceil(size / stride) windows."""
    total = same_padding(size, window, stride, dilation, "auto_pad")
    less, more = total // 2, total - total // 2
    return (less, more) if upper else (more, less)


def _changed(
    operation: Operation,
    value: Value,
    how: str,
    change: Callable[[NDArray[Any]], NDArray[Any]],
    layers: Callable[[], Value],
) -> Value:
    """Change constant weights at once, computed ones by layers.

    Args:
        operation: The node.
        value: The weights.
        how: Says what is changed; constants that are changed alike are shared.
        change: Changes the data.
        layers: Adds layers that do the same.
    """
    if value.constant is None:
        return layers()
    return operation.graph.derived_constant(value, how, change)


def _static_weights(operation: Operation) -> tuple[int, ...]:
    """Return the shape of the weights.

    Raises:
        ParseError: The ranks of weights and input do not fit a convolution.
        NotKnownYetError: A dimension is not known.
    """
    shape = static_shape(operation.input(1), "its weights")
    rank = len(operation.shape())
    if len(shape) != rank or not 3 <= rank <= 5 or 0 in shape:
        raise operation.error(
            f"the weights have shape {list(shape)} and the input has rank {rank}: expected one "
            "rank from 3 to 5, and no empty weights"
        )
    _check_kernel_shape(operation, shape[2:])
    return shape


def _check_kernel_shape(operation: Operation, size: tuple[int, ...]) -> None:
    declared = operation.integers("kernel_shape")
    if declared is not None and declared != size:
        raise operation.error(
            f"the attribute 'kernel_shape' is {list(declared)}, but the weights have {list(size)}"
        )


def check_channels(operation: Operation, expected: int) -> None:
    """Check the input's channels against the weights.

    Raises:
        ParseError: They differ.
    """
    channels = operation.shape()[1]
    if isinstance(channels, int) and channels != expected:
        raise operation.error(
            f"the input has {channels} channels: expected {expected} for these weights and groups"
        )


@operator("Conv")
def convolution(operation: Operation) -> Value:
    """Add Convolution2d, DepthwiseConvolution2d or Convolution3d.

    A convolution along one axis is one over an image of height 1.
    """
    value, weights = operation.input(), operation.input(1)
    shape = _static_weights(operation)
    groups = groups_of(operation, channels=shape[1], outputs=shape[0])
    check_channels(operation, groups * shape[1])
    spatial = len(shape) - 2
    window = read_window(operation, shape[2:], operation.shape()[2:])
    if spatial == 3:
        return _convolution3d(operation, window)
    if spatial == 1:
        image = with_spatial_axes(operation, value, 2)
        weights = _as_planes(operation, weights, (*shape[:2], 1, shape[2]))
        flat = _convolution2d(operation, image, weights, window.padded_to(2), "image")
        return without_spatial_axes(operation, flat, 3)
    return _convolution2d(operation, value, weights, window, "")


def _convolution2d(
    operation: Operation, value: Value, weights: Value, window: Window, part: str
) -> Value:
    shape = weights.info.static_shape
    bias = operation.optional_input(2)
    if operation.integer("group") == 1 or shape[1] > 1:
        return operation.network.add(
            "Convolution2d",
            [value, weights, bias],
            Convolution2dDescriptor(**window.parameters()),
            name=operation.layer_name(part),
        ).output
    # One channel in each group: the weights [O, 1, H, W] become [1, H, W, O].
    weights = _changed(
        operation,
        weights,
        "depthwise",
        lambda array: np.ascontiguousarray(array.transpose(1, 2, 3, 0)),
        lambda: transpose(operation, weights, (1, 2, 3, 0), "weights"),
    )
    return operation.network.add(
        "DepthwiseConvolution2d",
        [value, weights, bias],
        DepthwiseConvolution2dDescriptor(**window.parameters()),
        name=operation.layer_name(part),
    ).output


def _convolution3d(operation: Operation, window: Window) -> Value:
    weights = operation.input(1)
    moved = _changed(
        operation,
        weights,
        "depth_first",
        lambda array: np.ascontiguousarray(array.transpose(2, 3, 4, 1, 0)),
        lambda: transpose(operation, weights, (2, 3, 4, 1, 0), "weights"),
    )
    inputs = [operation.input(), moved, operation.optional_input(2)]
    return add_layer(operation, "Convolution3d", inputs, **window.parameters())


def _as_planes(operation: Operation, weights: Value, shape: tuple[int, ...]) -> Value:
    return _changed(
        operation,
        weights,
        "as_image",
        lambda array: array.reshape(shape),
        lambda: reshape(operation, weights, shape, "weights_as_image"),
    )


def groups_of(operation: Operation, channels: int, outputs: int) -> int:
    """Return a node's number of groups.

    Raises:
        ParseError: The outputs cannot be divided by it.
    """
    groups = operation.integer("group")
    if groups < 1 or outputs % groups:
        raise operation.error(
            f"the attribute 'group' is {groups}: expected a divisor of the {outputs} outputs, "
            f"which read {channels} channels each"
        )
    return groups


@operator("ConvInteger")
def convolution_integer(operation: Operation) -> Value:
    """Add ConvolutionInteger."""
    shape = _static_weights(operation)
    if len(shape) != 4:
        raise RefusedError(f"no layer computes it along {len(shape) - 2} axes")
    groups = groups_of(operation, channels=shape[1], outputs=shape[0])
    check_channels(operation, groups * shape[1])
    window = read_window(operation, shape[2:], operation.shape()[2:])
    zero_points = [operation.optional_input(2), operation.optional_input(3)]
    return operation.network.add(
        "ConvolutionInteger",
        [operation.input(), operation.input(1), *zero_points],
        ConvolutionIntegerDescriptor(**window.parameters()),
        name=operation.layer_name(),
    ).output


_MOST_DILATED_WEIGHTS = 2**24


@operator("ConvTranspose")
def transposed_convolution(operation: Operation) -> Value:
    """Add TransposeConvolution2d, with layers for its unsupported padding."""
    shape = _static_weights(operation)
    groups = operation.integer("group")
    if groups < 1 or shape[0] % groups:
        raise operation.error(
            f"the attribute 'group' is {groups}: expected a divisor of the {shape[0]} channels"
        )
    check_channels(operation, shape[0])
    spatial = len(shape) - 2
    if spatial == 3:
        return _transposed_box(operation, _transposed_window(operation, shape[2:]))
    window = _transposed_window(operation, shape[2:]).padded_to(2)
    if spatial == 2:
        return _transposed_image(operation, operation.input(), window, "")
    image = with_spatial_axes(operation, operation.input(), 2)
    return without_spatial_axes(operation, _transposed_image(operation, image, window, "image"), 3)


def _transposed_image(operation: Operation, value: Value, window: Window, part: str) -> Value:
    """Crop by the padding.

    Where that is negative, zeros follow instead, and the bias is added last.
    """
    missing = [max(-pad, 0) for pad in window.after]
    bias = operation.optional_input(2)
    cut = operation.network.add_transpose_convolution2d(
        value,
        _transposed_weights(operation, window),
        None if any(missing) else bias,
        pad_top=window.before[0],
        pad_left=window.before[1],
        pad_bottom=max(window.after[0], 0),
        pad_right=max(window.after[1], 0),
        stride_y=window.strides[0],
        stride_x=window.strides[1],
        data_layout=DataLayout.NCHW,
        name=operation.layer_name("unpadded" if any(missing) else part),
    )
    if not any(missing):
        return cut
    padded = operation.network.add_pad(
        cut,
        pad_list=((0, 0), (0, 0), (0, missing[0]), (0, missing[1])),
        name=operation.layer_name(part if bias is None else "padded"),
    )
    if bias is None:
        return padded
    channels = bias.info.static_shape[0]
    column = reshape(operation, bias, (channels, 1, 1), "bias")
    return binary(operation, BinaryOperation.ADD, padded, column, part)


def _transposed_box(operation: Operation, window: Window) -> Value:
    """Add Convolution3d of the zero-spaced input.

    The weights are turned.
    """
    network, value, groups = operation.network, operation.input(), operation.integer("group")
    shape = static_shape(value)
    if max(window.strides) > 1:
        apart = [dim for size in shape[2:] for dim in (size, 1)]
        value = reshape(operation, value, (shape[0] * shape[1], *apart), "apart")
        gaps = [pair for stride in window.strides for pair in ((0, 0), (0, stride - 1))]
        value = network.add_pad(
            value, pad_list=[(0, 0), *gaps], name=operation.layer_name("zeros_between")
        )
        sizes = [size * stride for size, stride in zip(shape[2:], window.strides, strict=True)]
        value = reshape(operation, value, (*shape[:2], *sizes), "spread")
    # Behind the last element no zeros belong; what is left of the padding is cut.
    pads = [
        (dilation * (size - 1) - before, dilation * (size - 1) - after - (stride - 1))
        for size, stride, dilation, before, after in zip(
            window.size, window.strides, window.dilations, window.before, window.after, strict=True
        )
    ]
    value = _cut(operation, value, [(max(-a, 0), max(-b, 0)) for a, b in pads])
    channels = shape[1] // groups

    def turned(array: NDArray[Any]) -> NDArray[Any]:
        flipped = array[:, :, ::-1, ::-1, ::-1]
        apart = flipped.reshape(groups, channels, *flipped.shape[1:])
        return np.ascontiguousarray(
            apart.transpose(3, 4, 5, 1, 0, 2).reshape(*flipped.shape[2:], channels, -1)
        )

    operation.known(1)
    weights = operation.graph.derived_constant(operation.input(1), f"turned_{groups}", turned)
    before, after = (tuple(max(pad[side], 0) for pad in pads) for side in (0, 1))
    dense = window._replace(strides=(1, 1, 1), before=before, after=after)
    inputs = [value, weights, operation.optional_input(2)]
    return add_layer(operation, "Convolution3d", inputs, **dense.parameters())


def _cut(operation: Operation, value: Value, cuts: Sequence[tuple[int, int]]) -> Value:
    """Cut elements off before and behind each spatial axis."""
    if not any(map(any, cuts)):
        return value
    shape = static_shape(value)
    ends = [size - after for size, (_, after) in zip(shape[2:], cuts, strict=True)]
    return operation.network.add_strided_slice(
        value,
        begin=(0, 0, *(before for before, _ in cuts)),
        end=(*shape[:2], *ends),
        stride=(1,) * len(shape),
        name=operation.layer_name("cut"),
    )


def _transposed_window(operation: Operation, size: tuple[int, ...]) -> Window:
    """Return the window with ONNX's derived padding.

    The end's padding may be negative.
    """
    rank = len(size)
    strides = per_axis(operation, "strides", rank, default=1, least=1)
    dilations = per_axis(operation, "dilations", rank, default=1, least=1)
    extra = per_axis(operation, "output_padding", rank, default=0, least=0)
    wanted = operation.integers("output_shape")
    mode = operation.text("auto_pad", _AUTO_PAD)
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, size, strict=True)]
    if wanted is None and mode in ("NOTSET", "VALID"):
        given = per_axis(operation, "pads", 2 * rank, default=0, least=0)
        pads = given if mode == "NOTSET" else (0,) * (2 * rank)
        after = tuple(pad - more for pad, more in zip(pads[rank:], extra, strict=True))
        return Window(size, strides, dilations, pads[:rank], after)
    if wanted is None:
        # SAME makes stride times the input's size, so the size itself does not matter.
        totals = [r - s + more for r, s, more in zip(reach, strides, extra, strict=True)]
    else:
        totals = _totals(operation, wanted[-rank:], strides, reach, extra)
    less = [max(total, 0) // 2 for total in totals]
    more = [total - half for total, half in zip(totals, less, strict=True)]
    if mode == "SAME_UPPER":
        before, after = tuple(less), tuple(more)
    else:
        before = tuple(max(number, 0) for number in more)
        after = tuple(total - first for total, first in zip(totals, before, strict=True))
    after = tuple(number - e for number, e in zip(after, extra, strict=True))
    return Window(size, strides, dilations, before, after)


def _totals(
    operation: Operation,
    wanted: tuple[int, ...],
    strides: tuple[int, ...],
    reach: list[int],
    extra: tuple[int, ...],
) -> list[int]:
    """Return the padding along each axis for the wanted output."""
    spatial = operation.shape()[2:]
    if len(wanted) != len(spatial):
        raise operation.error(
            f"the attribute 'output_shape' is {list(wanted)}: expected {len(spatial)} numbers"
        )
    totals = []
    for size, target, stride, one, more in zip(spatial, wanted, strides, reach, extra, strict=True):
        if not isinstance(size, int):
            raise NotKnownYetError("'output_shape' needs the size of the input, which is not known")
        totals.append(stride * (size - 1) + more + one - target)
    return totals


def _transposed_weights(operation: Operation, window: Window) -> Value:
    """Swap the first two axes of the weights, per group.

    From [C, O / groups, H, W] they become [O, C / groups, H, W], dilated by zeros between elements.
    """
    weights, groups = operation.input(1), operation.integer("group")
    channels, per_group, *kernel = weights.info.static_shape
    if len(kernel) == 1:
        kernel = [1, *kernel]
    apart = (groups, channels // groups, per_group, *kernel)
    together = (groups * per_group, channels // groups, *kernel)

    def change(array: NDArray[Any]) -> NDArray[Any]:
        turned = array.reshape(apart).swapaxes(1, 2).reshape(together)
        return _dilated(turned, window.dilations)

    def layers() -> Value:
        if set(window.dilations) != {1}:
            operation.known(1)
        value = reshape(operation, weights, apart, "weights_apart")
        value = transpose(operation, value, (0, 2, 1, 3, 4), "weights_turned")
        return reshape(operation, value, together, "weights")

    dilated = "x".join(map(str, window.dilations))
    return _changed(operation, weights, f"transposed_{groups}_{dilated}", change, layers)


def _dilated(array: NDArray[Any], dilations: tuple[int, ...]) -> NDArray[Any]:
    """Put zeros between the elements of a kernel."""
    spatial = (d * (k - 1) + 1 for d, k in zip(dilations, array.shape[2:], strict=True))
    shape = (*array.shape[:2], *spatial)
    if math.prod(shape) > _MOST_DILATED_WEIGHTS:
        raise RefusedError(f"its dilations {list(dilations)} make the weights too large")
    result = np.zeros(shape, array.dtype)
    result[:, :, :: dilations[0], :: dilations[1]] = array
    return result


_MOST_PLACES = 2**24


@operator("DeformConv")
def deformed_convolution(operation: Operation) -> Value:
    """Add GridSample for the windows, then a 1x1 convolution.

    GridSample reads what each window reads. The offsets move the places where a window reads (Dai
    et al. 2017), a mask weighs what it reads.
    """
    weights, shape = _static_weights(operation), static_shape(operation.input())
    if len(shape) != 4:
        raise RefusedError(f"no layer computes it along {len(shape) - 2} axes")
    window = read_window(operation, weights[2:], shape[2:])
    offsets = static_shape(operation.input(2))
    kernel, groups = math.prod(weights[2:]), operation.integer("offset_group")
    output = window.counts(shape[2:])
    wanted = (shape[0], groups * kernel * 2, *output)
    if groups < 1 or shape[1] % groups or offsets != wanted:
        raise operation.error(
            f"the offsets have shape {list(offsets)}: expected {list(wanted)}, and {shape[1]} "
            f"channels in {groups} groups"
        )
    if math.prod((*wanted, shape[1])) > _MOST_PLACES * groups * 2:
        raise RefusedError(f"it reads more than {_MOST_PLACES} places")
    grid = _grid(operation, window, shape, output)
    image = reshape(
        operation, operation.input(), (shape[0] * groups, shape[1] // groups, *shape[2:]), "groups"
    )
    read = operation.network.add_grid_sample(
        image,
        grid,
        method=ResizeMethod.BILINEAR,
        padding_mode=GridPadding.ZEROS,
        name=operation.layer_name("read"),
    )
    if operation.has_input(4):
        mask = reshape(
            operation,
            operation.input(4),
            (shape[0] * groups, 1, kernel * output[0], output[1]),
            "mask",
        )
        read = binary(operation, BinaryOperation.MUL, read, mask, "masked")
    columns = reshape(operation, read, (shape[0], shape[1] * kernel, *output), "columns")
    flat = reshape(
        operation, operation.input(1), (weights[0], weights[1] * kernel, 1, 1), "flat_weights"
    )
    return operation.network.add_convolution2d(
        columns,
        flat,
        operation.optional_input(3),
        data_layout=DataLayout.NCHW,
        name=operation.layer_name(),
    )


def _grid(
    operation: Operation, window: Window, shape: tuple[int, ...], output: tuple[int, ...]
) -> Value:
    """Return all windows' places, [N * groups, kernel * rows, columns, 2]."""
    groups, kernel = operation.integer("offset_group"), math.prod(window.size)
    # The offsets are [N, groups, kernel, (y, x), rows, columns].
    apart = reshape(
        operation, operation.input(2), (shape[0] * groups, kernel, 2, *output), "offsets"
    )
    moved = transpose(operation, apart, (0, 1, 3, 4, 2), "offsets_last")
    places = binary(
        operation,
        BinaryOperation.ADD,
        moved,
        operation.number(_places(window, output), moved, "places"),
        "moved",
    )
    # GridSample counts from -1 to 1 between the outer borders of the pixels.
    sizes = np.array(shape[2:], np.float64)
    factor = operation.number(2 / sizes, places, "factor")
    offset = operation.number(1 / sizes - 1, places, "offset")
    scaled = binary(operation, BinaryOperation.MUL, places, factor, "scaled")
    grid = binary(operation, BinaryOperation.ADD, scaled, offset, "grid_yx")
    turned = operation.network.add_gather(
        grid,
        operation.integers_constant([1, 0], "xy"),
        axis=4,
        name=operation.layer_name("grid_xy"),
    )
    return reshape(operation, turned, (shape[0] * groups, kernel * output[0], output[1], 2), "grid")


def _places(window: Window, output: tuple[int, ...]) -> NDArray[np.float64]:
    """Return undeformed places: [kernel, rows, columns, (y, x)]."""
    axes = [
        np.arange(size)[:, np.newaxis] * dilation + np.arange(count) * stride - before
        for size, count, stride, dilation, before in zip(
            window.size, output, window.strides, window.dilations, window.before, strict=True
        )
    ]
    rows = axes[0][:, np.newaxis, :, np.newaxis]
    columns = axes[1][np.newaxis, :, np.newaxis, :]
    places = np.stack(np.broadcast_arrays(rows, columns), -1).astype(np.float64)
    return places.reshape(-1, *output, 2)
