# SPDX-License-Identifier: MIT
"""The shared parts of parsers, with a format of lines.

A line has a result, an operator and its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from armnn.errors import (
    ModelFileError,
    ModelFileNotFoundError,
    ParseError,
    UnsupportedOperatorError,
)
from armnn.graph import DeferredOperator, Network, Operator, Survey, Value
from armnn.parsing.conversion import (
    Conversion,
    NotKnownYetError,
    Operation,
    RefusedError,
    ValueTable,
    add_stand_in,
    cast,
    check_model_file,
    compare,
    logical,
    open_beside,
    path_beside,
    reshape,
    reshape_target,
    same_padding,
    shape_vector,
    static_shape,
    transpose,
    type_of_number,
    unreadable,
    values_of,
)
from armnn.tensor import TensorInfo
from armnn.types import ComparisonOperation, DataType, LogicalBinaryOperation


class Line(NamedTuple):
    result: str
    operator: str
    operands: tuple[str, ...]


class Graph(ValueTable[str]):
    def check_free(self, key: str) -> None:
        if key in self:
            raise ParseError(f"two lines make {key!r}")

    def value(self, key: str) -> Value:
        if key not in self:
            raise ParseError(f"no line before makes {key!r}")
        return self.known[key]


class LineOperation(Operation):
    def __init__(self, line: Line, graph: Graph) -> None:
        self.line, self.graph, self.network = line, graph, graph.network

    def __str__(self) -> str:
        return f"the line of {self.line.result}"

    def has_input(self, index: int) -> bool:
        return index < len(self.line.operands)

    def input(self, index: int = 0) -> Value:
        if not self.has_input(index):
            raise self.error(f"its operand {index} is missing")
        return self.graph.value(self.line.operands[index])

    def input_name(self, index: int) -> str:
        return f"operand {index}"

    def layer_name(self, part: str = "") -> str:
        return self.graph.unique_name(f"{self.line.result}/{part}" if part else self.line.result)


def add(operation: LineOperation) -> Value:
    first, second = operation.input(0), operation.input(1)
    return operation.network.add_addition(first, second, name=operation.layer_name())


def twice(operation: LineOperation) -> Sequence[Value]:
    return [operation.input(), operation.input()]


def reshaped(operation: LineOperation) -> Value:
    return reshape(operation, operation.input(), operation.known(1).tolist())


def refused(operation: LineOperation) -> Value:
    raise RefusedError("its mode is odd")


def inner(operation: LineOperation) -> Value:
    raise UnsupportedOperatorError("the model uses unsupported operators: Deep", ("Deep",))


Convert = Callable[[LineOperation], "Value | Sequence[Value]"]
CONVERTERS: dict[str, Convert] = {
    "Add": add,
    "Twice": twice,
    "Reshape": reshaped,
    "Refused": refused,
    "Inner": inner,
}


class Deferred(DeferredOperator):
    def __init__(self, line: Line, awaited: int | None) -> None:
        self.operator = line.operator
        self.awaits = () if awaited is None else (awaited,)

    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        return inputs[:1]


class Lines(Conversion[Line, Convert, str]):
    places = "in"

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.network, graph.survey)
        self.graph = graph

    def operator_of(self, record: Line) -> Operator:
        return Operator(record.operator, record.result)

    def place_of(self, record: Line) -> str:
        return record.result

    def keys_read(self, record: Line) -> Sequence[str]:
        return record.operands

    def keys_made(self, record: Line) -> Sequence[str]:
        return [record.result]

    def find(self, record: Line) -> Convert:
        if record.operator not in CONVERTERS:
            raise RefusedError("no layer computes it")
        return CONVERTERS[record.operator]

    def add_layers(self, record: Line, found: Convert) -> None:
        self.graph.bind_all([record.result], values_of(LineOperation(record, self.graph), found))

    def defer(self, record: Line, found: Convert, unknown: NotKnownYetError) -> None:
        operation = LineOperation(record, self.graph)
        inputs = [self.graph.value(key) for key in record.operands]
        deferred = Deferred(record, unknown.awaited)
        infos = [TensorInfo(None)]
        values = add_stand_in(
            self.network, deferred, inputs, unknown, lambda: infos, operation.layer_name
        )
        self.graph.bind_all([record.result], values)


@pytest.fixture
def graph() -> Graph:
    made = Graph(Network("lines"), prefix="main/")
    made.add_input("x", TensorInfo((2, 3)))
    made.add_input("sizes", TensorInfo((2,), DataType.SIGNED64), "sizes of y")
    made.add_input("open", TensorInfo((None, None, 3)))
    made.add_input("any", TensorInfo(None))
    return made


def convert(graph: Graph, *lines: str) -> Lines:
    conversion = Lines(graph)
    for line in lines:
        result, operator, *operands = line.split()
        conversion.convert(Line(result, operator, tuple(operands)))
    return conversion


def operation(graph: Graph, line: str = "y Any x") -> LineOperation:
    result, operator, *operands = line.split()
    return LineOperation(Line(result, operator, tuple(operands)), graph)


# -- operators -------------------------------------------------------------------------------------


def test_operators_become_layers_that_say_where_they_come_from(graph: Graph) -> None:
    convert(graph, "y Add x x", "z Add y x").raise_refused()
    assert graph.value("z").producer.name == "main/z"
    assert graph.value("z").producer.origin == Operator("Add", "z")
    assert graph.network.origin is None


def test_all_refusals_are_reported_together(graph: Graph) -> None:
    conversion = convert(
        graph, "a Odd x", "b Refused x", "c Odd x", "d Add a x", "e Add d x", "f Add x x"
    )
    message = (
        r"^the model uses unsupported operators: Odd \(in a, c\): no layer computes it; "
        r"Refused \(in b\): its mode is odd$"
    )
    with pytest.raises(UnsupportedOperatorError, match=message) as caught:
        conversion.raise_refused()
    assert caught.value.operators == ("Odd", "Refused")
    assert [key for key in "abcdef" if key in graph] == ["f"]


def test_a_survey_has_what_is_refused_and_what_is_cut_off_by_that(graph: Graph) -> None:
    graph.survey = Survey()
    conversion = convert(graph, "a Odd x", "b Add a x", "c Inner x", "d Add x x")
    conversion.raise_refused()
    assert graph.survey.refused == {
        Operator("Odd", "a"): "no layer computes it",
        Operator("Inner", "c"): "the model uses unsupported operators: Deep",
    }
    assert list(graph.survey.cut_off) == [Operator("Add", "b")]


def test_without_a_survey_what_is_refused_inside_of_an_operator_is_an_error(graph: Graph) -> None:
    with pytest.raises(
        UnsupportedOperatorError, match=r"^the model uses unsupported operators: De"
    ):
        convert(graph, "y Inner x")


def test_an_operator_that_waits_for_data_becomes_a_stand_in(graph: Graph) -> None:
    convert(graph, "y Reshape x sizes").raise_refused()
    layer = graph.value("y").producer
    assert (layer.type, layer.name) == ("StandIn", "main/y")
    assert isinstance(layer.compiled, Deferred)
    assert layer.compiled.awaits == (1,)


def test_an_operator_that_has_nothing_to_wait_for_is_refused(graph: Graph) -> None:
    line = Line("y", "Any", ("x",))
    unknown = NotKnownYetError("a size is not known")
    with pytest.raises(RefusedError, match="a size is not known"):
        Lines(graph).defer(line, add, unknown)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y Add x", "^the line of y: its operand 1 is missing$"),
        ("y Add x sizes", "^the line of y: .*"),  # the layer says what does not fit
        ("y Add x nothing", "^the line of y: no line before makes 'nothing'$"),
    ],
)
def test_errors_name_the_operator_once(graph: Graph, line: str, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        convert(graph, line)
    assert str(caught.value).count("the line of y") == 1


def test_a_key_has_one_value(graph: Graph) -> None:
    with pytest.raises(ParseError, match="two lines make 'x'"):
        graph.bind("x", graph.value("sizes"))
    with pytest.raises(ParseError, match="two lines make 'x'"):
        graph.add_input("x", TensorInfo((1,)))
    with pytest.raises(ValueError, match="zip"):
        convert(graph, "y Twice x")


def test_inputs_have_the_names_of_their_keys_or_others(graph: Graph) -> None:
    assert [layer.name for layer in graph.network.inputs] == ["x", "sizes of y", "open", "any"]


# -- what converters ask ---------------------------------------------------------------------------


def test_inputs_and_their_shapes(graph: Graph) -> None:
    asked = operation(graph, "y Any x sizes any")
    assert asked.optional_input(3) is None
    assert asked.optional_input(0) is graph.value("x")
    assert asked.shape() == (2, 3)
    with pytest.raises(NotKnownYetError, match="the rank of 'any' is not known") as caught:
        asked.shape(2)
    assert caught.value.awaited is None


def test_data_that_must_be_constant(graph: Graph) -> None:
    graph.bind("c", graph.network.add_constant(np.array([3, 2]), name="c"))
    asked = operation(graph, "y Any sizes c")
    assert asked.known(1).tolist() == [3, 2]
    with pytest.raises(
        NotKnownYetError, match=r"^its input operand 0 is computed, it must be"
    ) as e:
        asked.known(0)
    assert e.value.awaited == 0


def test_axes_are_counted_from_the_front(graph: Graph) -> None:
    asked = operation(graph)
    assert asked.axis(-1, 3) == 2
    assert asked.axes([-1, 0], 3) == (0, 2)
    with pytest.raises(ParseError, match="the line of y: the axis 3 is not an axis of a tensor of"):
        asked.axis(3, 3)
    with pytest.raises(ParseError, match=r"the axes \[1, -2\] name an axis twice"):
        asked.axes([1, -2], 3)


def test_small_constants(graph: Graph) -> None:
    asked = operation(graph)
    half = asked.number(0.5, graph.value("x"), "half")
    assert half.constant is not None
    assert (half.constant.dtype, half.constant.item()) == (np.float32, 0.5)
    sizes = asked.integers_constant([3, 2], "sizes")
    assert sizes.constant is not None
    assert (sizes.name, sizes.constant.dtype) == ("main/y/sizes", np.int64)


def test_a_number_of_a_type() -> None:
    known, lacking = {1: DataType.FLOAT32}, {8: "TEXT"}
    assert type_of_number(1, known, lacking) is DataType.FLOAT32
    for number, what in ((8, "TEXT"), (9, "type number 9")):
        with pytest.raises(ParseError, match=f"^tensors of {what} are not supported: expected"):
            type_of_number(number, known, lacking)


# -- layers ----------------------------------------------------------------------------------------


def test_layers_have_the_names_of_the_operator(graph: Graph) -> None:
    asked, x = operation(graph, "y Any x x"), graph.value("x")
    assert cast(asked, x, DataType.FLOAT32) is x
    made = [
        cast(asked, x, DataType.FLOAT16, "half"),
        reshape(asked, x, [3, -1], "flat"),
        transpose(asked, x, [1, 0], "turned"),
        shape_vector(asked, x),
        compare(asked, ComparisonOperation.LESS, x, x, "less"),
    ]
    assert [value.name for value in made] == [
        f"main/y/{part}" for part in ("half", "flat", "turned", "shape", "less")
    ]
    assert [value.info.shape for value in made] == [(2, 3), (3, 2), (3, 2), (2,), (2, 3)]
    assert made[3].info.data_type is DataType.SIGNED64


def test_a_logical_layer_has_two_inputs(graph: Graph) -> None:
    graph.add_input("p", TensorInfo((2,), DataType.BOOLEAN))
    made = logical(operation(graph, "y Any p p"), LogicalBinaryOperation.LOGICAL_AND)
    assert made.producer.descriptor.operation is LogicalBinaryOperation.LOGICAL_AND
    assert made.producer.inputs == (graph.value("p"), graph.value("p"))


def test_a_shape_that_must_be_known(graph: Graph) -> None:
    assert static_shape(graph.value("x")) == (2, 3)
    with pytest.raises(NotKnownYetError, match=r"^the shape of 'open' is not known$"):
        static_shape(graph.value("open"))
    with pytest.raises(NotKnownYetError, match=r"^the shape of its weights is not known$"):
        static_shape(graph.value("open"), "its weights")


@pytest.mark.parametrize(
    ("dims", "target"),
    [
        ((2, 3), [2, 3]),
        ((2, None), [2, -1]),
        ((2, 0), [2, 0]),
        ((None, 0), None),  # what is left of no elements is any number
        ((None, None), None),
    ],
)
def test_a_target_has_one_open_dimension(
    dims: tuple[int | None, ...], target: list[int] | None
) -> None:
    assert reshape_target(dims) == target


@pytest.mark.parametrize(
    ("size", "window", "stride", "dilation", "total"),
    [
        (5, 3, 1, 1, 2),
        (None, 3, 1, 2, 4),
        (5, 3, 2, 1, 2),  # windows at -1, 1 and 3
        (6, 3, 2, 1, 1),  # windows at 0, 2 and 4
        (4, 1, 3, 1, 0),
    ],
)
def test_padding_that_keeps_the_size(
    size: int | None, window: int, stride: int, dilation: int, total: int
) -> None:
    assert same_padding(size, window, stride, dilation, "SAME") == total


def test_padding_needs_the_size_of_the_input() -> None:
    with pytest.raises(
        NotKnownYetError, match=r"^SAME with a stride of 2 needs the size of the in"
    ):
        same_padding(None, 3, 2, 1, "SAME")


# -- files -----------------------------------------------------------------------------------------


def test_a_model_is_a_regular_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileNotFoundError, match=r"there is no model file '.*nowhere'"):
        check_model_file(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="is not a regular file"):
        check_model_file(tmp_path)
    assert str(unreadable("m", OSError("no"))) == "the model 'm' cannot be read: no"


def test_data_beside_a_model(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    file = tmp_path / "below" / "w.bin"
    file.write_bytes(b"1")
    path = path_beside(tmp_path, "below/w.bin", "the data")
    assert path == file
    with open(open_beside(path, "the data"), "rb") as opened:
        assert opened.read() == b"1"
    with pytest.raises(
        ParseError, match=r"the data cannot be read: No such file or directory: '.*missing'"
    ):
        open_beside(tmp_path / "missing", "the data")


@pytest.mark.parametrize(
    "location", ["", "a\0b", "/etc/passwd", "../w.bin", "a/../../w.bin", "C:\\w.bin", "\\\\h\\w"]
)
def test_a_path_out_of_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    with pytest.raises(ParseError, match="expected a path below the model's folder"):
        path_beside(tmp_path, location, "the data")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "link").symlink_to(tmp_path)
    with pytest.raises(ParseError, match="'link/w', which leads out of the model's folder"):
        path_beside(tmp_path / "model", "link/w", "the data")
    with pytest.raises(ParseError, match="a model given as bytes has no folder"):
        path_beside(None, "w", "the data")
