# SPDX-License-Identifier: MIT
"""The table of layers, filled by a decorator, and the checks of their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from armnn.types import DataLayout, DataType, QuantizedArithmetic
from armnn_backend_cl.device import source_of
from armnn_backend_cl.elements import INTEGERS, QUANTIZED, REALS, stored_alike, width_of
from armnn_backend_cl.launches import Launch, Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer
    from armnn.tensor import TensorInfo

Lowering: TypeAlias = Callable[["Layer"], Sequence[Launch]]
"""Returns the launches of a layer; raises :class:`Refused` if it has none."""

LOWERINGS: Final[dict[str, Lowering]] = {}
"""By the name of the layer type."""

_STEPS_IN_TURN: Final = "each time step waits for the one before, and is too little work for a GPU"
_THREE_AXES: Final = "GpuAcc has kernels for two spatial axes only"

REASONS: Final = {
    "Convolution3d": _THREE_AXES,
    "Fill": "the shape of its output is the value of an input, which is in host memory",
    "Lstm": _STEPS_IN_TURN,
    "Pooling3d": _THREE_AXES,
    "QLstm": _STEPS_IN_TURN,
    "QuantizedLstm": _STEPS_IN_TURN,
    "Rank": "the optimizer replaces it by a constant",
    "ScatterNd": (
        "several updates of one element have to be applied in order, which parallel work items do "
        "not do"
    ),
    "UnidirectionalSequenceLstm": _STEPS_IN_TURN,
}
"""Why layers that Arm NN's GpuAcc has are not here."""

MOST_ELEMENTS: Final = 2**31 - 1
"""Of a tensor: kernels count in 32 bits."""

_F = TypeVar("_F", bound=Lowering)


def lowers(*layer_types: str) -> Callable[[_F], _F]:
    """Enter the decorated function into the table."""

    def enter(function: _F) -> _F:
        for name in layer_types:
            assert name not in LOWERINGS, name
            LOWERINGS[name] = function
        return function

    return enter


StepsLowering: TypeAlias = Callable[["Layer", bool], "Sequence[Launch] | None"]
"""Returns the launches of a quantized layer in whole numbers, None if it has none.

It is told whether the network is rounded as TensorFlow Lite does (QuantizedArithmetic.INTEGER).
"""

STEPS: Final[dict[str, StepsLowering]] = {}
"""By the name of the layer type."""

_G = TypeVar("_G", bound=StepsLowering)


def lowers_steps(*layer_types: str) -> Callable[[_G], _G]:
    """Enter the decorated function into the table of quantized layers."""

    def enter(function: _G) -> _G:
        for name in layer_types:
            assert name not in STEPS, name
            STEPS[name] = function
        return function

    return enter


class WrongLayout(Refused):
    """The layer has kernels for another layout."""


def launches_of(layer: Layer, arithmetic: QuantizedArithmetic) -> Sequence[Launch]:
    """Return the launches of a layer.

    Args:
        layer: The layer.
        arithmetic: How quantized layers round.

    Raises:
        Refused: It has none; the text says why.
    """
    lowering = LOWERINGS.get(layer.type)
    if lowering is None:
        raise Refused(REASONS.get(layer.type, f"GpuAcc has no kernels for {layer.type}"))
    for name, info in _named(layer):
        if not info.is_static:
            raise Refused(f"the shape of {name} depends on computed values, expected a known one")
        if info.num_elements > MOST_ELEMENTS:
            raise Refused(
                f"{name} has {info.num_elements} elements, expected at most {MOST_ELEMENTS}"
            )
    in_steps = STEPS.get(layer.type)
    is_integer = arithmetic is QuantizedArithmetic.INTEGER
    launches = None if in_steps is None else in_steps(layer, is_integer)
    return lowering(layer) if launches is None else launches


def require(layer: Layer, *allowed: DataType, but: Sequence[str] = ()) -> None:
    """Require that all tensors of a layer are of a type.

    Args:
        layer: The layer.
        allowed: The types.
        but: Names of slots that may have others.

    Raises:
        Refused: One is of another type.
    """
    for name, info in _named(layer, but):
        if info.data_type not in allowed:
            raise Refused(f"{name} is {info.data_type.arm_name}, expected {_listed(allowed)}")


def width(layer: Layer) -> str:
    """Return the OpenCL type that moves elements of a layer from inputs to outputs.

    Raises:
        Refused: They share bytes, or are not stored alike.
    """
    moved = layer.input_infos if layer.spec.is_variadic else layer.input_infos[:1]
    if not stored_alike(*layer.output_infos, *moved):
        raise Refused("inputs and outputs do not store real values in the same steps")
    return width_of(layer.output_infos[0])


def require_alike(layer: Layer, allowed: Sequence[DataType], *, but: Sequence[str] = ()) -> None:
    """Require that all tensors of a layer are real, or all of one other type.

    Args:
        layer: The layer.
        allowed: The types.
        but: Names of slots that may have others.

    Raises:
        Refused: They are not.
    """
    require(layer, *allowed, but=but)
    (first, info), *others = _named(layer, but)
    for name, other in others:
        same = other.data_type is info.data_type
        if not same and not (other.data_type in REALS and info.data_type in REALS):
            raise Refused(
                f"{name} is {other.data_type.arm_name}, expected {info.data_type.arm_name} as "
                f"{first}"
            )


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


def _listed(kinds: Sequence[DataType]) -> str:
    """Return types in words; all quantized ones or integers have one."""
    words = [each.arm_name for each in kinds if each not in QUANTIZED and each not in INTEGERS]
    words += ["a quantized type"] if set(QUANTIZED) <= set(kinds) else []
    if set(INTEGERS) <= set(kinds):
        words.append("an integer")
    else:
        words += [each.arm_name for each in kinds if each in INTEGERS]
    *front, last = words
    return f"{', '.join(front)} or {last}" if front else last


def _named(layer: Layer, but: Sequence[str] = ()) -> list[tuple[str, TensorInfo]]:
    """Return the tensors of a layer with their names, without those of the slots ``but``."""
    inputs = [
        (layer.spec.input_slot(place).name, info) for place, info in enumerate(layer.input_infos)
    ]
    slots = layer.spec.output_slots(layer.descriptor)
    outputs = zip((slot.name for slot in slots), layer.output_infos, strict=True)
    return [
        (f"the {kind} {name!r}", info)
        for kind, named in (("input", inputs), ("output", outputs))
        for name, info in named
        if info is not None and name not in but
    ]
