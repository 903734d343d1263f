# SPDX-License-Identifier: MIT
"""The table of layers, filled by a decorator, and what is asked about their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from armnn.types import DataLayout, DataType
from armnn_backend_cl.device import source_of
from armnn_backend_cl.launches import Launch, Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

Lowering: TypeAlias = Callable[["Layer"], Sequence[Launch]]
"""Returns the launches of a layer; raises :class:`Refused` if it has none."""

LOWERINGS: Final[dict[str, Lowering]] = {}
"""By the name of the layer type."""

MOST_ELEMENTS: Final = 2**31 - 1
"""Of a tensor: kernels count in 32 bits."""

TYPE_NAMES: Final = {DataType.FLOAT32: "float", DataType.BOOLEAN: "uchar"}
"""The types that kernels compute with, in OpenCL C."""

WIDTHS: Final = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
"""The types of elements that are only moved, by their bits."""


_F = TypeVar("_F", bound=Lowering)


def lowers(*layer_types: str) -> Callable[[_F], _F]:
    """Enter the decorated function into the table."""

    def enter(function: _F) -> _F:
        for name in layer_types:
            assert name not in LOWERINGS, name
            LOWERINGS[name] = function
        return function

    return enter


class WrongLayout(Refused):
    """The layer has kernels for another layout."""


def launches_of(layer: Layer) -> Sequence[Launch]:
    """Return the launches of a layer.

    Raises:
        Refused: It has none; the text says why.
    """
    lowering = LOWERINGS.get(layer.type)
    if lowering is None:
        raise Refused(f"GpuAcc has no kernels for {layer.type}")
    for name, info in _named(layer):
        if not info.is_static:
            raise Refused(f"the shape of {name} depends on computed values, expected a known one")
        if info.num_elements > MOST_ELEMENTS:
            raise Refused(
                f"{name} has {info.num_elements} elements, expected at most {MOST_ELEMENTS}"
            )
    return lowering(layer)


def require(layer: Layer, *allowed: DataType, but: Sequence[str] = ()) -> None:
    """Require that all tensors of a layer are of a type.

    Args:
        layer: The layer.
        allowed: The types.
        but: Names of slots that may have others.

    Raises:
        Refused: One is of another type.
    """
    for name, info in _named(layer):
        if name.rpartition(" ")[2].strip("'") in but:
            continue
        if info.data_type not in allowed:
            expected = " or ".join(each.arm_name for each in allowed)
            raise Refused(f"{name} is {info.data_type.arm_name}, expected {expected}")


def width(layer: Layer) -> str:
    """Return the OpenCL type that moves elements of a layer from inputs to outputs.

    Raises:
        Refused: They share bytes, or are not stored alike.
    """
    made = layer.output_infos[0]
    moved = (*(layer.input_infos if layer.spec.is_variadic else layer.input_infos[:1]),)
    for info in (*moved, *layer.output_infos):
        if info is None or not info.is_type_space_match(made) or info.is_per_axis:
            raise Refused("inputs and outputs do not store real values in the same steps")
    bits = made.data_type.bits
    if bits not in WIDTHS:
        raise Refused(f"the output is {made.data_type.arm_name}, expected at least 8 bits")
    return WIDTHS[bits]


def constant(layer: Layer, name: str) -> NDArray[Any] | None:
    """Return the values of an input that must be constant, None of an absent one.

    Raises:
        Refused: It is computed.
    """
    value = layer.input(name)
    if value is None:
        return None
    if value.constant is None:
        raise Refused(f"the input {name!r} is computed by the network, expected a constant")
    return value.constant


def shape_of(info: TensorInfo | None) -> tuple[int, ...]:
    """Return the shape of a tensor that is there."""
    assert info is not None
    return info.static_shape


def require_nhwc(layout: DataLayout) -> None:
    """Require channels last.

    Raises:
        WrongLayout: They are not.
    """
    if layout is not DataLayout.NHWC:
        raise WrongLayout(f"data_layout is {layout.arm_name}, expected NHWC")


def program(*parts: str, **definitions: object) -> str:
    """Return the text of a program.

    Args:
        parts: Generated text, and names of files in ``kernels/`` that end in ``.cl``.
        definitions: Macros, before everything else.
    """
    lines = [f"#define {name} {value}\n" for name, value in definitions.items()]
    files = (source_of(part[:-3]) if part.endswith(".cl") else part for part in parts)
    return "".join([*lines, source_of("prelude"), *files])


def _named(layer: Layer) -> list[tuple[str, TensorInfo]]:
    named = [
        (f"the input {layer.spec.input_slot(place).name!r}", info)
        for place, info in enumerate(layer.input_infos)
        if info is not None
    ]
    slots = layer.spec.output_slots(layer.descriptor)
    named += [
        (f"the output {slot.name!r}", info)
        for slot, info in zip(slots, layer.output_infos, strict=True)
    ]
    return named
