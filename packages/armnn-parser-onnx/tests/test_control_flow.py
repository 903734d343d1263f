# SPDX-License-Identifier: MIT
"""If, Loop and Scan against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.helper import make_node as node

import armnn
from armnn.errors import GraphError, ParseError
from armnn_parser_onnx import control_flow
from armnn_parser_onnx.parser import parse

Array = NDArray[Any]
FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def value(name: str, element: int, shape: Sequence[Any] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, shape)


def graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] = (),
    outputs: Sequence[onnx.ValueInfoProto] = (),
    constants: Mapping[str, Array] | None = None,
) -> onnx.GraphProto:
    arrays = [onnx.numpy_helper.from_array(data, name) for name, data in (constants or {}).items()]
    return helper.make_graph(list(nodes), "g", list(inputs), list(outputs), arrays)


def model(made: onnx.GraphProto, opset: int = 17) -> onnx.ModelProto:
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def load(made: onnx.ModelProto) -> armnn.LoadedNetwork:
    return armnn.load_model(parse(made.SerializeToString()), backends=["CpuRef"])


def check(made: onnx.ModelProto, *feeds: Mapping[str, Array]) -> armnn.LoadedNetwork:
    """Run a model on each input; compare with onnxruntime."""
    session = onnxruntime.InferenceSession(made.SerializeToString())
    loaded = load(made)
    for given in feeds:
        expected = session.run(None, dict(given))
        for result, wanted in zip(loaded.run(given).values(), expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)
    return loaded


def choice(then: onnx.GraphProto, otherwise: onnx.GraphProto, *names: str) -> onnx.NodeProto:
    return node("If", ["c"], list(names), name="choice", then_branch=then, else_branch=otherwise)


DOUBLE = graph([node("Add", ["x", "x"], ["double"])], outputs=[value("double", FLOAT, None)])
TOTAL = graph([node("ReduceSum", ["x"], ["t"], keepdims=0)], outputs=[value("t", FLOAT, None)])


def test_the_branch_of_an_input_is_taken() -> None:
    made = model(graph(
        [choice(DOUBLE, TOTAL, "y"), node("Neg", ["y"], ["z"])],
        [value("x", FLOAT, [2, 3]), value("c", BOOL, [])],
        [value("z", FLOAT, None)],
    ))  # fmt: skip
    loaded = check(made, *({"x": X, "c": np.array(c)} for c in (True, False, True)))
    assert loaded.report.layers_by_backend == {"CpuRef": 4}  # Add and Neg, ReduceSum and Neg


def test_a_constant_condition_drops_the_other_branch() -> None:
    made = model(graph(
        [choice(DOUBLE, TOTAL, "y")],
        [value("x", FLOAT, ["n", 3])],
        [value("y", FLOAT, None)],
        {"c": np.array(False)},
    ))  # fmt: skip
    assert [layer.type for layer in parse(made.SerializeToString()).layers] == [
        "Input", "Reduce", "Output",
    ]  # fmt: skip
    check(made, {"x": X}, {"x": X[:1]})


def test_a_condition_on_the_shape_is_known_when_the_shape_is() -> None:
    made = model(graph(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["rows"]),
            node("Equal", ["rows", "one"], ["c"]),
            choice(
                graph([node("Squeeze", ["x", "axes"], ["r"])], outputs=[value("r", FLOAT, None)]),
                DOUBLE,
                "y",
            ),
        ],
        [value("x", FLOAT, ["rows", 3])],
        [value("y", FLOAT, None)],
        {"zero": np.array(0), "one": np.array(1), "axes": np.array([0])},
    ))  # fmt: skip
    loaded = check(made, {"x": X[:1]}, {"x": X}, {"x": X[:1]})
    assert loaded.inputs["x"].shape == ("rows", 3)


def test_a_condition_on_computed_data_is_known_when_the_first_part_has_run() -> None:
    made = model(graph(
        [
            node("Mul", ["x", "x"], ["square"]),
            node("ReduceSum", ["square"], ["energy"], keepdims=0),
            node("Greater", ["energy", "limit"], ["c"]),
            choice(DOUBLE, TOTAL, "y"),
        ],
        [value("x", FLOAT, [2, 3])],
        [value("y", FLOAT, None)],
        {"limit": np.array(15, np.float32)},
    ))  # fmt: skip
    check(made, {"x": X}, {"x": X / 10}, {"x": 2 * X})


def test_branches_nest_and_read_the_values_around_them() -> None:
    inner = node("If", ["d"], ["deep"], then_branch=DOUBLE, else_branch=graph(
        [node("Sub", ["x", "outer"], ["less"])], outputs=[value("less", FLOAT, None)]
    ))  # fmt: skip
    outer = graph(
        [node("Exp", ["x"], ["outer"]), inner],
        outputs=[value("deep", FLOAT, None), value("outer", FLOAT, None)],
    )
    other = graph(
        [node("Identity", ["w"], ["same"])],
        outputs=[value("same", FLOAT, None), value("x", FLOAT, None)],
        constants={"w": np.full(2, 7, np.float32)},
    )
    made = model(graph(
        [choice(outer, other, "y", "z")],
        [value("x", FLOAT, [2, 3]), value("c", BOOL, [1]), value("d", BOOL, [])],
        [value("y", FLOAT, None), value("z", FLOAT, None)],
    ))  # fmt: skip
    loaded = load(made)
    for c in (True, False):
        for d in (True, False):
            y, z = loaded.run({"x": X, "c": np.array([c]), "d": np.array(d)}).values()
            expected = (2 * X if d else X - np.exp(X)) if c else np.full(2, 7, np.float32)
            np.testing.assert_allclose(y, expected, rtol=1e-6)
            np.testing.assert_allclose(z, np.exp(X) if c else X, rtol=1e-6)


def loop(body: onnx.GraphProto, *, trips: str = "trips", condition: str = "") -> onnx.NodeProto:
    return node("Loop", [trips, condition, "x"], ["last", "rows"], name="rounds", body=body)


def body(*nodes: onnx.NodeProto) -> onnx.GraphProto:
    """Add the iteration's number to the state.

    Further nodes compute whether to continue.
    """
    return graph(
        [
            node("Cast", ["i"], ["number"], to=FLOAT),
            node("Add", ["state", "number"], ["next"]),
            node("Mul", ["next", "next"], ["row"]),
            *(nodes or [node("Identity", ["go"], ["on"])]),
        ],
        [value("i", INT, []), value("go", BOOL, []), value("state", FLOAT, [2, 3])],
        [value("on", BOOL, []), value("next", FLOAT, [2, 3]), value("row", FLOAT, [2, 3])],
    )


def looped(
    made: onnx.NodeProto,
    inputs: Sequence[onnx.ValueInfoProto] = (),
    constants: Mapping[str, Array] | None = None,
) -> onnx.ModelProto:
    outputs = [value("last", FLOAT, None), value("rows", FLOAT, None)]
    return model(graph([made], [value("x", FLOAT, [2, 3]), *inputs], outputs, constants))


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_a_constant_trip_count_is_written_out(trips: int) -> None:
    made = looped(loop(body()), constants={"trips": np.array(trips)})
    network = parse(made.SerializeToString())
    assert sum(layer.type == "Cast" for layer in network.layers) == trips
    assert not any(layer.type == "StandIn" for layer in network.layers)
    check(made, {"x": X})


def test_a_trip_count_may_be_an_input() -> None:
    made = looped(loop(body()), [value("trips", INT, [])])
    check(made, *({"x": X, "trips": np.array(trips)} for trips in (3, 0, 2, 3)))


def test_a_loop_ends_when_its_condition_on_the_iteration_says_so() -> None:
    made = looped(
        loop(body(node("Less", ["i", "four"], ["on"])), condition="yes"),
        constants={"trips": np.array(100), "four": np.array(4), "yes": np.array(True)},
    )
    check(made, {"x": X})
    endless = loop(body(node("Less", ["i", "four"], ["on"])), trips="", condition="yes")
    check(looped(endless, constants={"four": np.array(4), "yes": np.array(True)}), {"x": X})


def test_a_loop_ends_when_its_condition_on_the_data_says_so() -> None:
    on = [
        node("ReduceMax", ["next"], ["most"], keepdims=0),
        node("Less", ["most", "limit"], ["on"]),
    ]
    made = looped(loop(body(*on)), [value("limit", FLOAT, [])], constants={"trips": np.array(50)})
    check(made, *({"x": X, "limit": np.array(most, np.float32)} for most in (12, 0, 30, 12)))


def test_a_condition_that_is_false_at_first_runs_no_iteration() -> None:
    made = looped(loop(body(), condition="c"), [value("trips", INT, []), value("c", BOOL, [])])
    feeds = ({"x": X, "trips": np.array(3), "c": np.array(c)} for c in (False, True))
    check(made, *feeds)


def scan(**attributes: Any) -> onnx.ModelProto:
    step = graph(
        [node("Add", ["sum", "x_i"], ["sum_out"]), node("Neg", ["sum_out"], ["row"])],
        [value("sum", FLOAT, [2]), value("x_i", FLOAT, [2])],
        [value("sum_out", FLOAT, [2]), value("row", FLOAT, [2])],
    )
    made = node(
        "Scan", ["start", "x"], ["last", "rows"], body=step, num_scan_inputs=1, **attributes
    )
    return model(graph(
        [made],
        [value("start", FLOAT, [2]), value("x", FLOAT, [None, None])],
        [value("last", FLOAT, None), value("rows", FLOAT, None)],
    ))  # fmt: skip


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_directions": [1]},
        {"scan_output_directions": [1], "scan_output_axes": [1]},
        {"scan_output_axes": [-1], "scan_input_directions": [1]},
    ],
)
def test_a_scan_follows_its_axes_and_directions(attributes: dict[str, Any]) -> None:
    start = np.array([1, 2], np.float32)
    check(scan(**attributes), *({"start": start, "x": rows} for rows in (X.T, X.T[:1], X.T)))


def test_a_scan_along_another_axis() -> None:
    check(scan(scan_input_axes=[1]), {"start": np.zeros(2, np.float32), "x": X})


def test_the_weights_of_a_body_are_held_once() -> None:
    weights = np.arange(9, dtype=np.float32).reshape(3, 3)
    steps = graph(
        [node("Gemm", ["state", "w"], ["next"], transB=1), node("Identity", ["go"], ["on"])],
        [value("i", INT, []), value("go", BOOL, []), value("state", FLOAT, [2, 3])],
        [value("on", BOOL, []), value("next", FLOAT, [2, 3])],
        {"w": weights},
    )
    made = model(graph(
        [node("Loop", ["trips", "", "x"], ["last"], body=steps)],
        [value("x", FLOAT, [2, 3]), value("trips", INT, [])],
        [value("last", FLOAT, None)],
    ))  # fmt: skip
    network = parse(made.SerializeToString())
    (stand_in,) = (layer for layer in network.layers if layer.type == "StandIn")
    held: dict[int, Array] = {}
    for trips in (2, 3):
        copy = network.clone()
        inputs = [copy.add_constant(X), copy.add_constant(np.array(trips))]
        assert isinstance(stand_in.compiled, armnn.graph.DeferredOperator)
        stand_in.compiled.resolve(copy, inputs[::-1])
        arrays = [layer.data for layer in copy.layers if layer.data is not None]
        held |= {id(array): array for array in arrays if array.shape == (3, 3)}
    assert len(held) == 1
    check(made, {"x": X, "trips": np.array(2)})


@pytest.mark.parametrize("trips", [control_flow.MOST_ITERATIONS + 1, 10**12])
def test_too_many_iterations_are_refused(trips: int) -> None:
    made = looped(loop(body()), constants={"trips": np.array(trips)})
    expected = rf"'rounds' \(Loop\): it has {trips} iterations: .* at most 4096"
    with pytest.raises(ParseError, match=expected):
        parse(made.SerializeToString())


def test_a_loop_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_flow, "MOST_ITERATIONS", 10)
    made = looped(loop(body(), trips=""))
    with pytest.raises(ParseError, match=r"\(Loop\): it has more than 10 iterations: .*at most 10"):
        parse(made.SerializeToString())


def test_a_computed_condition_may_hold_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("armnn.runtime.plans.MOST_SEGMENTS", 6)
    on = [
        node("ReduceMax", ["next"], ["most"], keepdims=0),
        node("Less", ["most", "limit"], ["on"]),
    ]
    made = looped(loop(body(*on)), [value("limit", FLOAT, [])], {"trips": np.array(50)})
    loaded = load(made)
    few = loaded.run({"x": X, "limit": np.array(8, np.float32)})["rows"]
    assert len(few) == 4
    with pytest.raises(GraphError, match="'g' is cut into more than 6 segments that wait"):
        loaded.run({"x": X, "limit": np.array(100, np.float32)})


def test_iterations_that_make_too_many_layers_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control_flow, "MOST_LAYERS", 40)
    made = looped(loop(body()), constants={"trips": np.array(50)})
    with pytest.raises(ParseError, match=r"more than 40 layers; got as far as number \d"):
        parse(made.SerializeToString())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: n.attribute[0].g.output.pop(), r"the outputs of 'body' are 2: expected 3 or"),
        (lambda n: n.attribute[0].g.input.pop(), r"the inputs of 'body' are 2: expected 3"),
        (lambda n: n.input.append(""), r"the input 'v_initial' is missing"),
        (lambda n: n.attribute[0].ClearField("g"), r"the attribute 'body' has no graph"),
        (
            lambda n: n.attribute[0].g.node[1].input.__setitem__(0, "nobody"),
            "'nobody' is read, but no node, input or initializer makes it",
        ),
        (
            lambda n: n.attribute[0].g.node.append(node("Neg", ["x"], ["next"])),
            r"\(Neg\): the value 'next' is already made",
        ),
    ],
)
def test_malformed_bodies_are_refused(change: Any, message: str) -> None:
    made = looped(loop(body()), constants={"trips": np.array(2)})
    change(made.graph.node[0])
    with pytest.raises(ParseError, match=message):
        parse(made.SerializeToString())


def test_a_condition_of_several_elements_is_refused() -> None:
    made = model(graph(
        [choice(DOUBLE, TOTAL, "y")],
        [value("x", FLOAT, [2, 3])],
        [value("y", FLOAT, None)],
        {"c": np.array([True, False])},
    ))  # fmt: skip
    with pytest.raises(ParseError, match=r"\(If\): the condition has 2 elements: expected one"):
        parse(made.SerializeToString())


def test_operators_that_a_taken_branch_uses_are_named() -> None:
    bad = graph([node("Multinomial", ["x"], ["d"])], outputs=[value("d", FLOAT, None)])
    made = model(graph(
        [choice(DOUBLE, bad, "y")],
        [value("x", FLOAT, [2, 2]), value("c", BOOL, [])],
        [value("y", FLOAT, None)],
    ))  # fmt: skip
    loaded = load(made)
    assert loaded.run({"x": X[:, :2], "c": np.array(True)})["y"].shape == (2, 2)
    with pytest.raises(ParseError, match=r"unsupported operators: Multinomial \(at 'd'\)"):
        loaded.run({"x": X[:, :2], "c": np.array(False)})
