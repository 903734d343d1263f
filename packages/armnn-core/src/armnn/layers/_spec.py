# SPDX-License-Identifier: MIT
"""The layer table: one record per layer type.

Everything else about a layer type derives from its record. A layer type is declared by decorating
its descriptor, whose class has the name of the layer type::

    @layer(52, inputs=[slot("input")], infer=_softmax)
    class SoftmaxDescriptor(Descriptor):
        '''exp(beta * x) normalized along ``axis``.'''

        beta: float = 1.0
        axis: int = -1

The Backend API version that a layer needs is that of the youngest item that it uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeAlias, TypedDict, TypeVar, Unpack

from numpy.typing import NDArray

from armnn.arguments import with_article
from armnn.errors import InvalidArgumentError, ShapeError, UnknownNameError
from armnn.layers._descriptor import Descriptor, Version, descriptor
from armnn.tensor import Shape, TensorInfo
from armnn.types import ArmnnEnum, DataType

Terms: TypeAlias = "Callable[[Any, tuple[int, ...]], int]"
"""From descriptor and shape of the first input to the number of terms of an output's element."""


@dataclass(frozen=True, slots=True)
class Numerics:
    """The effects of rounding and extreme values in a layer type.

    Tools that compare backends allow for it. The default is right for layers that compute each
    element by a few operations.

    Attributes:
        terms: About how many terms are summed up in each element of an output, for the rounding
            noise. None for its multiply-adds, or for the elements of the first input, per element
            of the outputs.
        linear: Whether its elements are sums of products of its inputs: of their squares it makes
            the squared size of the sums.
        averages: Whether its elements are averages, which are never larger than the largest of
            their terms.
        sums: Whether its elements are sums of another kind.
        rounds_inside: Whether it rounds inner tensors to steps, so that an output may be off by
            two steps.
        picks: The output that holds the indices of elements picked along an axis, None without one.
        decides: Whether one decision moves many outputs.
        overflows: Why a partial result may overflow where the result is a number; "" if none does
            but that of a sum.
        allowed: Returns the error that the definition of the layer allows, as a part of the largest
            element; None for rounding alone.
    """

    terms: int | Terms | None = None
    linear: bool = False
    averages: bool = False
    sums: bool = False
    rounds_inside: bool = False
    picks: int | None = None
    decides: bool = False
    overflows: str = ""
    allowed: Callable[[Any], float] | None = None

    @property
    def is_sum(self) -> bool:
        """Whether its elements are sums, in an order that a backend chooses."""
        return self.linear or self.averages or self.sums


PLAIN = Numerics()
"""Each element is computed by a few operations."""


def along_axis(descriptor: Any, shape: tuple[int, ...]) -> int:
    """Return the length of the axis that the parameter ``axis`` names."""
    length: int = shape[descriptor.axis] if shape else 1
    return length


def within_item(_descriptor: Any, shape: tuple[int, ...]) -> int:
    """Return the number of elements of one item of a batch."""
    return math.prod(shape[1:])


_D = TypeVar("_D", bound=Descriptor)


class _Traits(TypedDict, total=False):
    """Attributes of few layer types; see :class:`LayerSpec`."""

    no_kernel: str
    data_dependent: bool
    since: Version
    count_outputs: Callable[[Any], int]
    moves_data: bool
    in_place: str
    axes: str
    multiply_adds: ProductCount
    numerics: Numerics


AxisFunction: TypeAlias = "Callable[[Any, TensorInfo, Shape | None], int | None]"
"""From descriptor, info of the input and shape of the output to the quantization axis there.

It is called for inputs of per-axis quantization only; None drops the scales.
"""


@dataclass(frozen=True, slots=True)
class InputSlot:
    """One input of a layer type.

    Attributes:
        name: The field's word for it ("input", "weights").
        optional: Whether the layer works without it.
        variadic: Whether any number of values may stand here (only the last slot may).
        fills: The descriptor field whose place the value takes. Such an input is resolved when a
            network is specialized: its value moves into the descriptor, so backends never see it.
        shapes_output: Whether the value decides about shapes: the shape function reads it (true for
            all that ``fills``), or it is a condition.
        finite: Whether its numbers must be finite.
        doc: Its content, for the documentation.
    """

    name: str
    optional: bool = False
    variadic: bool = False
    fills: str | None = None
    shapes_output: bool = False
    finite: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True)
class OutputSlot:
    """One output of a layer type.

    Attributes:
        name: The field's word for it.
        like: The input whose data type and quantization the output has unless the caller says
            otherwise; "" for none.
        data_types: The types the output may have, the default first; empty for any, as ``like``.
        variadic: Whether the layer has as many of it as its descriptor says.
        axis: Where the quantization axis of ``like`` goes. Without it, scales per axis do not
            survive: the maker of the layer says those of the output.
        doc: Its content, for the documentation.
    """

    name: str
    like: str = ""
    data_types: tuple[DataType, ...] = ()
    variadic: bool = False
    axis: AxisFunction | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a layer for its shape function.

    ``values`` holds the data of those inputs that are known before the network runs.
    """

    spec: LayerSpec
    infos: tuple[TensorInfo | None, ...]
    values: tuple[NDArray[Any] | None, ...]

    def __init__(
        self,
        spec: LayerSpec,
        infos: tuple[TensorInfo | None, ...],
        values: tuple[NDArray[Any] | None, ...],
    ) -> None:
        assign = object.__setattr__  # one for each inference: a tenth of the time
        assign(self, "spec", spec)
        assign(self, "infos", infos)
        assign(self, "values", values)

    def __getitem__(self, name: str) -> TensorInfo:
        """Return the info of a required input.

        Raises:
            ShapeError: It is absent.
        """
        info = self.get(name)
        if info is None:
            raise ShapeError(f"the input {name!r} is missing")
        return info

    def get(self, name: str) -> TensorInfo | None:
        """Return an optional input's info, None if it is absent."""
        index = self.spec.input_index(name)
        return self.infos[index] if index < len(self.infos) else None

    def shape(self, name: str) -> Shape:
        """Return the shape of a required input.

        Raises:
            ShapeError: Not even its rank is known; shape functions run only when it is.
        """
        shape = self[name].shape
        if shape is None:
            raise ShapeError(f"the rank of the input {name!r} is not known")
        return shape

    def sizes(self, name: str) -> tuple[int, ...]:
        """Return the shape of an input in numbers; an absent one has no elements."""
        info = self.get(name)
        return (0,) if info is None else info.static_shape

    def value(self, name: str) -> NDArray[Any] | None:
        """Return an input's data, None if absent or unknown."""
        index = self.spec.input_index(name)
        return self.values[index] if index < len(self.values) else None

    def awaits(self, field: str) -> bool:
        """Return whether a field waits for an input's value."""
        return any(
            input_slot.fills == field and info is not None and value is None
            for input_slot, info, value in zip(
                self.spec.inputs, self.infos, self.values, strict=False
            )
        )

    def variadic(self) -> list[TensorInfo]:
        """Return the infos of the variadic inputs."""
        start = len(self.spec.inputs) - 1
        return [info for info in self.infos[start:] if info is not None]


Shapes: TypeAlias = "Sequence[Shape | None]"
"""One shape per output.

Unknown dimensions are None or a name; None for a shape means that not even the rank is known.
"""

ShapeFunction: TypeAlias = "Callable[[Any, Inputs], Shapes]"
"""From descriptor and inputs to one shape per output.

Raises ShapeError when the inputs do not fit each other or the descriptor.
"""

ProductCount: TypeAlias = "Callable[[Any, Inputs, Sequence[TensorInfo]], int]"
"""From descriptor, inputs and outputs of known shapes to the number of multiply-adds."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """One row of the layer table.

    Attributes:
        name: Arm NN's name of the layer type.
        number: Arm NN's number; from 1000 for types that Arm NN lacks.
        descriptor: The class of its parameters.
        inputs: Its inputs in slot order.
        outputs: Its outputs in slot order.
        infer: Its shape function.
        no_kernel: Why no backend computes it ("" for most: they do).
        data_dependent: Whether an output's shape depends on computed data (NonZero, for one).
        since: The Backend API version that introduced it.
        count_outputs: For a variadic output: how many the descriptor asks for.
        moves_data: Whether each element of an output is one of an input, copied without decoding.
        in_place: The input of which the first output is a changed copy, "" for none: where both are
            the same memory, a backend writes only what changes. Both may be so if no other layer
            reads the input.
        axes: The meaning of its tensors' axes, where their number is fixed; "" for any number.
        multiply_adds: Counts the multiplications whose products it adds up, None for layers that
            sum no products.
        numerics: The effects of rounding and extreme values.
        is_variadic: Whether the last input takes any number of values.
        has_filling: Whether an input's value may fill a field of the descriptor.
        reads_data: Whether the value of an input may decide about shapes.
    """

    name: str
    number: int
    descriptor: type[Descriptor]
    inputs: tuple[InputSlot, ...]
    outputs: tuple[OutputSlot, ...]
    infer: ShapeFunction
    no_kernel: str = ""
    data_dependent: bool = False
    since: Version = (1, 0)
    count_outputs: Callable[[Any], int] | None = None
    moves_data: bool = False
    in_place: str = ""
    axes: str = ""
    multiply_adds: ProductCount | None = None
    numerics: Numerics = PLAIN
    is_variadic: bool = field(init=False, default=False)
    has_filling: bool = field(init=False, default=False)
    reads_data: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Cache the facts that are often asked of each layer."""
        note = object.__setattr__
        note(self, "is_variadic", bool(self.inputs) and self.inputs[-1].variadic)
        note(self, "has_filling", any(each.fills is not None for each in self.inputs))
        note(self, "reads_data", any(each.shapes_output for each in self.inputs))

    @property
    def family(self) -> str:
        """The family, named after the module that declares it."""
        return self.descriptor.__module__.rpartition(".")[2]

    def input_index(self, name: str) -> int:
        """Return the position of an input.

        Raises:
            UnknownNameError: The layer has no such input; it is a KeyError.
        """
        for index, input_slot in enumerate(self.inputs):
            if input_slot.name == name:
                return index
        known = ", ".join(repr(each.name) for each in self.inputs) or "none"
        raise UnknownNameError(
            f"{with_article(self.name)} layer has no input {name!r}: it has {known}"
        )

    def input_slot(self, index: int) -> InputSlot:
        """Return the slot of input number ``index``."""
        return self.inputs[min(index, len(self.inputs) - 1)]

    def output_slots(self, descriptor: Descriptor) -> tuple[OutputSlot, ...]:
        """Return the slots of a layer's outputs, one per output."""
        if self.count_outputs is None:
            return self.outputs
        *fixed, variadic = self.outputs
        return (*fixed, *[variadic] * (self.count_outputs(descriptor) - len(fixed)))


LAYERS: dict[str, LayerSpec] = {}
"""The layer table: every layer type by name; ``armnn.layers`` imports all families."""


def same_axis(_descriptor: Any, info: TensorInfo, shape: Shape | None) -> int | None:
    """Return the quantized axis if the shape is unchanged.

    See ``OutputSlot.axis``.
    """
    return info.axis if shape == info.shape else None


def slot(
    name: str,
    doc: str = "",
    *,
    optional: bool = False,
    variadic: bool = False,
    fills: str | None = None,
    shapes_output: bool = False,
    finite: bool = False,
) -> InputSlot:
    """Declare an input of a layer type; see :class:`InputSlot`."""
    reads = shapes_output or fills is not None
    return InputSlot(name, optional, variadic, fills, reads, finite, doc)


def filling(field: str, doc: str) -> InputSlot:
    """Declare an optional input that replaces the field's value.

    It has the same name as the field.
    """
    return slot(field, doc, optional=True, fills=field)


def result(
    name: str = "output",
    doc: str = "",
    *,
    like: str = "input",
    data_types: Iterable[DataType] = (),
    variadic: bool = False,
    axis: AxisFunction | None = None,
) -> OutputSlot:
    """Declare an output of a layer type; see :class:`OutputSlot`."""
    types = tuple(data_types)
    return OutputSlot(name, "" if types else like, types, variadic, axis, doc)


_OUTPUT = result()


def _same_as_input(_descriptor: Any, inputs: Inputs) -> Sequence[Shape]:
    """Return the shape of the first input."""
    return [inputs.shape(inputs.spec.inputs[0].name)]


def layer(
    number: int,
    *,
    inputs: Iterable[InputSlot] = (),
    outputs: Iterable[OutputSlot] = (_OUTPUT,),
    infer: ShapeFunction = _same_as_input,
    **traits: Unpack[_Traits],
) -> Callable[[type[_D]], type[_D]]:
    """Enter the decorated descriptor into the layer table.

    The layer type is named after the class, which becomes a dataclass.

    Args:
        number: See :class:`LayerSpec`.
        inputs: Its inputs in slot order.
        outputs: Its outputs in slot order; one that is like the input if left out.
        infer: Its shape function; the output has the shape of the first input if left out.
        traits: The other attributes of :class:`LayerSpec`.

    Raises:
        InvalidArgumentError: The name or the number is taken, or the slots are not well formed.
    """

    def enter(kind: type[_D]) -> type[_D]:
        made, name = descriptor(kind), kind.__name__.removesuffix("Descriptor")
        spec = LayerSpec(name, number, made, tuple(inputs), tuple(outputs), infer, **traits)
        _check_spec(spec)
        LAYERS[spec.name] = spec
        return made

    return enter


def _check_spec(spec: LayerSpec) -> None:
    for other in LAYERS.values():
        if spec.name == other.name or spec.number == other.number:
            raise InvalidArgumentError(
                f"the layer type {spec.name!r} ({spec.number}) clashes with {other.name!r} "
                f"({other.number}): choose another name and number"
            )
    names = [input_slot.name for input_slot in spec.inputs]
    if len(set(names)) != len(names) or any(s.variadic for s in spec.inputs[:-1]):
        raise InvalidArgumentError(
            f"the inputs of the layer type {spec.name!r} need different names, and only the last "
            f"may be variadic: got {names}"
        )
    parameters = {field.name for field in fields(spec.descriptor)}
    for input_slot in spec.inputs:
        if input_slot.fills is not None and input_slot.fills not in parameters:
            raise InvalidArgumentError(
                f"the input {input_slot.name!r} of {spec.name!r} fills {input_slot.fills!r}, which "
                f"{spec.descriptor.__name__} does not have"
            )
    if spec.in_place and spec.in_place not in names:
        raise InvalidArgumentError(
            f"the layer type {spec.name!r} changes {spec.in_place!r} in place, which is not an "
            "input of it"
        )
    for output_slot in spec.outputs:
        if output_slot.like and output_slot.like not in names:
            raise InvalidArgumentError(
                f"the output {output_slot.name!r} of {spec.name!r} is like {output_slot.like!r}, "
                "which is not an input of it"
            )


class RequiredApi(NamedTuple):
    """The Backend API that a layer needs, and the item that needs it.

    Attributes:
        version: Major and minor number of the Backend API.
        item: The thing that needs it, for people: "the field 'x' of Convolution2d".
    """

    version: Version
    item: str


def required_api(
    spec: LayerSpec, descriptor: Descriptor, infos: Iterable[TensorInfo | None]
) -> RequiredApi:
    """Return the Backend API version that a layer needs.

    Args:
        spec: The layer type.
        descriptor: Its parameters; a field with its default value needs nothing, as a backend that
            does not know the field does the same.
        infos: The infos of its inputs and outputs; None for an absent input.
    """
    # max() keeps the first of equals.
    needs = [RequiredApi(spec.since, f"the layer type {spec.name}")]
    needs += _items(spec, descriptor, infos)
    return needs[0] if len(needs) == 1 else max(needs, key=lambda need: need.version)


def _items(
    spec: LayerSpec, descriptor: Descriptor, infos: Iterable[TensorInfo | None]
) -> Iterator[RequiredApi]:
    """Yield the fields and data types of a layer that are newer than its layer type."""
    for each in _young_fields(type(descriptor), spec.since):
        value = getattr(descriptor, each.name)
        since = each.metadata.get("since")
        if since is not None and since > spec.since and value != each.default:
            yield RequiredApi(since, f"the field {each.name!r} of {spec.name}")
        if isinstance(value, ArmnnEnum) and value.since > spec.since:
            yield RequiredApi(value.since, f"{value.arm_name} as {each.name!r} of {spec.name}")
    for info in infos:
        if info is not None and info.data_type.since > spec.since:
            yield RequiredApi(info.data_type.since, f"the data type {info.data_type.arm_name}")


def _young_fields(kind: type[Descriptor], since: Version) -> tuple[Any, ...]:
    """Return the fields that may need more than a version."""
    known = _young.get((kind, since))
    if known is None:
        known = _young[kind, since] = tuple(
            [
                field
                for field in fields(kind)
                if field.metadata.get("since", since) > since
                or (isinstance(field.default, ArmnnEnum) and _has_younger(field.default, since))
            ]
        )
    return known


_young: dict[tuple[type[Descriptor], Version], tuple[Any, ...]] = {}


def _has_younger(member: ArmnnEnum, since: Version) -> bool:
    return any(each.since > since for each in type(member))
