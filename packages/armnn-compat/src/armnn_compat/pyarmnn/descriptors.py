# SPDX-License-Identifier: MIT
"""Layers' parameters with Arm NN's names, views of tensors, and tensors of recurrent layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from armnn.errors import InvalidArgumentError
from armnn.layers import LAYERS, Descriptor, LayerSpec
from armnn.types import ArmnnEnum
from armnn_compat.pyarmnn.tensors import ConstTensor, PermutationVector, TensorShape

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


def _arm_nn_parameters(spec: LayerSpec) -> dict[str, dataclasses.Field[Any]]:
    """Return the parameters that Arm NN has."""
    return {
        _SPELLED_OTHERWISE.get((spec.name, field.name), _arm_name(field.name)): field
        for field in dataclasses.fields(spec.descriptor)
        if field.name not in _BEYOND_ARM_NN
    }


def _arm_nn_flags(spec: LayerSpec) -> dict[str, Any]:
    """Return the parameters that the table has as inputs."""
    flags: dict[str, Any] = {}
    if any(slot.name == _BIASED for slot in spec.inputs):
        flags["m_BiasEnabled"] = False
    if spec.name == "FullyConnected":
        flags["m_ConstantWeights"] = True
    return flags


def _derived(spec: LayerSpec) -> type[LayerDescriptor]:
    """Return the class of a layer type's parameters."""
    return type(
        f"{spec.name}Descriptor",
        (LayerDescriptor,),
        {
            "__doc__": spec.descriptor.__doc__,
            "__module__": __name__,
            "spec": spec,
            "parameters": _arm_nn_parameters(spec),
            "flags": _arm_nn_flags(spec),
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
    f"{spec.name}Descriptor": _derived(spec)
    for spec in LAYERS.values()
    if spec.number < 1000
    and spec.name not in _OWN_CLASS
    and (_arm_nn_parameters(spec) or _arm_nn_flags(spec))
}


class StackDescriptor(_derived(LAYERS["Stack"])):  # type: ignore[misc] # a class made of the table
    """Axis, number of inputs and the shape of each."""

    flags: ClassVar[dict[str, Any]] = {"m_NumInputs": 0, "m_InputShape": None}

    def __init__(
        self, axis: int = 0, numInputs: int = 0, inputShape: TensorShape | None = None
    ) -> None:
        super().__init__(axis)
        self.m_NumInputs = numInputs
        self.m_InputShape = TensorShape.of(()) if inputShape is None else inputShape


class StandInDescriptor(_derived(LAYERS["StandIn"])):  # type: ignore[misc] # the same
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


_DEFAULT_AXIS = 1


class _Views:
    """The origin of each view, one coordinate per dimension."""

    spec: ClassVar[LayerSpec]

    def __init__(self, numViews: int = 0, numDimensions: int | None = None) -> None:
        dimensions = (4 if numViews else 0) if numDimensions is None else numDimensions
        self._dimensions = dimensions
        self._origins = [[0] * dimensions for _ in range(numViews)]

    def GetNumViews(self) -> int:
        """Return the number of views."""
        return len(self._origins)

    def GetNumDimensions(self) -> int:
        """Return the number of dimensions of each."""
        return self._dimensions

    def GetViewOrigin(self, idx: int) -> list[int]:
        """Return a view's coordinates, one per view.

        PyArmNN returns that many too, whatever the number of dimensions.
        """
        return self._origins[idx][: len(self._origins)]

    def SetViewOriginCoord(self, view: int, coord: int, value: int) -> None:
        """Set a coordinate of a view's origin.

        Raises:
            RuntimeError: There is no such view or dimension.
        """
        self._set(self._origins, view, coord, value, "Failed to set view origin coordinates.")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment] # coordinates can be assigned

    def _set(self, table: list[list[int]], view: int, coord: int, value: int, failure: str) -> None:
        if not (0 <= view < len(table) and 0 <= coord < self._dimensions):
            raise RuntimeError(
                f"{failure} There are {len(table)} views of {self._dimensions} dimensions: got "
                f"view {view}, dimension {coord}."
            )
        table[view][coord] = int(value)


class ConcatDescriptor(_Views):
    """Where each input begins in the output, and the axis."""

    spec = LAYERS["Concat"]

    def __init__(self, numViews: int = 0, numDimensions: int | None = None) -> None:
        super().__init__(numViews, numDimensions)
        self._axis = _DEFAULT_AXIS

    def SetConcatAxis(self, concatAxis: int) -> None:
        """Set the axis along which inputs are joined."""
        self._axis = int(concatAxis)

    def GetConcatAxis(self) -> int:
        """Return the axis along which inputs are joined."""
        return self._axis

    def for_core(self) -> Descriptor:
        """Return the descriptor of the layer table."""
        return self.spec.descriptor(axis=self._axis)


class SplitterDescriptor(_Views):
    """Where each output begins in the input, and its size."""

    spec = LAYERS["Splitter"]

    def __init__(self, numViews: int = 0, numDimensions: int | None = None) -> None:
        super().__init__(numViews, numDimensions)
        self._sizes = [[0] * self._dimensions for _ in range(numViews)]

    def GetViewSizes(self, idx: int) -> list[int]:
        """Return a view's sizes, one per view."""
        return self._sizes[idx][: len(self._sizes)]

    def SetViewSize(self, view: int, coord: int, value: int) -> None:
        """Set a size of a view.

        Raises:
            RuntimeError: There is no such view or dimension.
        """
        self._set(self._sizes, view, coord, value, "Failed to set view size.")

    def GetOrigins(self) -> ConcatDescriptor:
        """Return the origins only."""
        made = ConcatDescriptor(len(self._origins), self._dimensions)
        made._origins = [list(origin) for origin in self._origins]
        return made

    def for_core(self) -> Descriptor:
        """Return the descriptor of the layer table.

        Raises:
            InvalidArgumentError: The views do not follow each other along one axis.
        """
        axes = [axis for axis in range(self._dimensions) if any(o[axis] for o in self._origins)]
        axis = axes[0] if axes else 0
        sizes = [size[axis] for size in self._sizes]
        ends = [sum(sizes[:index]) for index in range(len(sizes))]
        if len(axes) > 1 or [origin[axis] for origin in self._origins] != ends:
            raise InvalidArgumentError(
                f"the views begin at {self._origins} and have the sizes {self._sizes}: expected "
                "views that follow each other along one axis"
            )
        return self.spec.descriptor(axis=axis, sizes=tuple(sizes))


def CreateDescriptorForConcatenation(
    shapes: Sequence[TensorShape], concatenationDimension: int
) -> ConcatDescriptor:
    """Return the parameters that join tensors of these shapes.

    Args:
        shapes: The shapes of the inputs.
        concatenationDimension: The axis.

    Raises:
        TypeError: One of them is no TensorShape.
        RuntimeError: They differ along another axis, or there are fewer than two.
    """
    if not all(isinstance(each, TensorShape) for each in shapes):
        raise TypeError(
            "in method 'CreateDescriptorForConcatenation', argument 1 of type 'std::vector< "
            "armnn::TensorShape,std::allocator< armnn::TensorShape > >': got "
            f"{shapes!r}, expected a list of TensorShape"
        )
    if len(shapes) < 2:
        raise RuntimeError("Concatenation requires at least 2 inputs")
    axis = concatenationDimension
    others = {tuple(shape)[:axis] + tuple(shape)[axis + 1 :] for shape in shapes}
    if len(others) > 1 or not 0 <= axis < len(shapes[0]):
        raise RuntimeError(
            "All inputs to concatenation must be the same size along all dimensions  except the "
            f"concatenation dimension {concatenationDimension}: got {list(map(tuple, shapes))}"
        )
    made = ConcatDescriptor(len(shapes), len(shapes[0]))
    made.SetConcatAxis(concatenationDimension)
    start = 0
    for view, shape in enumerate(shapes):
        made.SetViewOriginCoord(view, concatenationDimension, start)
        start += shape[concatenationDimension]
    return made


_TENSORS = ("_weights", "_bias")
"""How the inputs end that Arm NN takes as members of the layer."""


def parameter_slots(spec: LayerSpec) -> list[str]:
    """Return the inputs that are members in Arm NN."""
    if spec.name not in PARAMETERS:
        return []
    return [slot.name for slot in spec.inputs if slot.name.endswith(_TENSORS)]


class LstmInputParams:
    """The weights and biases of an Lstm layer.

    Raises:
        AttributeError: There is no such tensor.
        TypeError: The value is no ConstTensor.
    """

    _names: ClassVar[dict[str, str]]

    def __init__(self) -> None:
        self.__dict__.update(dict.fromkeys(self._names))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(
                f"{type(self).__name__} has no tensor {name!r}: it has {', '.join(self._names)}"
            )
        if value is not None and not isinstance(value, ConstTensor):
            raise TypeError(f"{name} is {value!r}: expected a ConstTensor or None")
        self.__dict__[name] = value

    def tensors(self, spec: LayerSpec) -> dict[str, ConstTensor]:
        """Return the tensors that are there, by the table's names."""
        known = set(parameter_slots(spec))
        found = {slot: self.__dict__[name] for name, slot in self._names.items()}
        return {slot: each for slot, each in found.items() if each is not None and slot in known}


class QuantizedLstmInputParams(LstmInputParams):
    """The weights and biases of a QuantizedLstm layer."""


PARAMETERS: dict[str, type[LstmInputParams]] = {
    "Lstm": LstmInputParams,
    "QLstm": LstmInputParams,
    "QuantizedLstm": QuantizedLstmInputParams,
    "UnidirectionalSequenceLstm": LstmInputParams,
}
"""The classes of recurrent layers' tensors by layer type."""


def _arm_names(layer_type: str) -> dict[str, str]:
    slots = parameter_slots(LAYERS[layer_type])
    return {"m_" + "".join(word.capitalize() for word in slot.split("_")): slot for slot in slots}


LstmInputParams._names = _arm_names("Lstm")
QuantizedLstmInputParams._names = _arm_names("QuantizedLstm")
