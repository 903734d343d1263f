# SPDX-License-Identifier: MIT
"""The table of CpuRef's operations, filled by a decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"
"""The values of one tensor."""


class Op(NamedTuple):
    """How CpuRef computes one layer type.

    Attributes:
        layer: The name of the layer type.
        function: ``f(descriptor, *inputs)`` -> an array, or a tuple of one array per output. It
            neither changes its inputs nor keeps anything between calls, so that any number of
            threads may be in it. An optional input that is absent is None.
        typed: Whether it is called as ``f(descriptor, outputs, *inputs)``, with the TensorInfo of
            each output, because its values depend on what is asked for.
        sees_inputs: Whether it is given the TensorInfo of each input too, behind those of the
            outputs, because it rounds to steps that follow from theirs. Such a one is ``typed``.
        stored: Whether it is given stored values, without decoding, and returns such.
        into: Whether it takes the keyword ``out``, the memory of its output, and writes there. A
            workload gives it where inputs and output store alike; it may be an input's memory, as
            the layer table's ``in_place`` says.

    A layer type that the layer table says ``moves_data`` is given the stored values, if inputs and
    outputs store alike. The others work on real values: quantized, Float16 and BFloat16 tensors
    arrive as float32; Float32, Float64, integers and Booleans as they are. NumPy's floating-point
    warnings are switched off while it runs.
    """

    layer: str
    function: Callable[..., Array | tuple[Array, ...]]
    typed: bool
    sees_inputs: bool
    stored: bool
    into: bool


OPS: dict[str, Op] = {}
"""The operations of the families that were imported, by the name of their layer type."""

_F = TypeVar("_F", bound=Callable[..., "Array | tuple[Array, ...]"])


def op(
    layer: str,
    *,
    typed: bool = False,
    sees_inputs: bool = False,
    stored: bool = False,
    into: bool = False,
) -> Callable[[_F], _F]:
    """Enter the decorated function into the table; see :class:`Op`.

    Raises:
        ValueError: The layer type has an operation already.
    """

    def enter(function: _F) -> _F:
        if layer in OPS:
            raise ValueError(f"the layer type {layer!r} has two operations: keep one of them")
        OPS[layer] = Op(layer, function, typed, sees_inputs, stored, into)
        return function

    return enter
