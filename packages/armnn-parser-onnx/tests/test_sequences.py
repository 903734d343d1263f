# SPDX-License-Identifier: MIT
"""Sequences whose lengths are known, against onnx.reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from armnn.errors import ParseError, UnsupportedOperatorError
from armnn_parser_onnx.parser import parse

Model = Callable[..., onnx.ModelProto]
Check = Callable[..., list[Any]]

X = np.arange(12, dtype=np.float32).reshape(3, 4)
A, B, C = X, X + 100, X + 200
node = helper.make_node
MAKE = node("SequenceConstruct", ["a", "b", "c"], ["s"])
ABC = {"a": A, "b": B, "c": C}


@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("position", [0, 2, -1, -3])
def test_a_tensor_of_a_sequence(check: Check, position: int, opset: int) -> None:
    constants = {"p": np.array(position)}
    (y,) = check(
        [MAKE, node("SequenceAt", ["s", "p"], ["y"])], ABC, constants=constants, opset=opset
    )
    np.testing.assert_array_equal(y, [A, B, C][position])


def test_the_length_of_a_sequence(check: Check) -> None:
    (y,) = check([MAKE, node("SequenceLength", ["s"], ["y"])], ABC)
    assert y.tolist() == 3
    empty = [node("SequenceEmpty", [], ["e"]), node("SequenceLength", ["e"], ["n"])]
    add = node("Add", ["n", "x"], ["y"])
    (y,) = check([*empty, add], {"x": np.array([5])})
    assert y.tolist() == [5]


@pytest.mark.parametrize("position", [None, 0, 1, -1, -3])
def test_what_is_inserted(check: Check, position: int | None) -> None:
    constants = {} if position is None else {"p": np.array(position, np.int32)}
    nodes = [
        MAKE,
        node("SequenceInsert", ["s", "d", *constants], ["t"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    check(nodes, {**ABC, "d": X[:1] - 50}, constants=constants)


def test_what_is_inserted_behind_the_last(model: Model, run: Callable[..., list[Any]]) -> None:
    """onnxruntime appends there; onnx.reference inserts at the start, against its text."""
    nodes = [
        MAKE,
        node("SequenceInsert", ["s", "d", "p"], ["t"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    feeds = {**ABC, "d": X[:1] - 50}
    made = model(nodes, feeds, constants={"p": np.array(3)}, output_types={"y": 1})
    (expected,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, feeds)
    np.testing.assert_array_equal(run(made, feeds)[0], expected)


@pytest.mark.parametrize("position", [None, 0, 2, -1, -2])
def test_what_is_erased(check: Check, position: int | None) -> None:
    constants = {} if position is None else {"p": np.array(position)}
    nodes = [
        MAKE,
        node("SequenceErase", ["s", *constants], ["t"]),
        node("SequenceLength", ["t"], ["n"]),
        node("ConcatFromSequence", ["t"], ["y"], axis=-1),
    ]
    check(nodes, ABC, ["y", "n"], constants=constants)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize(("axis", "new_axis"), [(1, 0), (-2, 0), (0, 1), (1, 1), (-1, 1), (-3, 1)])
def test_tensors_put_together(check: Check, axis: int, new_axis: int, dynamic: bool) -> None:
    put = node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=new_axis)
    check([MAKE, put], ABC, dynamic=dynamic)
    one = node("SequenceConstruct", ["a"], ["s"])
    check([one, put], {"a": A}, dynamic=dynamic)


@pytest.mark.parametrize(
    ("split", "options"),
    [
        (None, {}),
        (None, {"axis": 1}),
        (None, {"axis": -1, "keepdims": 0}),
        (2, {}),
        (3, {"axis": 1}),
        (9, {"axis": 1, "keepdims": 0}),
        ([1, 2], {}),
        ([1, 0, 3], {"axis": 1}),
    ],
)
def test_a_tensor_taken_apart(check: Check, split: Any, options: dict[str, int]) -> None:
    constants = {"p": np.array(-1)} | ({} if split is None else {"n": np.array(split)})
    nodes = [
        node("SplitToSequence", ["x", *(["n"] if split is not None else [])], ["s"], **options),
        node("SequenceAt", ["s", "p"], ["y"]),
        node("SequenceLength", ["s"], ["n_parts"]),
    ]
    check(nodes, {"x": X}, ["y", "n_parts"], constants=constants)


@pytest.mark.parametrize(
    ("nodes", "shape", "message"),
    [
        ([node("SequenceConstruct", ["x", "x"], ["y"])], [3, 4], "networks have no sequences"),
        (
            [node("SplitToSequence", ["x"], ["s"]), node("SequenceLength", ["s"], ["y"])],
            [None, 4],
            "its sequence is not known before it runs: it needs the size of its axis",
        ),
        (
            [node("SequenceConstruct", ["x"], ["s"]), node("SequenceAt", ["s", "i"], ["y"])],
            [3, 4],
            "its sequence is not known before it runs",
        ),
        (
            [node("SequenceConstruct", ["x"], ["s"]), node("Identity", ["s"], ["y"])],
            [3, 4],
            "it reads 's', and networks have no sequences",
        ),
        (
            [node("SplitToSequence", ["x"], ["s"]), node("SequenceLength", ["s"], ["y"])],
            [5000, 4],
            "it makes more than 4096 tensors of 5000 elements",
        ),
    ],
)
def test_sequences_that_are_not_known_are_refused(
    model: Model, nodes: list[onnx.NodeProto], shape: list[Any], message: str
) -> None:
    made = model(nodes, {"x": (1, shape), "i": (7, [])})
    with pytest.raises(UnsupportedOperatorError, match=message):
        parse(made.SerializeToString())


def mapped(name: str, inputs: list[str], outputs: list[str], *nodes: onnx.NodeProto) -> Any:
    """Return a SequenceMap whose body has these nodes, on tensors i0, i1, ... that make o0, ..."""
    given = [helper.make_tensor_value_info(f"i{at}", 1, None) for at in range(len(inputs))]
    made = [helper.make_tensor_value_info(f"o{at}", 1, None) for at in range(len(outputs))]
    body = helper.make_graph(list(nodes), "body", given, made)
    return node("SequenceMap", inputs, outputs, name, body=body)


Like = Callable[..., list[Any]]


@pytest.fixture
def like_onnxruntime(model: Model, run: Callable[..., list[Any]]) -> Like:
    """Return what compares a model with onnxruntime: onnx.reference has no SequenceMap."""

    def compare(nodes: Any, feeds: Any, types: dict[str, int], **constants: Any) -> list[Any]:
        made = model(nodes, feeds, [*types], constants, output_types=types)
        expected = onnxruntime.InferenceSession(made.SerializeToString()).run(None, feeds)
        results = run(made, feeds)
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, wanted, strict=True)
        return results

    return compare


def test_each_tensor_of_a_sequence(like_onnxruntime: Like) -> None:
    """The sequences go on together, a tensor is the same for each, and so is what is around."""
    nodes = [
        MAKE,
        node("SequenceConstruct", ["c", "a", "b"], ["t"]),
        mapped(
            "map",
            ["s", "a", "t"],
            ["u", "v"],
            node("Sub", ["i0", "i2"], ["o0"]),
            node("Add", ["i1", "i0"], ["k"]),
            node("Mul", ["k", "b"], ["o1"]),
        ),
        node("ConcatFromSequence", ["u"], ["y"], axis=0),
        node("ConcatFromSequence", ["v"], ["z"], axis=1),
    ]
    y, z = like_onnxruntime(nodes, ABC, {"y": 1, "z": 1})
    np.testing.assert_array_equal(y, np.concatenate([A - C, B - A, C - B]))
    np.testing.assert_array_equal(z, np.concatenate([(A + each) * B for each in (A, B, C)], 1))


def test_a_sequence_without_tensors_is_mapped_to_one(like_onnxruntime: Like) -> None:
    nodes = [
        node("SequenceEmpty", [], ["e"]),
        mapped("map", ["e"], ["u"], node("Neg", ["i0"], ["o0"])),
        node("SequenceLength", ["u"], ["y"]),
    ]
    (y,) = like_onnxruntime(nodes, {"x": X}, {"y": 7})
    assert y.tolist() == 0


def test_sequences_of_other_lengths_are_not_mapped_together(model: Model) -> None:
    nodes = [
        MAKE,
        node("SequenceConstruct", ["a"], ["t"]),
        mapped("map", ["s", "t"], ["u"], node("Add", ["i0", "i1"], ["o0"])),
        node("ConcatFromSequence", ["u"], ["y"], axis=0),
    ]
    message = (
        r"'map' \(SequenceMap\): its sequences have {'s': 3, 't': 1} tensors: expected as many"
    )
    with pytest.raises(ParseError, match=message):
        parse(model(nodes, ABC).SerializeToString())


def test_a_branch_that_is_known_reads_a_sequence(like_onnxruntime: Like) -> None:
    out = helper.make_tensor_value_info("n", 7, [])
    branch = helper.make_graph([node("SequenceLength", ["s"], ["n"])], "g", [], [out])
    choice = node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch)
    (y,) = like_onnxruntime([MAKE, choice], ABC, {"y": 7}, yes=np.array(True))
    assert y.tolist() == 3


def test_a_body_reads_a_sequence(like_onnxruntime: Like) -> None:
    """Each iteration takes another tensor out of it."""
    body = helper.make_graph(
        [
            node("SequenceAt", ["s", "i"], ["t"]),
            node("Add", ["state", "t"], ["next"]),
            node("Identity", ["go"], ["more"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", 7, []),
            helper.make_tensor_value_info("go", 9, []),
            helper.make_tensor_value_info("state", 1, [3, 4]),
        ],
        [
            helper.make_tensor_value_info("more", 9, []),
            helper.make_tensor_value_info("next", 1, [3, 4]),
        ],
    )
    loop = node("Loop", ["n", "", "a"], ["y"], body=body)
    (y,) = like_onnxruntime([MAKE, loop], ABC, {"y": 1}, n=np.array(3))
    np.testing.assert_array_equal(y, A + A + B + C)


def test_a_branch_that_is_chosen_later_reads_no_sequence(model: Model) -> None:
    out = helper.make_tensor_value_info("n", 7, [])
    branch = helper.make_graph([node("SequenceLength", ["s"], ["n"])], "g", [], [out])
    choice = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    made = model([node("SequenceConstruct", ["x"], ["s"]), choice], {"x": X, "c": np.array(True)})
    with pytest.raises(UnsupportedOperatorError, match="'s'"):
        parse(made.SerializeToString())


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([MAKE, node("SequenceAt", ["s", "p"], ["y"])], "the position is 3: expected one of -3 to"),
        ([MAKE, node("SequenceErase", ["s", "p"], ["t"])], "the position is 3: expected"),
        (
            [node("SplitToSequence", ["a", "n"], ["t"])],
            r"the sizes \[1, 1\] are not those of parts of 3 elements",
        ),
        ([node("SplitToSequence", ["a", "z"], ["t"])], "the size of a part is 0: expected at"),
        (
            [node("SequenceConstruct", ["a", "p"], ["t"])],
            r"is tensor\(int64\): expected tensor\(fl",
        ),
        ([MAKE, node("SequenceInsert", ["s", "p"], ["t"])], "are of different types"),
        ([MAKE, node("SequenceAt", ["s", "a"], ["y"])], "the input 'position' is tensor.float"),
        ([node("SequenceLength", ["a"], ["y"])], "'input_sequence' is tensor.float.: expected one"),
        (
            [node("SequenceEmpty", [], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)],
            "its sequence is empty",
        ),
        (
            [MAKE, node("SequenceConstruct", ["a"], ["s"]), node("SequenceAt", ["s", "z"], ["y"])],
            "'s' is already made by",
        ),
        (
            [node("SequenceConstruct", ["a"], ["b"]), node("SequenceAt", ["b", "z"], ["y"])],
            "two inputs, initializers or nodes make a value named 'b'",
        ),
    ],
)
def test_malformed_sequences_are_refused(
    model: Model, nodes: list[onnx.NodeProto], message: str
) -> None:
    last = nodes[-1].output[0]
    if last == "t":
        nodes = [*nodes, node("SequenceLength", ["t"], ["y"])]
    constants = {"p": np.array(3), "n": np.array([1, 1]), "z": np.array(0)}
    with pytest.raises(ParseError, match=message):
        parse(model(nodes, ABC, constants=constants).SerializeToString())
