# SPDX-License-Identifier: MIT
"""Convolution weights: checks of their shape, changes of layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import static_shape
from armnn_parser_onnx.operation import Operation


def changed(
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


def static_weights(operation: Operation) -> tuple[int, ...]:
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
