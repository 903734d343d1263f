# SPDX-License-Identifier: MIT
"""Layers' parameters with Arm NN's names.

A parameter ``pad_left`` of the table is ``m_PadLeft`` here; the arguments of a constructor are the
parameters in the table's order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from armnn.layers import LAYERS, Descriptor, LayerSpec
from armnn.types import ArmnnEnum
from armnn_compat.pyarmnn.shapes import PermutationVector, TensorShape

_BEYOND_ARM_NN = {
    "column_row_depth",
    "cubic_coefficient",
    "exclude_outside",
    "rounding",
    "saturate",
    "scale_height",
    "scale_width",
    "select_last_index",
    "zero_copies",
}
"""Parameters of the table that no layer of Arm NN has."""

_SPELLED_OTHERWISE = {("Reduce", "axis"): "m_vAxis"}
_OF_THE_LAYER: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "dim_mappings": PermutationVector,
    "target_shape": TensorShape.of,
}
"""Parameters that PyArmNN has a class for."""

_BIASED = "bias"


class LayerDescriptor:
    """The parameters of a layer.

    Raises:
        TypeError: A value is of another kind, or there are too many.
        AttributeError: There is no such parameter.
    """

    spec: ClassVar[LayerSpec]
    parameters: ClassVar[dict[str, dataclasses.Field[Any]]]
    """The fields of the table by Arm NN's names."""
    flags: ClassVar[dict[str, Any]]
    """Parameters that the table has as inputs, with their defaults."""

    def __init__(self, *values: Any) -> None:
        for name, field in self.parameters.items():
            object.__setattr__(self, name, _first_value(field))
        self.__dict__.update(self.flags)
        if len(values) > len(self.parameters):
            raise TypeError(
                f"Wrong number or type of arguments for {type(self).__name__}: got "
                f"{len(values)}, expected at most {', '.join(self.parameters)}"
            )
        for name, value in zip(self.parameters, values, strict=False):
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.parameters:
            value = _converted(value, self.parameters[name])
        elif name not in self.flags:
            known = ", ".join([*self.parameters, *self.flags]) or "none"
            raise AttributeError(f"{type(self).__name__} has no parameter {name!r}: it has {known}")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment] # parameters can be assigned

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({values})"

    @property
    def has_bias(self) -> bool:
        """Whether the layer has an input for a bias."""
        return bool(self.__dict__.get("m_BiasEnabled", False))

    def for_core(self) -> Descriptor:
        """Return the descriptor of the layer table.

        Raises:
            InvalidArgumentError: A parameter is outside of its range.
        """
        return self.spec.descriptor(
            **{field.name: _plain(getattr(self, at)) for at, field in self.parameters.items()}
        )


def arm_nn_parameters(spec: LayerSpec) -> dict[str, dataclasses.Field[Any]]:
    """Return the parameters that Arm NN has."""
    return {
        _SPELLED_OTHERWISE.get((spec.name, field.name), _arm_name(field.name)): field
        for field in dataclasses.fields(spec.descriptor)
        if field.name not in _BEYOND_ARM_NN
    }


def arm_nn_flags(spec: LayerSpec) -> dict[str, Any]:
    """Return the parameters that the table has as inputs."""
    flags: dict[str, Any] = {}
    if any(slot.name == _BIASED for slot in spec.inputs):
        flags["m_BiasEnabled"] = False
    if spec.name == "FullyConnected":
        flags["m_ConstantWeights"] = True
    return flags


def derived(spec: LayerSpec) -> type[LayerDescriptor]:
    """Return the class of a layer type's parameters."""
    return type(
        f"{spec.name}Descriptor",
        (LayerDescriptor,),
        {
            "__doc__": spec.descriptor.__doc__,
            "__module__": __name__,
            "spec": spec,
            "parameters": arm_nn_parameters(spec),
            "flags": arm_nn_flags(spec),
        },
    )


def _arm_name(name: str) -> str:
    return "m_" + "".join(word.capitalize() for word in name.split("_"))


def _first_value(field: dataclasses.Field[Any]) -> Any:
    default: Any = field.default
    if field.name in _OF_THE_LAYER:
        return _OF_THE_LAYER[field.name](default)
    if isinstance(default, ArmnnEnum):
        return int(default)
    return list(default) if isinstance(default, tuple) else default


def _converted(value: Any, field: dataclasses.Field[Any]) -> Any:
    """Return a value of the parameter's kind."""
    made: Any
    if field.name in _OF_THE_LAYER:
        expected = type(_first_value(field))
        if not isinstance(value, expected):
            raise TypeError(_refusal(value, expected.__name__))
        return value
    if not isinstance(field.default, tuple):
        kind: Any = int if isinstance(field.default, ArmnnEnum) else type(field.default)
        if not isinstance(value, (bool, int, float)) or (kind is int and isinstance(value, float)):
            raise TypeError(_refusal(value, kind.__name__))
        return kind(value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(_refusal(value, "a sequence"))
    if field.type == "tuple[tuple[int, int], ...]":
        return [_pair(each) for each in value]
    least = field.metadata["limits"].at_least if "limits" in field.metadata else None
    for made in value:
        if isinstance(made, bool) or not isinstance(made, int) or (least is not None and made < 0):
            raise TypeError(_refusal(made, "j"))
    return list(value)


def _pair(value: Any) -> tuple[int, int]:
    is_pair = isinstance(value, Sequence) and len(value) == 2
    if not is_pair or not all(isinstance(each, int) and each >= 0 for each in value):
        raise TypeError(_refusal(value, "std::pair< unsigned int,unsigned int >"))
    return (value[0], value[1])


def _refusal(value: Any, kind: str) -> str:
    return (
        f"Failed to convert python input value {value!r} of type {type(value).__name__!r} to C "
        f"type {kind!r}"
    )


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, PermutationVector, TensorShape)) else value


_OWN_CLASS = ("Concat", "Splitter", "Stack", "StandIn")
"""Layer types whose parameters Arm NN has in another form."""

_DERIVED = {
    f"{spec.name}Descriptor": derived(spec)
    for spec in LAYERS.values()
    if spec.number < 1000
    and spec.name not in _OWN_CLASS
    and (arm_nn_parameters(spec) or arm_nn_flags(spec))
}


class StackDescriptor(derived(LAYERS["Stack"])):  # type: ignore[misc] # a class made of the table
    """Axis, number of inputs and the shape of each."""

    flags: ClassVar[dict[str, Any]] = {"m_NumInputs": 0, "m_InputShape": None}

    def __init__(
        self, axis: int = 0, numInputs: int = 0, inputShape: TensorShape | None = None
    ) -> None:
        super().__init__(axis)
        self.m_NumInputs = numInputs
        self.m_InputShape = TensorShape.of(()) if inputShape is None else inputShape


class StandInDescriptor(derived(LAYERS["StandIn"])):  # type: ignore[misc] # the same
    """The numbers of inputs and outputs."""

    flags: ClassVar[dict[str, Any]] = {"m_NumInputs": 0}

    def __init__(self, numInputs: int = 0, numOutputs: int = 0) -> None:
        super().__init__(numOutputs)
        self.m_NumInputs = numInputs


DERIVED: dict[str, type[LayerDescriptor]] = {
    **_DERIVED,
    "StackDescriptor": StackDescriptor,
    "StandInDescriptor": StandInDescriptor,
}
"""The classes by name."""
