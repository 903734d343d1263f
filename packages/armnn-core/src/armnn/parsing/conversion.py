# SPDX-License-Identifier: MIT
"""From operators of a file to layers: refusals, deferral, names, axes, shapes, files beside it.

``docs/writing-a-parser.md`` shows a parser that is made of it. A model is untrusted: without the
checks of files a model could name ``/etc/passwd``, or a device that never ends, as its weights.
"""

from __future__ import annotations

import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn._process_memory import HugePages, map_file
from armnn._symbolic import is_symbolic
from armnn.errors import (
    ArmnnError,
    ModelFileError,
    ModelFileNotFoundError,
    ParseError,
    ShapeError,
    UnsupportedOperatorError,
)
from armnn.graph import (
    DeferredOperator,
    Network,
    Operator,
    OperatorCall,
    OperatorRegistration,
    Operators,
    Survey,
    Value,
    registered_operators,
)
from armnn.graph._operands import without_trailing_none
from armnn.graph.python_operators import PYTHON
from armnn.layers import LAYERS
from armnn.layers.plumbing import StandInDescriptor
from armnn.parsing import is_below, resolved_below
from armnn.tensor import Dimension, Shape, TensorInfo
from armnn.types import ComparisonOperation, DataType, LogicalBinaryOperation

__all__ = [
    "Conversion",
    "Converted",
    "HugePages",
    "NotKnownYetError",
    "Operation",
    "RefusedError",
    "ValueTable",
    "add_layer",
    "add_operator",
    "add_stand_in",
    "cast",
    "check_model_file",
    "compare",
    "logical",
    "map_file",
    "model_content",
    "open_beside",
    "operator_types",
    "path_beside",
    "reshape",
    "reshape_target",
    "same_padding",
    "shape_vector",
    "static_shape",
    "transpose",
    "type_of_number",
    "unreadable",
    "values_of",
]


class RefusedError(Exception):
    """Layers cannot compute an operator; the message says why."""


class NotKnownYetError(RefusedError):
    """An operator must wait for more knowledge of its inputs.

    Attributes:
        awaited: The index of the input whose data must be known; None if a shape is missing.
        grows: Whether the data only says how large outputs become, which states do not.
    """

    def __init__(self, message: str, awaited: int | None = None, *, grows: bool = False) -> None:
        super().__init__(message)
        self.awaited, self.grows = awaited, grows


def type_of_number(
    number: int, known: Mapping[int, DataType], lacking: Mapping[int, str]
) -> DataType:
    """Return the data type of a format's type number.

    Args:
        number: The number.
        known: The data types by number.
        lacking: The names of types that networks lack, by number.

    Raises:
        ParseError: Networks have no such type.
    """
    if number in known:
        return known[number]
    what = lacking.get(number, f"type number {number}")
    raise ParseError(
        f"tensors of {what} are not supported: expected another type of numbers, or Booleans"
    )


class Operation(ABC):
    """An operator with its values; parsers add their format's names.

    Attributes:
        network: The network that its layers are added to.
    """

    network: Network

    @abstractmethod
    def __str__(self) -> str:
        """Return how messages name it."""

    @abstractmethod
    def has_input(self, index: int) -> bool:
        """Return whether an optional input is present."""

    @abstractmethod
    def input(self, index: int = 0) -> Value:
        """Return an input.

        Raises:
            ParseError: It is absent.
        """

    @abstractmethod
    def input_name(self, index: int) -> str:
        """Return how messages name an input."""

    @abstractmethod
    def layer_name(self, part: str = "") -> str:
        """Return a free name for a layer.

        All layers of an operator but the last have a ``part``.
        """

    def error(self, what: str) -> ParseError:
        """Return the error for something malformed in this operator."""
        return ParseError(f"{self}: {what}")

    def optional_input(self, index: int) -> Value | None:
        """Return an input, None if it is absent."""
        return self.input(index) if self.has_input(index) else None

    def known(self, index: int) -> NDArray[Any]:
        """Return the data of a constant input.

        Raises:
            NotKnownYetError: It is computed.
        """
        value = self.input(index)
        if value.constant is None:
            what = f"its input {self.input_name(index)} is computed, it must be constant"
            raise NotKnownYetError(what, awaited=index)
        return value.constant

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of an input.

        Raises:
            NotKnownYetError: Not even its rank is known.
        """
        return self.shape_of(self.input(index))

    def shape_of(self, value: Value) -> Shape:
        """Return the shape of a value.

        Raises:
            NotKnownYetError: Not even its rank is known.
        """
        shape = value.info.shape
        if shape is None:
            raise NotKnownYetError(f"the rank of {value.name!r} is not known")
        return shape

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from the front.

        Raises:
            ParseError: A tensor of that rank has no such axis.
        """
        if not -rank <= axis < rank:
            raise self.error(f"the axis {axis} is not an axis of a tensor of rank {rank}")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Return axes counted from the front, in ascending order.

        Raises:
            ParseError: A tensor of that rank lacks one of them, or one is there twice.
        """
        counted = sorted(self.axis(axis, rank) for axis in axes)
        if len(set(counted)) != len(counted):
            raise self.error(f"the axes {list(axes)} name an axis twice")
        return tuple(counted)

    def number(self, value: ArrayLike, like: Value, part: str) -> Value:
        """Return a constant of the unquantized type of ``like``.

        It may be a dimension: where others follow from that of other inputs, so does this one.
        """
        dtype, name = like.info.data_type.numpy_dtype, self.layer_name(part)
        if not is_symbolic(value):
            return self.network.add_constant(np.asarray(value).astype(dtype), name=name)
        symbol: Any = value
        made = self.network.add_constant(np.array(symbol.value, dtype), name=name)
        made.producer.data = np.empty((), object)
        made.producer.data[()] = symbol
        return made

    def integers_constant(self, values: Sequence[int], part: str) -> Value:
        """Return a constant list of 64-bit integers."""
        return self.network.add_constant(np.array(values, np.int64), name=self.layer_name(part))


Key = TypeVar("Key")


class ValueTable(ABC, Generic[Key]):
    """Values by name or index; a parser adds its constants.

    Attributes:
        network: The network that is being made.
        prefix: How the names of the layers begin.
        survey: Where operators are noted; None if those that cannot be converted are an error.
        known: The values that are inputs or were made.
        operators: Finds the operators that the program defines; what is converted later gets it.
    """

    def __init__(self, network: Network, prefix: str = "", survey: Survey | None = None) -> None:
        self.network = network
        self.prefix = prefix
        self.survey = survey
        self.known: dict[Key, Value] = {}
        self.operators: Operators = registered_operators()

    def __contains__(self, key: Key) -> bool:
        return key in self.known

    @abstractmethod
    def check_free(self, key: Key) -> None:
        """Check that no value has a key yet.

        Raises:
            ParseError: One has.
        """

    @abstractmethod
    def value(self, key: Key) -> Value:
        """Return a key's value; data becomes a Constant layer once.

        Raises:
            ParseError: The file lacks it, or its data is malformed.
        """

    def add_input(self, key: Key, info: TensorInfo, name: str = "") -> None:
        """Add an input of the network, named after its key.

        Raises:
            ParseError: The key is taken.
        """
        self.check_free(key)
        self.known[key] = self.network.add_input(name or str(key), info)

    def bind(self, key: Key, value: Value) -> None:
        """Make a value known by its key.

        Raises:
            ParseError: The key is taken.
        """
        self.check_free(key)
        self.known[key] = value

    def bind_all(self, keys: Iterable[Key], values: Iterable[Value]) -> None:
        """Make values known by their keys, which are as many.

        Raises:
            ParseError: A key is taken.
        """
        for key, value in zip(keys, values, strict=True):
            self.bind(key, value)

    def unique_name(self, stem: str) -> str:
        """Return a free name for a layer."""
        return self.network.unique_name(self.prefix + stem)


# Never follow a link that appeared after the check, never wait for a pipe's other end.
_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)


def check_model_file(path: Path) -> None:
    """Check that a model is a regular file.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is something else, such as a folder.
    """
    if not path.exists():
        raise ModelFileNotFoundError(f"there is no model file {str(path)!r}")
    if not path.is_file():
        raise ModelFileError(f"the model {str(path)!r} is not a regular file")


def model_content(
    source: str | os.PathLike[str] | bytes, folder: Path | None = None
) -> tuple[str, bytes, Path | None]:
    """Return the name, the content and the folder of a model.

    Args:
        source: Its file, or its content, which has the name ``<bytes>``.
        folder: The folder of content; None if it has none.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It cannot be read.
    """
    if isinstance(source, bytes):
        return "<bytes>", source, folder
    path = Path(source)
    check_model_file(path)
    try:
        return str(path), path.read_bytes(), path.parent
    except OSError as error:
        raise unreadable(str(path), error) from error


def unreadable(name: str, error: OSError) -> ModelFileError:
    """Return the error for an unreadable model file."""
    return ModelFileError(f"the model {name!r} cannot be read: {error.strerror or error}")


def path_beside(folder: Path | None, location: str, what: str, model: Path | None = None) -> Path:
    """Return a data file's path below the model's folder.

    In the cache of Hugging Face it is beside the file that the model is a link to; see
    :func:`armnn.parsing.resolved_below`.

    Args:
        folder: The folder of the model; None if the model came as bytes.
        location: The location as the model has it.
        what: How errors name the data.
        model: The file of the model, which may be a link.

    Raises:
        ParseError: There is no folder, or the location leads out of it.
    """
    if folder is None:
        raise ParseError(
            f"{what} is in the file {location!r}, but a model given as bytes has no folder: "
            "say folder=..., or pass the model's path"
        )
    if not is_below(location):
        raise ParseError(
            f"{what} has the location {location!r}: expected a path below the model's folder"
        )
    path = resolved_below(str(folder), location, "" if model is None else str(model))
    if not path:
        raise ParseError(
            f"{what} has the location {location!r}, which leads out of the model's folder"
        )
    return Path(path)


def open_beside(path: Path, what: str) -> int:
    """Open a data file; the caller closes the descriptor.

    Raises:
        ParseError: It cannot be opened.
    """
    try:
        return os.open(path, _OPEN_FLAGS)
    except OSError as error:
        raise ParseError(f"{what} cannot be read: {error.strerror}: {str(path)!r}") from error


def add_layer(
    operation: Operation,
    kind: str,
    inputs: Sequence[Value | None],
    /,
    part: str = "",
    output: TensorInfo | DataType | None = None,
    **parameters: Any,
) -> Value:
    """Add a layer of one output.

    The builders of a network do the same; importing those of a family takes as long as thirty of
    its layers.

    Args:
        operation: The operator that the layer is for.
        kind: Its type.
        inputs: One value per input slot.
        part: Its purpose, if it is not the operator's last layer.
        output: The expected output, if there is one.
        parameters: The parameters of its descriptor.
    """
    descriptor = LAYERS[kind].descriptor(**parameters)
    name = operation.layer_name(part)
    return operation.network.add(kind, inputs, descriptor, name=name, outputs=[output]).output


def cast(operation: Operation, value: Value, data_type: DataType, part: str = "") -> Value:
    """Add a Cast layer, unless the value has that type."""
    if value.info.data_type is data_type:
        return value
    return add_layer(operation, "Cast", [value], part, data_type)


def compare(
    operation: Operation, relation: ComparisonOperation, first: Value, second: Value, part: str = ""
) -> Value:
    """Add a Comparison layer."""
    return add_layer(operation, "Comparison", [first, second], part, operation=relation)


def logical(operation: Operation, function: LogicalBinaryOperation) -> Value:
    """Add a LogicalBinary layer of the first two inputs."""
    return operation.network.add_logical_binary(
        operation.input(0), operation.input(1), operation=function, name=operation.layer_name()
    )


def reshape(operation: Operation, value: Value, shape: Sequence[int], part: str = "") -> Value:
    """Reshape to known dimensions; -1 is the dimension that is left."""
    return add_layer(operation, "Reshape", [value], part, target_shape=tuple(shape))


def transpose(operation: Operation, value: Value, order: Sequence[int], part: str = "") -> Value:
    """Permute axes: axis i of the result is axis ``order[i]``."""
    return add_layer(operation, "Transpose", [value], part, dim_mappings=tuple(order))


def shape_vector(operation: Operation, value: Value, part: str = "shape") -> Value:
    """Return a value's dimensions as a list of 64-bit integers."""
    return add_layer(operation, "Shape", [value], part, DataType.SIGNED64)


def static_shape(value: Value, what: str = "") -> tuple[int, ...]:
    """Return a shape all of whose dimensions must be known.

    Args:
        value: The value.
        what: How the error names it; by default by its name.

    Raises:
        NotKnownYetError: A dimension is not known.
    """
    if not value.info.is_static:
        raise NotKnownYetError(f"the shape of {what or repr(value.name)} is not known")
    return value.info.static_shape


def reshape_target(dims: Sequence[Dimension]) -> list[int] | None:
    """Return a Reshape's target, None with several unknown dimensions."""
    unknown = sum(not isinstance(dim, int) for dim in dims)
    if unknown > 1 or (unknown and 0 in dims):
        return None
    return [dim if isinstance(dim, int) else -1 for dim in dims]


def same_padding(size: Dimension, window: int, stride: int, dilation: int, name: str) -> int:
    """Return an axis' padding that makes ceil(size / stride) windows.

    It is the sum of both sides.

    Args:
        size: The size of the axis.
        window: The size of the window along it.
        stride: The distance from one window to the next.
        dilation: The distance from one element that the window reads to the next.
        name: The padding's name in the format.

    Raises:
        NotKnownYetError: The padding depends on the size, which is not known.
    """
    reach = dilation * (window - 1) + 1
    if stride == 1:
        return reach - 1
    if not isinstance(size, int):
        raise NotKnownYetError(
            f"{name} with a stride of {stride} needs the size of the input, which is not known"
        )
    return max((-(-size // stride) - 1) * stride + reach - size, 0)


Record = TypeVar("Record")
"""One operator as a parser reads it from the file."""

Found = TypeVar("Found")
"""The operator with its values, by which a parser converts it."""

Converted: TypeAlias = Value | Sequence[Value]
"""The return value of a function that converts an operator: its output, or its outputs."""

AnyOperation = TypeVar("AnyOperation", bound=Operation)


class Conversion(ABC, Generic[Record, Found, Key]):
    """Converts operators one by one, in the graph's order.

    An operator that is refused does not end the conversion: all refusals are reported together. One
    that reads what a refused one would make is left out.

    Attributes:
        network: The network that layers are added to.
        survey: Where operators are noted; None if refusals are an error.
    """

    places = "at"
    """The text before the places of an operator in the message of :meth:`raise_refused`."""

    def __init__(self, network: Network, survey: Survey | None) -> None:
        self.network = network
        self.survey = survey
        self._refused: dict[tuple[str, str], list[str]] = {}
        self._unavailable: dict[Key, None] = {}

    @abstractmethod
    def operator_of(self, record: Record) -> Operator:
        """Return an operator's type and its unique name."""

    @abstractmethod
    def place_of(self, record: Record) -> str:
        """Return where an operator is, for the list of refusals."""

    @abstractmethod
    def keys_read(self, record: Record) -> Iterable[Key]:
        """Return the keys of the values that an operator reads."""

    @abstractmethod
    def keys_made(self, record: Record) -> Iterable[Key]:
        """Return the keys of the values that an operator makes."""

    @abstractmethod
    def find(self, record: Record) -> Found:
        """Return the converter of an operator.

        Raises:
            RefusedError: Nothing does.
        """

    @abstractmethod
    def add_layers(self, record: Record, found: Found) -> None:
        """Add an operator's layers and make its outputs known.

        Raises:
            RefusedError: Layers cannot compute it.
            NotKnownYetError: It must wait for data or shapes.
        """

    @abstractmethod
    def defer(self, record: Record, found: Found, unknown: NotKnownYetError) -> None:
        """Add a StandIn layer, by :func:`add_stand_in`.

        Raises:
            RefusedError: There is nothing to wait for.
        """

    def convert(self, record: Record) -> None:
        """Add an operator's layers, or note why that is impossible."""
        outer, self.network.origin = self.network.origin, self.operator_of(record)
        self.convert_part(record)
        self.network.origin = outer

    def convert_part(self, record: Record) -> None:
        """Do as :meth:`convert` for a part of another operator."""
        survey, origin = self.survey, self.network.origin
        try:
            found = self.find(record)
            missing = self._unavailable.keys()  # none in nearly every model
            if missing and not missing.isdisjoint(self.keys_read(record)):
                if survey is not None and origin is not None:
                    survey.cut_off[origin] = None
                self._give_up(record)
                return
            try:
                self.add_layers(record, found)
            except NotKnownYetError as unknown:
                self.defer(record, found, unknown)
        except RefusedError as refusal:
            if survey is not None and origin is not None:
                survey.operators[origin] = str(refusal)
            kind = (self.operator_of(record).type, str(refusal))
            self._refused.setdefault(kind, []).append(self.place_of(record))
            self._give_up(record)
        except UnsupportedOperatorError as error:  # of a graph inside of the operator
            if survey is None or origin is None:
                raise
            survey.operators[origin] = str(error)
            self._give_up(record)

    def raise_refused(self) -> None:
        """Report everything that could not be converted.

        Raises:
            UnsupportedOperatorError: There is something, and no survey that it was noted in.
        """
        if not self._refused or self.survey is not None:
            return
        listed = "; ".join(
            f"{name} ({self.places} {', '.join(places)}): {reason}"
            for (name, reason), places in self._refused.items()
        )
        names = dict.fromkeys(name for name, _ in self._refused)
        raise UnsupportedOperatorError(f"the model uses unsupported operators: {listed}", (*names,))

    def _give_up(self, record: Record) -> None:
        self._unavailable.update(dict.fromkeys(self.keys_made(record)))


def values_of(
    operation: AnyOperation, convert: Callable[[AnyOperation], Converted]
) -> Sequence[Value]:
    """Convert an operator, return its outputs, name it in errors.

    Raises:
        RefusedError: Layers cannot compute it.
        ParseError: It is malformed.
    """
    try:
        values = convert(operation)
    except UnsupportedOperatorError:
        raise  # of a graph inside of the operator: it names the operators in there
    except ArmnnError as error:
        if str(error).startswith(str(operation)):
            raise
        raise operation.error(str(error)) from error
    return (values,) if isinstance(values, Value) else values


def add_operator(
    operation: Operation,
    registered: OperatorRegistration,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, object],
    count: int,
    declared: Sequence[TensorInfo] = (),
) -> Sequence[Value]:
    """Add the layer of an operator that the program defines; return its outputs.

    Args:
        operation: The operator.
        registered: The registration that :attr:`ValueTable.operators` found for it.
        inputs: The values that it reads, None for an input that is left out.
        attributes: Its attributes by name.
        count: How many outputs it has.
        declared: The types and the quantization of the outputs, where the file says them.

    Raises:
        NotKnownYetError: The shape of an input is not known.
        ShapeError: The functions of the program refuse these inputs or attributes.
        RefusedError: It has no input.
    """
    inputs = without_trailing_none(inputs)
    call = OperatorCall(registered, attributes, [value is not None for value in inputs])
    call.check()
    present = [value for value in inputs if value is not None]
    if not present:
        raise RefusedError(f"the operator {registered} has no input: expected at least one")
    for value in present:
        if not value.info.is_static:
            raise NotKnownYetError(f"the shape of {value.name!r} is not known")
    infos = [None if value is None else _plain_info(value.info) for value in inputs]
    known = [None if value is None else value.constant for value in inputs]
    outputs = call.outputs(infos, known, count)
    for index, said in enumerate(declared):
        made = outputs[index]
        if made.data_type.numpy_dtype != said.data_type.numpy_dtype:
            raise ShapeError(
                f"the output {index} of the operator {registered} is {made.data_type.arm_name}: "
                f"the file says {said.data_type.arm_name}"
            )
        outputs[index] = said.with_shape(made.shape)
    descriptor = StandInDescriptor(num_outputs=count)
    name = operation.layer_name()
    layer = operation.network.add("StandIn", present, descriptor, name=name, outputs=outputs)
    layer.compiled, layer.backend_hint = call, PYTHON
    return layer.outputs


def _plain_info(info: TensorInfo) -> TensorInfo:
    """Return an info of plain numbers, as a program's arithmetic cannot be recorded."""
    return info.with_shape(tuple(map(operator.index, info.static_shape)))


def operator_types(
    registered: OperatorRegistration,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, object],
    count: int,
) -> list[DataType]:
    """Return the types of the outputs of :func:`add_operator` before shapes are known.

    They are those for inputs of which each unknown dimension is 1. Where the program refuses these,
    they are the type of the first input; a parser is told later if that is wrong.
    """
    inputs = without_trailing_none(inputs)
    present = [value is not None for value in inputs]
    given = [value for value in inputs if value is not None]
    if any(value.info.shape is None for value in given):
        return [given[0].info.data_type] * count
    infos = [
        None
        if value is None
        else value.info.with_shape(
            [each if isinstance(each, int) else 1 for each in value.info.shape or ()]
        )
        for value in inputs
    ]
    known = [None if value is None else value.constant for value in inputs]
    try:
        made = OperatorCall(registered, attributes, present).outputs(infos, known, count)
    except ShapeError:
        return [given[0].info.data_type] * count
    return [info.data_type for info in made]


def add_stand_in(
    network: Network,
    deferred: DeferredOperator,
    inputs: Sequence[Value],
    unknown: NotKnownYetError,
    infos: Callable[[], Sequence[TensorInfo]],
    name: Callable[[], str],
) -> Sequence[Value]:
    """Add a StandIn layer for later conversion; return its outputs.

    Args:
        network: The network.
        deferred: The function that makes the layers then.
        inputs: The values that the operator reads.
        unknown: The values that it waits for.
        infos: Returns what is known of its outputs.
        name: Returns a free name for the layer.

    Raises:
        RefusedError: There is nothing to wait for; ``infos`` may raise it as well.
    """
    if not deferred.awaits and all(value.info.is_static for value in inputs):
        raise unknown
    outputs = infos()
    stand_in = network.add(
        "StandIn",
        inputs,
        StandInDescriptor(num_outputs=len(outputs)),
        name=name(),
        outputs=outputs,
    )
    stand_in.compiled = deferred
    return stand_in.outputs
