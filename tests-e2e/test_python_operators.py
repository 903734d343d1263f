# SPDX-License-Identifier: MIT
"""Operators that a program defines run in any model, on any backends, as in onnx.reference."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import armnn
from armnn import TensorInfo
from armnn.errors import (
    ExecutionError,
    InvalidArgumentError,
    NotExportableError,
    NotStorableError,
    ParseError,
    UnknownNameError,
    UnsupportedOperatorError,
)
from armnn_parser_onnx.export import to_onnx
from armnn_tools.cli.main import main

Array = np.ndarray[Any, Any]
MINE = "my.domain"
BACKENDS = (["CpuRef"], ["CpuAcc", "CpuRef"], ["isolated:CpuAcc"])


class Blend(OpRun):
    """x * scale + bias (if there is one) + sum(weights), and the shape of x."""

    op_domain = MINE

    def _run(self, x, bias=None, scale=None, weights=None, table=None, mode=None, tags=None):  # type: ignore[no-untyped-def]  # onnx's contract
        made = x * np.float32(scale) + np.float32(sum(weights)) + table
        if mode == "with bias":
            made = made + bias
        return made.astype(np.float32), np.array([*x.shape, len(tags)], np.int64)


def blend(x: Array, bias: Array | None = None, **attributes: Any) -> tuple[Array, Array]:
    assert not x.flags.writeable
    assert attributes["tags"] == ["a", "b"]
    assert not attributes["table"].flags.writeable
    made = x * np.float32(attributes["scale"]) + np.float32(sum(attributes["weights"]))
    made += attributes["table"]
    if attributes["mode"] == "with bias":
        made = made + bias
    return made, np.array([*x.shape, 2], np.int64)


def infer_blend(
    x: TensorInfo, bias: TensorInfo | None = None, **attributes: Any
) -> tuple[TensorInfo, TensorInfo]:
    assert x.is_static
    return TensorInfo(x.shape), TensorInfo(((x.rank or 0) + 1,), "Signed64")


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    yield
    for name in ("Blend", "Fails", "Clamp"):
        with suppress(UnknownNameError):
            armnn.unregister_operator(MINE, name)


def blending(shape: Any = (2, 3), mode: str = "with bias") -> onnx.ModelProto:
    """Return a model with a custom operator between layers of ONNX's."""
    table = helper.make_tensor("table", TensorProto.FLOAT, (3,), [1, 2, 3])
    inputs = ["a", "bias"] if mode == "with bias" else ["a", ""]
    nodes = [
        helper.make_node("Tanh", ["x"], ["a"]),
        helper.make_node(
            "Blend",
            inputs,
            ["b", "size"],
            "blend",
            domain=MINE,
            scale=2.5,
            weights=[0.25, 0.5],
            table=table,
            mode=mode,
            tags=["a", "b"],
        ),
        helper.make_node("Softmax", ["b"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "blending",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("size", TensorProto.INT64, None),
        ],
        [helper.make_tensor("bias", TensorProto.FLOAT, (3,), [3, 1, 2])],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MINE, 1)]
    return helper.make_model(graph, opset_imports=opsets)


def saved(tmp_path: Path, model: onnx.ModelProto) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return path


def check(loaded: Any, model: onnx.ModelProto, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    wanted = ReferenceEvaluator(model, new_ops=[Blend]).run(None, {"x": x})
    made = loaded.run({"x": x})
    np.testing.assert_allclose(made["y"], wanted[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(made["size"], wanted[1])


@pytest.mark.parametrize("infer", [None, infer_blend])
@pytest.mark.parametrize("mode", ["with bias", "without"])
@pytest.mark.parametrize("backends", BACKENDS)
def test_it_runs_whatever_the_backends_are(
    backends: list[str], mode: str, infer: Any, tmp_path: Path
) -> None:
    model = blending(mode=mode)
    with armnn.register_operator(MINE, "Blend", blend, infer=infer):
        loaded = armnn.load_model(saved(tmp_path, model), backends)
    check(loaded, model, (2, 3))  # what is loaded keeps its function
    rows = {row.layer: row for row in loaded.report}
    assert (rows["blend"].type, rows["blend"].backend) == ("my.domain::Blend", "Python")
    assert rows["blend"].refusals == ()
    assert loaded.report.layers_by_backend == {backends[0]: 2, "Python": 1}
    assert "my.domain::Blend" in str(loaded)


@pytest.mark.parametrize("backends", BACKENDS)
def test_open_shapes_are_inferred_again(backends: list[str], tmp_path: Path) -> None:
    model = blending(("n", 3))
    asked: list[Any] = []

    def infer(x: TensorInfo, bias: TensorInfo, **attributes: Any) -> Any:
        asked.append(x.shape)
        return infer_blend(x, bias)

    with armnn.register_operator(MINE, "Blend", blend, infer=infer):
        network = armnn.parse(saved(tmp_path, model))
    loaded = armnn.load_model(network, backends, layer_backends={"blend": backends[0]})
    for size in (4, 1, 4, 7):
        check(loaded, model, (size, 3))
    rows = {row.layer: row for row in loaded.report}
    assert rows["blend"].backend == "Python"
    assert [each.backend for each in rows["blend"].refusals] == backends[:1]
    assert {(4, 3), (1, 3), (7, 3)} <= set(asked)


def test_bound_submitted_and_many_threads(tmp_path: Path) -> None:
    model = blending()
    armnn.register_operator(MINE, "Blend", blend)
    loaded = armnn.load_model(saved(tmp_path, model), ["CpuAcc"])
    x = np.ones((2, 3), np.float32)
    wanted = loaded.run({"x": x})["y"]
    made = np.zeros((2, 3), np.float32)
    bound = loaded.bind({"x": x}, {"y": made})
    bound()
    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(loaded.submit({"x": x}).result()["y"], wanted)
    wrong: list[int] = []

    def run(seed: int) -> None:
        given = np.full((2, 3), seed, np.float32)
        first = loaded.run({"x": given})["y"].tobytes()
        wrong.extend(seed for _ in range(20) if loaded.run({"x": given})["y"].tobytes() != first)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def _fails(x: Array, *, low: float) -> Array:
    raise LookupError("no such row")


def failing(shape: Any = (2, 3), operator: str = "Fails", domain: str = MINE) -> onnx.ModelProto:
    node = helper.make_node(operator, ["x"], ["y"], "mine", domain=domain, low=0.5)
    graph = helper.make_graph(
        [node],
        "failing",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MINE, 1)]
    return helper.make_model(graph, opset_imports=opsets)


def _same(x: TensorInfo, *, low: float) -> TensorInfo:
    return x


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (
            _fails,
            r"layer 'mine' \(my.domain::Fails\) failed on Python: .*LookupError: no such row for",
        ),
        (
            lambda x, low: x[:1],
            r"returned float32 \[1,3\] as output 0: expected float32 \[2,3\], as infer said",
        ),
        (
            lambda x, low: x.astype(np.float64),
            r"returned float64 \[2,3\] as output 0: expected float32 \[2,3\]",
        ),
        (lambda x, low: (), r"my.domain::Fails returned 0 arrays: expected 1"),
    ],
)
def test_what_fails_is_named(compute: Any, message: str, tmp_path: Path) -> None:
    armnn.register_operator(MINE, "Fails", compute, infer=_same)
    loaded = armnn.load_model(saved(tmp_path, failing()), ["CpuRef"])
    with pytest.raises(ExecutionError, match=message) as caught:
        loaded.run({"x": np.ones((2, 3), np.float32)})
    if compute is _fails:
        cause = caught.value.__cause__
        assert cause is not None
        assert isinstance(cause.__cause__, LookupError)


@pytest.mark.parametrize(
    ("compute", "infer", "message"),
    [
        (lambda x: x, None, r"'mine' .*1 inputs and the attributes low, and compute is .*unexp"),
        (lambda x, y, low: x, None, r"missing a required argument: 'y'"),
        (_fails, None, r"has no infer, so compute was called with zeros.*LookupError: no such row"),
        (_fails, lambda x, low: x.shape, r"infer of .* returned \(2, 3\): expected 1 TensorInfo"),
        (_fails, lambda x, low: (), r"infer of .* returned \(\): expected 1 TensorInfo"),
        (_fails, lambda x, low: x.with_shape((None, 3)), r"expected a TensorInfo with all dimens"),
        (_fails, lambda x, low: 1 / 0, r"infer of .* raised ZeroDivisionError.*Float32\[2,3\]"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_when_it_is_parsed(
    compute: Any, infer: Any, message: str
) -> None:
    armnn.register_operator(MINE, "Fails", compute, infer=infer)
    with pytest.raises(ParseError, match=message):
        armnn.parse(failing().SerializeToString(), format="onnx")


def test_types_before_shapes_are_known_are_held_against_those_after() -> None:
    def infer(x: TensorInfo, low: float) -> TensorInfo:
        return x if x.shape == (1, 3) else TensorInfo(x.shape, "Signed32")

    armnn.register_operator(MINE, "Fails", _fails, infer=infer)
    network = armnn.parse(failing(("n", 3)).SerializeToString(), format="onnx")
    with pytest.raises(ParseError, match="Fails is Signed32: the model says Float32"):
        armnn.load_model(network, ["CpuRef"]).run({"x": np.ones((2, 3), np.float32)})


def test_an_input_of_another_type_in_open_shapes(tmp_path: Path) -> None:
    """The types of the outputs are those for sizes of 1."""

    def rounded(x: Array, *, low: float) -> Array:
        return np.rint(x + low).astype(np.int32)

    model = failing(("n", "m"))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    armnn.register_operator(MINE, "Fails", rounded)
    loaded = armnn.load_model(saved(tmp_path, model), ["CpuRef"])
    made = loaded.run({"x": np.array([[0.75], [-3]], np.float32)})["y"]
    np.testing.assert_array_equal(made, np.array([[1], [-2]], np.int32))


def test_attributes_that_no_function_takes_are_refused() -> None:
    model = failing()
    body = helper.make_graph([], "body", [], [])
    model.graph.node[0].attribute.append(helper.make_attribute("body", body))
    armnn.register_operator(MINE, "Fails", _fails)
    with pytest.raises(UnsupportedOperatorError, match="'body' is of type GRAPH: a function in"):
        armnn.parse(model.SerializeToString(), format="onnx")


def test_a_model_without_the_registration_says_what_to_do() -> None:
    wanted = r"the domain 'my.domain' are not supported; armnn.register_operator\('my.domain', 'F"
    with pytest.raises(UnsupportedOperatorError, match=wanted):
        armnn.parse(failing().SerializeToString(), format="onnx")


def test_a_standard_operator_is_replaced_only_if_that_was_said() -> None:
    def negated(x: Array) -> Array:
        return -x

    node = helper.make_node("Relu", ["x"], ["y"], "relu")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))
    model = helper.make_model(
        helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 20)]
    ).SerializeToString()
    feeds = {"x": np.array([-1, 2], np.float32)}
    with (
        armnn.register_operator("ai.onnx", "Relu", negated),
        pytest.raises(ParseError, match=r"registered ::Relu, and layers compute .*replace=True"),
    ):
        armnn.parse(model, format="onnx")
    with armnn.register_operator("", "Relu", negated, replace=True):
        loaded = armnn.load_model(armnn.parse(model, format="onnx"), ["CpuAcc", "CpuRef"])
    np.testing.assert_array_equal(loaded.run(feeds)["y"], [1, -2])
    plain = armnn.load_model(armnn.parse(model, format="onnx"), ["CpuAcc", "CpuRef"])
    np.testing.assert_array_equal(plain.run(feeds)["y"], [0, 2])


def test_a_function_of_the_model_is_replaced_only_if_that_was_said() -> None:
    model = failing(operator="Blend")
    function = helper.make_function(
        MINE,
        "Blend",
        ["a"],
        ["b"],
        [helper.make_node("Neg", ["a"], ["b"])],
        [helper.make_opsetid("", 20)],
        ["low"],
    )
    model.functions.append(function)
    data = model.SerializeToString()
    feeds = {"x": np.ones((2, 3), np.float32)}

    def run() -> Array:
        return armnn.load_model(armnn.parse(data, format="onnx"), ["CpuRef"]).run(feeds)["y"]

    np.testing.assert_array_equal(run(), -feeds["x"])
    with (
        armnn.register_operator(MINE, "Blend", lambda x, low: x + 1),
        pytest.raises(ParseError, match=r"registered my.domain::Blend, and the model defines it"),
    ):
        run()
    with armnn.register_operator(MINE, "Blend", lambda x, low: x + 1, replace=True):
        np.testing.assert_array_equal(run(), feeds["x"] + 1)


def test_two_of_one_name() -> None:
    first = armnn.register_operator(MINE, "Blend", blend)
    armnn.register_operator(MINE, "Blend", blend)  # a cell of a notebook, run again
    with pytest.raises(InvalidArgumentError, match=r"my.domain::Blend is registered already, as .*"
                       r":blend: replace=True puts .*:_fails in its place"):  # fmt: skip
        armnn.register_operator(MINE, "Blend", _fails)
    with armnn.register_operator(MINE, "Blend", _fails, replace=True):
        pass
    first.undo()  # it was replaced already
    armnn.unregister_operator(MINE, "Blend")
    with pytest.raises(UnknownNameError, match=r"no operator is registered as 'my.domain::Blend'"):
        armnn.unregister_operator(MINE, "Blend")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, "Blend", blend), "the domain is 1"),
        ((MINE, "", blend), "the operator is 'my.domain::'"),
        ((MINE, "Blend", 3), "compute of the operator my.domain::Blend is 3"),
    ],
)
def test_arguments_are_checked(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        armnn.register_operator(*arguments)
    with pytest.raises(InvalidArgumentError, match=r"infer of the operator my.domain::Blend is 3"):
        armnn.register_operator(MINE, "Blend", blend, infer=3)  # type: ignore[arg-type]  # the test
    with pytest.raises(InvalidArgumentError, match="has no function yet"):
        armnn.register_operator(MINE, "Blend").__enter__()


def test_equal_calls_are_two_calls() -> None:
    """A function may count, or draw numbers: it is called as often as the model says."""
    calls: list[int] = []

    def counted(x: Array, *, low: float) -> Array:
        calls.append(1)
        return x + np.float32(len(calls))

    model = failing()
    twin = helper.make_node("Fails", ["x"], ["z"], "other", domain=MINE, low=0.5)
    model.graph.node.append(twin)
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, (2, 3)))
    armnn.register_operator(MINE, "Fails", counted, infer=_same)
    loaded = armnn.load_model(
        armnn.parse(model.SerializeToString(), format="onnx"), ["CpuAcc", "CpuRef"]
    )
    made = loaded.run({"x": np.zeros((2, 3), np.float32)})
    assert {made["y"][0, 0], made["z"][0, 0]} == {1, 2}


def test_constant_inputs_are_given_when_outputs_are_learned() -> None:
    def reshaped(x: Array, shape: Array) -> Array:
        return x.reshape(shape)

    node = helper.make_node("Fails", ["x", "shape"], ["y"], "mine", domain=MINE)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 2))],
        [helper.make_tensor("shape", TensorProto.INT64, (2,), [3, 2])],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MINE, 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    armnn.register_operator(MINE, "Fails", reshaped)
    loaded = armnn.load_model(armnn.parse(model.SerializeToString(), format="onnx"), ["CpuRef"])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], x.reshape(3, 2))


def test_it_is_in_a_branch_that_is_chosen_when_the_model_runs() -> None:
    def branch(name: str, domain: str) -> onnx.GraphProto:
        node = helper.make_node(name, ["x"], [name], name, domain=domain)
        made = helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,))
        return helper.make_graph([node], name, [], [made])

    node = helper.make_node(
        "If", ["c"], ["y"], "if", then_branch=branch("Clamp", MINE), else_branch=branch("Neg", "")
    )
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,)),
            helper.make_tensor_value_info("c", TensorProto.BOOL, ()),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MINE, 1)]
    data = helper.make_model(graph, opset_imports=opsets).SerializeToString()
    with armnn.register_operator(MINE, "Clamp", lambda x: np.clip(x, 0, 1)):
        loaded = armnn.load_model(armnn.parse(data, format="onnx"), ["CpuAcc", "CpuRef"])
    x = np.array([-3, 5], np.float32)
    np.testing.assert_array_equal(loaded.run({"x": x, "c": np.array(True)})["y"], [0, 1])
    np.testing.assert_array_equal(loaded.run({"x": x, "c": np.array(False)})["y"], [3, -5])


def test_what_cannot_travel_is_refused_by_name(tmp_path: Path) -> None:
    path = saved(tmp_path, blending())
    armnn.register_operator(MINE, "Blend", blend)
    name = "'blend' .*the operator my.domain::Blend in Python, a Python function, which cannot be"
    with pytest.raises(NotStorableError, match=name) as caught:
        armnn.save(armnn.parse(path), tmp_path / "x.armnn")
    assert "beyond_arm_nn" not in str(caught.value)
    with pytest.raises(NotStorableError, match=name):
        armnn.save(armnn.parse(path), tmp_path / "x.armnn", beyond_arm_nn=True)
    with pytest.raises(
        NotExportableError, match=r"'blend' \(StandIn\) .* my.domain::Blend in Python"
    ):
        to_onnx(armnn.parse(path))
    waiting = r"'blend' .*it is the operator my.domain::Blend in Python, which no file can hold"
    still_open = armnn.parse(blending((None, 3)), format="onnx")
    with pytest.raises(NotStorableError, match=waiting):
        armnn.save(still_open, tmp_path / "x.armnn")
    with pytest.raises(NotExportableError, match=waiting):
        to_onnx(still_open)
    with pytest.raises(
        InvalidArgumentError, match=name + " stored: load the model with load_model"
    ):
        armnn.Runtime().compile_network(
            armnn.parse(path), tmp_path / "x.armnn-prepared", ["CpuRef"]
        )
    wanted = r"is a function of this process, which a worker cannot call: it runs on Python, in the"
    loaded = armnn.load_model(
        path, ["isolated:CpuAcc"], layer_backends={"blend": "isolated:CpuAcc"}
    )
    (row,) = (row for row in loaded.report if row.layer == "blend")
    assert row.backend == "Python"
    assert wanted in row.reason


def relu() -> onnx.ModelProto:
    node = helper.make_node("Relu", ["x"], ["y"], "relu")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))
    graph = helper.make_graph([node], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def scaled(x: Array, by: int) -> Array:
    return x * by


def times(factor: int) -> Any:
    return lambda x: x * factor


class Scaling:
    def __call__(self, x: Array) -> Array:
        return x * 2


def test_a_cache_never_answers_for_a_function(tmp_path: Path) -> None:
    path, cache = saved(tmp_path, relu()), tmp_path / "cache"
    feeds = {"x": np.array([-1, 2], np.float32)}

    def run() -> list[float]:
        loaded = armnn.load_model(path, ["CpuAcc", "CpuRef"], cache_dir=cache)
        return list(loaded.run(feeds)["y"])

    assert run() == run() == [0, 2]
    for factor in (2, 3):
        with armnn.register_operator("", "Relu", lambda x, f=factor: x * f, replace=True):
            assert run() == run() == [-factor, 2 * factor]
    assert run() == [0, 2]


def test_a_record_names_the_function_and_its_file(tmp_path: Path) -> None:
    path = saved(tmp_path, blending())
    armnn.register_operator(MINE, "Blend", blend)
    loaded = armnn.load_model(path, ["CpuRef"])
    record = loaded.record()
    found = record.document["backends"]["Python"]
    function = f"my.domain::Blend by {__name__}:blend, sha256 "
    assert found["origin"].startswith(function)
    assert re.fullmatch("[0-9a-f]{64}", found["origin"].removeprefix(function))
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    assert found["files"] == {__file__: digest}
    assert armnn.verify(record, path) == ()

    def other(x: Array, bias: Array | None = None, **attributes: Any) -> Any:
        return blend(x, bias, **attributes)

    armnn.register_operator(MINE, "Blend", other, replace=True)
    (difference,) = armnn.verify(record, path)
    assert difference.item == "backends.Python.origin"
    network = armnn.Network()
    network.add_output("y", network.add_floor(network.add_input("x", TensorInfo((2,)))))
    plain = armnn.load_model(network, ["CpuRef"])
    assert "Python" not in plain.record().document["backends"]


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        (lambda x: x * 2, lambda x: x * 2, True),
        (lambda x: x * 2, lambda x: x * 3, False),
        (lambda x: np.abs(x), lambda x: np.exp(x), False),
        (lambda x: [each * 2 for each in [x]], lambda x: [each * 3 for each in [x]], False),
        (lambda x, by=2: x * by, lambda x, by=3: x * by, False),
        (lambda x, *, by=2: x * by, lambda x, *, by=3: x * by, False),
        (times(2), times(2), True),
        (times(2), times(3), False),
        (partial(scaled, by=2), partial(scaled, by=2), True),
        (partial(scaled, by=2), partial(scaled, by=3), False),
        (Scaling(), Scaling(), True),
        (np.abs, np.exp, False),
    ],
)
def test_functions_of_one_name_are_told_apart_by_their_code(
    first: Any, second: Any, *, is_equal: bool
) -> None:
    found = []
    for each in (first, second):
        with armnn.register_operator("", "Relu", each, replace=True):
            found.append(armnn.load_model(relu(), ["CpuRef"]).record())
    differing = [each.item for each in found[0].differences(found[1])]
    assert differing == ([] if is_equal else ["backends.Python.origin"])


def test_the_tools_know_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, blending())
    operators = tmp_path / "operators.py"
    operators.write_text(
        "import armnn, numpy as np\n"
        "@armnn.register_operator('my.domain', 'Blend')\n"
        "def blend(x, bias=None, **attributes):\n"
        "    return x * np.float32(2), np.array([*x.shape, 2], np.int64)\n"
    )
    given = ["--backends", "CpuAcc,CpuRef", "--import", str(operators)]
    assert main(["inspect", str(path), *given]) == 0
    assert main(["run", str(path), "--report", *given]) == 0
    assert main(["view", str(path), "-o", str(tmp_path / "x.html"), *given]) == 0
    assert main(["compare", str(path), *given]) == 0
    assert main(["bench", str(path), "--duration", "0.1", *given]) == 0
    shown = capsys.readouterr().out
    assert "No layer is wrong" in shown
    assert "UnsupportedOperatorError" not in shown
    assert "Python 1" in shown
    assert shown.count("my.domain::Blend") >= 2
    assert "my.domain::Blend" in (tmp_path / "x.html").read_text()
    record = str(tmp_path / "record.json")
    assert main(["run", str(path), "--record", record, *given]) == 0
    verifying = ["verify", record, str(path), "--import", str(operators)]
    assert main(verifying) == 0
    operators.write_text(operators.read_text().replace("x * np.float32(2)", "x * np.float32(3)"))
    capsys.readouterr()
    assert main(verifying) == 1
    assert f"backends.Python.files.{operators}: recorded" in capsys.readouterr().out
    armnn.unregister_operator(MINE, "Blend")
    assert main(["run", str(path), "--import", str(tmp_path / "none.py")]) == 1
    assert "--import" in capsys.readouterr().err


def test_inputs_that_are_left_out() -> None:
    """Those before others are None, those at the end are not given."""
    given: list[Any] = []

    def first(*arrays: Array | None) -> Array:
        given.append([None if array is None else array.shape for array in arrays])
        return next(array for array in arrays if array is not None)

    node = helper.make_node("Fails", ["", "x", "", "x", ""], ["y"], "mine", domain=MINE)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2,))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MINE, 1)]
    model = helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=opsets)
    armnn.register_operator(MINE, "Fails", first)
    loaded = armnn.load_model(armnn.parse(model.SerializeToString(), format="onnx"), ["CpuRef"])
    feeds = {"x": np.array([1, 2], np.float32)}
    np.testing.assert_array_equal(loaded.run(feeds)["y"], feeds["x"])
    assert given == [[None, (2,), None, (2,)]] * 2

    model.graph.node[0].ClearField("input")
    message = (
        r"Fails \(at 'mine'\): the operator my.domain::Fails has no input: expected at least one"
    )
    with pytest.raises(UnsupportedOperatorError, match=message):
        armnn.parse(model.SerializeToString(), format="onnx")
