# SPDX-License-Identifier: MIT
"""Fourier transforms as matrix products, and the mel scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import NotKnownYetError, RefusedError, reshape, transpose
from armnn.tensor import format_shape
from armnn.types import BinaryOperation, DataLayout
from armnn_parser_onnx._registry import operator
from armnn_parser_onnx.operation import Operation
from armnn_parser_onnx.operators.activation import binary
from armnn_parser_onnx.shapes import reshape_to_groups
from armnn_parser_onnx.tensors import data_type_of

_MOST_WEIGHTS = 17 * 2**20
"""Enough for the spectrum of 4096 real numbers."""

_LARGEST_MEL_MATRIX = 2**22


@operator("DFT")
def dft_by_attribute(operation: Operation) -> Value:
    """Add the discrete Fourier transform along an attribute's axis."""
    return _dft(operation, operation.integer("axis"))


@operator("DFT", since=20)
def dft(operation: Operation) -> Value:
    """Add the discrete Fourier transform along an input's axis."""
    axis = operation.known_integers(2)
    return _dft(operation, axis[0] if axis else -2)


def _dft(operation: Operation, along: int) -> Value:
    value, shape = operation.input(), operation.shape()
    rank = len(shape)
    axis, size, parts = operation.axis(along, rank), shape[operation.axis(along, rank)], shape[-1]
    if axis == rank - 1 or parts not in (1, 2):
        raise operation.error(
            f"the input has {parts} numbers in its last axis and the transform is along axis "
            f"{axis} of {rank}: expected 1 or 2 numbers, and another axis"
        )
    if not isinstance(size, int):
        raise NotKnownYetError("the length of its signal is not known")
    inverse, onesided = operation.flag("inverse"), operation.flag("onesided")
    given = operation.known_integers(1)
    length = given[0] if given else 2 * (size - 1) if inverse and onesided else size
    matrix = _transform(operation, min(size, length), int(parts or 0), length, inverse, onesided)
    order = [other for other in range(rank) if other not in (axis, rank - 1)]
    moved = transpose(operation, value, (*order, axis, rank - 1), "moved")
    if length < size:
        moved = _cut(operation, moved, length)
    groups = [[other] for other in range(rank - 2)] + [[rank - 2, rank - 1]]
    rows = reshape_to_groups(operation, moved, groups, "rows")
    weights = operation.number(matrix.reshape(-1, matrix.shape[2] * matrix.shape[3]), value, "dft")
    product = operation.network.add_batch_mat_mul(
        rows, weights, name=operation.layer_name("product")
    )
    apart = operation.network.add_reshape(
        product,
        target_shape=(*(0,) * (rank - 2), *matrix.shape[2:]),
        zero_copies=True,
        name=operation.layer_name("apart"),
    )
    back = np.argsort([*order, axis, rank - 1]).tolist()
    return transpose(operation, apart, back)


def _cut(operation: Operation, value: Value, length: int) -> Value:
    """Keep the first elements of the axis before the last."""
    rank = len(operation.shape_of(value))
    mask = (1 << rank) - 1 - (1 << (rank - 2))
    return operation.network.add_strided_slice(
        value,
        begin=(0,) * rank,
        end=(*(0,) * (rank - 2), length, 0),
        stride=(1,) * rank,
        begin_mask=mask,
        end_mask=mask,
        name=operation.layer_name("cut"),
    )


def _transform(
    operation: Operation, size: int, parts: int, length: int, inverse: bool, onesided: bool
) -> NDArray[np.float64]:
    """Return a transform's matrix [size, parts, results, result parts].

    Args:
        operation: The node.
        size: How many elements of the signal there are; zeros follow up to ``length``.
        parts: 1 for real elements, 2 for real and imaginary parts.
        length: The length of the transform.
        inverse: Whether it is the inverse one.
        onesided: Whether only the first half of the spectrum is made, or given to the inverse.

    Raises:
        ParseError: The length is not positive.
        RefusedError: The matrix would be too large.
    """
    results = length // 2 + 1 if onesided and not inverse else length
    if length < 1 or size < 1:
        raise operation.error(f"the length of the transform is {length}: expected at least 1")
    if size * results * parts * 2 > _MOST_WEIGHTS:
        raise RefusedError(f"a transform of length {length} takes too large a matrix")
    elements = min(size, length // 2 + 1) if onesided and inverse else size
    # The product is reduced as an integer: the angles of large ones would be inexact.
    turns = np.outer(np.arange(elements), np.arange(results)) % length / length
    cosines, sines = np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)
    if inverse:
        cosines, sines = cosines / length, -sines / length
    if inverse and onesided:
        # Frequencies that the other half mirrors count twice.
        twice = np.where((np.arange(elements) * 2) % length == 0, 1, 2)[:, np.newaxis]
        halves = np.stack([cosines * twice, sines * twice], 1)[:, :parts, :, np.newaxis]
        matrix: NDArray[np.float64] = np.zeros((size, parts, results, 1))
        matrix[:elements] = halves
        return matrix
    real = np.stack([cosines, -sines], -1)
    imaginary = np.stack([sines, cosines], -1)
    return np.stack([real, imaginary], 1)[:, :parts]


@operator("STFT")
def stft(operation: Operation) -> Value:
    """Add Convolution2d of the signal with windowed waves.

    A signal without the last axis is of real numbers, as onnxruntime reads it.
    """
    shape, step = operation.shape(), _number(operation, 1)
    parts = shape[2] if len(shape) == 3 else 1
    if len(shape) not in (2, 3) or parts not in (1, 2) or step < 1:
        raise operation.error(
            f"the signal has shape {format_shape(shape)} and the step is {step}: expected rank 3 "
            "(or 2) with 1 or 2 numbers in the last axis, and at least 1"
        )
    frame = _frame_length(operation)
    matrix = _transform(
        operation, frame, int(parts or 0), frame, inverse=False, onesided=operation.flag("onesided")
    )
    bins = matrix.shape[2]
    waves = matrix.transpose(2, 3, 1, 0).reshape(2 * bins, int(parts or 0), 1, frame)
    weights = operation.number(waves, operation.input(), "waves")
    if operation.has_input(2):
        window = reshape(operation, operation.input(2), (1, 1, 1, -1), "window")
        weights = binary(operation, BinaryOperation.MUL, weights, window, "windowed_waves")
    if len(shape) == 2:
        image = reshape_to_groups(operation, operation.input(), [[0], [], [], [1]], "as_image")
    else:
        signal = transpose(operation, operation.input(), (0, 2, 1), "channels")
        image = reshape_to_groups(operation, signal, [[0], [1], [], [2]], "as_image")
    spectrum = operation.network.add_convolution2d(
        image,
        weights,
        stride_x=step,
        data_layout=DataLayout.NCHW,
        name=operation.layer_name("spectrum"),
    )
    apart = operation.network.add_reshape(
        spectrum,
        target_shape=(0, bins, 2, -1),
        zero_copies=True,
        name=operation.layer_name("apart"),
    )
    return transpose(operation, apart, (0, 3, 1, 2))


def _frame_length(operation: Operation) -> int:
    lengths = operation.known_integers(3)
    if lengths:
        return lengths[0]
    if not operation.has_input(2):
        raise operation.error("it has neither a window nor a length of frames: expected one")
    window = operation.shape(2)
    if len(window) != 1 or not isinstance(window[0], int):
        raise NotKnownYetError("the length of its window is not known")
    return window[0]


@operator("MelWeightMatrix")
def mel_weight_matrix(operation: Operation) -> Value:
    """Add a constant: mel-scale triangles over a spectrum's bins."""
    bands, length, rate, low, high = (_number(operation, index) for index in range(5))
    spectrum = int(length) // 2 + 1
    sane = min(bands, length, rate) >= 1 and 0 <= min(low, high) <= max(low, high) < math.inf
    if not sane or bands * spectrum > _LARGEST_MEL_MATRIX:
        raise operation.error(
            f"the parameters {[bands, length, rate, low, high]} are out of range: expected "
            "positive numbers of bands, bins and samples, and edges from 0 on"
        )
    first, last = (2595 * math.log10(1 + edge / 700) for edge in (low, high))
    edges = first + np.arange(bands + 2) * ((last - first) / (bands + 2))
    hertz = 700 * (10 ** (edges / 2595) - 1)
    places = ((length + 1) * hertz // rate).astype(np.int64)
    if places.max() > spectrum:
        raise operation.error(f"the upper edge {high:g} is above half of the {rate:g} samples")
    bins = np.arange(spectrum)[:, np.newaxis]
    left, center, right = places[:-2], places[1:-1], places[2:]
    rising = (bins - left) / np.maximum(center - left, 1)
    falling = (right - bins) / np.maximum(right - center, 1)
    peak = (bins == center) * 1.0
    weights = np.where((bins >= left) & (bins < center), rising, peak)
    weights = np.where((bins >= center) & (bins < right), falling, weights)
    data_type = data_type_of(operation.integer("output_datatype"))
    return operation.network.add_constant(
        weights.astype(data_type.numpy_dtype), name=operation.layer_name()
    )


def _number(operation: Operation, index: int) -> Any:
    array = operation.known(index)
    if array.size != 1:
        raise operation.error(
            f"the input {operation.schema.inputs[index].name!r} has {array.size} elements: "
            "expected one"
        )
    return array.reshape(-1)[0].item()
