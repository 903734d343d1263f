# SPDX-License-Identifier: MIT
"""The stand-in for LiteRT says and computes what LiteRT does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before LiteRT is imported: it is talkative

import ai_edge_litert
import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import interpreter as litert
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray
from packaging.version import Version

import armnn_compat.litert as ours

Array = NDArray[Any]


def tensor(name: str, shape: list[int], kind: int, buffer: int = 0, **quantization: Any) -> Any:
    made = schema.TensorT()
    made.name, made.shape, made.type, made.buffer, made.hasRank = name, shape, kind, buffer, True
    if quantization:
        made.quantization = schema.QuantizationParametersT()
        for field, value in quantization.items():
            setattr(made.quantization, field, value)
    return made


def operator(
    model: Any, name: str, inputs: list[int], outputs: list[int], kind: str = "", **options: Any
) -> Any:
    code, made = schema.OperatorCodeT(), schema.OperatorT()
    code.builtinCode = getattr(schema.BuiltinOperator, name)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    code.version = options.pop("version", 1)
    made.opcodeIndex, made.inputs, made.outputs = len(model.operatorCodes), inputs, outputs
    model.operatorCodes.append(code)
    if kind:
        made.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        made.builtinOptions = getattr(schema, f"{kind}T")()
        for field, value in options.items():
            setattr(made.builtinOptions, field, value)
    return made


def part(tensors: list[Any], inputs: list[int], outputs: list[int], operators: list[Any]) -> Any:
    made = schema.SubGraphT()
    made.tensors, made.inputs, made.outputs, made.operators = tensors, inputs, outputs, operators
    return made


def empty_model(*constants: Array) -> Any:
    model = schema.ModelT()
    model.version, model.operatorCodes, model.buffers = 3, [], [schema.BufferT()]
    for data in constants:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(data.tobytes(), np.uint8)
        model.buffers.append(buffer)
    return model


def packed(model: Any, *subgraphs: Any) -> bytes:
    model.subgraphs = list(subgraphs)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


@pytest.fixture(scope="module")
def int8_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an int8 convolution with a scale per channel.

    It is of [1,6,5,3] to [1,3,3,4].
    """
    random = np.random.default_rng(3)
    weights = random.integers(-127, 128, (4, 3, 3, 3), dtype=np.int8)
    bias = random.integers(-900, 900, 4, dtype=np.int32)
    scales = [0.01, 0.02, 0.015, 0.005]
    model = empty_model(weights, bias)
    int8, int32 = schema.TensorType.INT8, schema.TensorType.INT32
    tensors = [
        tensor("x", [1, 6, 5, 3], int8, scale=[0.05], zeroPoint=[-4]),
        tensor("w", [4, 3, 3, 3], int8, 1, scale=scales, zeroPoint=[0] * 4),
        tensor("b", [4], int32, 2, scale=[0.05 * s for s in scales], zeroPoint=[0] * 4),
        tensor("y", [1, 3, 3, 4], int8, scale=[0.4], zeroPoint=[7]),
    ]
    strides = {"strideH": 2, "strideW": 2, "version": 3}
    convolution = operator(model, "CONV_2D", [0, 1, 2], [3], "Conv2DOptions", **strides)
    path = tmp_path_factory.mktemp("litert") / "convolution.tflite"
    path.write_bytes(packed(model, part(tensors, [0], [3], [convolution])))
    return path


def accumulator(start: float, *, computed: bool = False) -> bytes:
    """Return a model that adds x to a variable.

    The variable starts with a constant or its negative.
    """
    model = empty_model(np.full(2, start, np.float32))
    real, resource = schema.TensorType.FLOAT32, schema.TensorType.RESOURCE
    options: dict[str, Any] = {"kind": "VarHandleOptions", "sharedName": "sum", "container": ""}
    first = part(
        [tensor("handle", [], resource), tensor("start", [2], real, 1), tensor("neg", [2], real)],
        [],
        [],
        [
            operator(model, "VAR_HANDLE", [], [0], **options),
            operator(model, "NEG", [1], [2], "NegOptions"),
            operator(model, "ASSIGN_VARIABLE", [0, 2 if computed else 1], []),
        ],
    )
    main = part(
        [tensor("x", [2], real), tensor("handle", [], resource)]
        + [tensor(name, [2], real) for name in ("before", "y")],
        [0],
        [3],
        [
            operator(model, "CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1),
            operator(model, "VAR_HANDLE", [], [1], **options),
            operator(model, "READ_VARIABLE", [1], [2]),
            operator(model, "ADD", [2, 0], [3], "AddOptions"),
            operator(model, "ASSIGN_VARIABLE", [1, 3], []),
        ],
    )
    return packed(model, main, first)


@pytest.fixture(scope="module", params=["pitch", "int8"])
def path(request: pytest.FixtureRequest, model: Callable[[str], Path], int8_model: Path) -> Path:
    return model("pitch") if request.param == "pitch" else int8_model


def both(path: Path) -> tuple[Any, Any]:
    """Return LiteRT's interpreter on reference kernels, and ours."""
    reference = litert.OpResolverType.BUILTIN_REF
    return (
        litert.Interpreter(str(path), experimental_op_resolver_type=reference),
        ours.Interpreter(str(path), experimental_op_resolver_type=ours.OpResolverType.BUILTIN_REF),
    )


def assert_same_details(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert mine.keys() == theirs.keys()
    for key, value in theirs.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(mine[key], value, err_msg=key, strict=True)
        elif isinstance(value, dict):
            assert_same_details(mine[key], value)
        else:
            assert mine[key] == value, key
            assert type(mine[key]) is type(value), key


def assert_close(mine: Array, theirs: Array) -> None:
    assert mine.dtype == theirs.dtype
    assert mine.shape == theirs.shape
    if theirs.dtype == np.int8:
        assert np.abs(mine.astype(int) - theirs.astype(int)).max() <= 1
    else:
        np.testing.assert_allclose(mine, theirs, atol=1e-3 * np.ptp(theirs))


def sample(shape: Any, dtype: type) -> Array:
    random = np.random.default_rng(0)
    if dtype == np.int8:
        return random.integers(-128, 128, shape, dtype=np.int8)
    return random.uniform(-1, 1, shape).astype(dtype)


def run(interpreter: Any, shape: tuple[int, ...] | None = None) -> list[Array]:
    (given,) = interpreter.get_input_details()
    if shape is not None:
        interpreter.resize_tensor_input(given["index"], shape)
    interpreter.allocate_tensors()
    (given,) = interpreter.get_input_details()
    interpreter.set_tensor(given["index"], sample(given["shape"], given["dtype"]))
    interpreter.invoke()
    return [interpreter.get_tensor(made["index"]) for made in interpreter.get_output_details()]


def test_every_tensor_is_described_alike(path: Path) -> None:
    theirs, mine = both(path)
    for method in ("get_input_details", "get_output_details", "get_tensor_details"):
        expected = getattr(theirs, method)()
        described = getattr(mine, method)()
        assert len(described) == len(expected)
        for one, other in zip(described, expected, strict=True):
            assert_same_details(one, other)


def test_signatures_are_listed_alike(path: Path) -> None:
    theirs, mine = both(path)
    assert mine.get_signature_list() == theirs.get_signature_list()
    assert mine.num_subgraphs() == theirs.num_subgraphs()


def test_outputs_agree(path: Path) -> None:
    theirs, mine = both(path)
    for one, other in zip(run(mine), run(theirs), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("strategy", ["path", "content"])
def test_a_model_comes_from_a_file_or_from_bytes(int8_model: Path, strategy: str) -> None:
    arguments: dict[str, Any] = {
        "path": {"model_path": int8_model},
        "content": {"model_content": int8_model.read_bytes()},
    }[strategy]
    (mine,) = run(ours.Interpreter(**arguments, num_threads=2))
    (theirs,) = run(litert.Interpreter(str(int8_model)))
    assert_close(mine, theirs)


def test_inputs_are_resized_whether_or_not_the_model_leaves_them_open(
    path: Path, int8_model: Path
) -> None:
    theirs, mine = both(path)
    shapes = [(3, 6, 5, 3), (1, 11, 8, 3)] if path == int8_model else [(2, 43844, 1)]
    for shape in shapes:
        expected = run(theirs, shape)
        actual = run(mine, shape)
        for made, other in zip(mine.get_output_details(), theirs.get_output_details(), strict=True):
            assert_same_details(made, other)
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other)


def test_the_shapes_of_outputs_are_known_before_the_run(int8_model: Path) -> None:
    interpreter = ours.Interpreter(int8_model)
    interpreter.resize_tensor_input(0, [2, 8, 8, 3])
    interpreter.allocate_tensors()
    (made,) = interpreter.get_output_details()
    assert made["shape"].tolist() == [2, 4, 4, 4]
    assert interpreter.get_tensor(made["index"]).shape == (2, 4, 4, 4)


def test_a_signature_runs_as_a_function(model: Callable[[str], Path]) -> None:
    theirs, mine = (interpreter.get_signature_runner() for interpreter in both(model("pitch")))
    x = sample((1, 43844, 1), np.float32)
    expected = theirs(input_2=x)
    actual = mine(input_2=x)
    assert list(actual) == list(expected)
    for name, array in expected.items():
        assert_close(actual[name], array)
    assert mine.get_output_details().keys() == theirs.get_output_details().keys()
    assert_same_details(mine.get_input_details()["input_2"], theirs.get_input_details()["input_2"])


@pytest.mark.parametrize("start", [0.0, 3.0])
def test_variables_keep_their_values_from_run_to_run(start: float) -> None:
    content = accumulator(start)
    both = (litert.Interpreter(model_content=content), ours.Interpreter(model_content=content))
    sums = []
    for interpreter in both:
        interpreter.allocate_tensors()
        for step in range(3):
            interpreter.set_tensor(0, np.float32([step, 10]))
            interpreter.invoke()
        sums.append(interpreter.get_tensor(3))
    np.testing.assert_array_equal(sums[0], sums[1])
    np.testing.assert_array_equal(sums[1], np.float32([3, 30]) + start)


def test_a_variable_whose_first_value_is_computed_is_refused() -> None:
    with pytest.raises(ValueError, match="the variable 'sum' starts with a value that is computed"):
        ours.Interpreter(model_content=accumulator(1.0, computed=True))


def test_constants_can_be_read_and_inputs_written_in_place(int8_model: Path) -> None:
    theirs, mine = both(int8_model)
    theirs.allocate_tensors()
    mine.allocate_tensors()
    np.testing.assert_array_equal(mine.get_tensor(1), theirs.get_tensor(1))
    x = sample((1, 6, 5, 3), np.int8)
    for interpreter in (theirs, mine):
        interpreter.tensor(0)()[...] = x
        interpreter.invoke()
    assert_close(mine.tensor(3)(), theirs.get_tensor(3))


def test_what_litert_refuses_is_refused_with_the_same_exceptions(int8_model: Path) -> None:
    def refusal(action: Callable[[Any], object], interpreter: Any) -> type[BaseException]:
        with pytest.raises((ValueError, RuntimeError)) as caught:
            action(interpreter)
        return ValueError if isinstance(caught.value, ValueError) else RuntimeError

    x = sample((1, 6, 5, 3), np.int8)
    actions: list[Callable[[Any], object]] = [
        lambda i: i.invoke(),
        lambda i: i.set_tensor(0, x),
        lambda i: i.get_tensor(3),
        lambda i: i.set_tensor(99, x),
        lambda i: i.get_tensor(99),
        lambda i: i.allocate_tensors() or i.set_tensor(0, x.astype(np.float32)),
        lambda i: i.set_tensor(0, x[0]),
        lambda i: i.set_tensor(0, x[:, :5]),
        lambda i: i.get_signature_runner(),
        lambda i: i.get_signature_runner("other"),
        lambda i: i.resize_tensor_input(0, [2, 6, 5, 3], strict=True),
        lambda i: i.resize_tensor_input(99, [2, 6, 5, 3]),
    ]
    theirs, mine = both(int8_model)
    for action in actions:
        assert refusal(action, mine) is refusal(action, theirs)


def test_it_stands_for_no_newer_release_than_it_is_compared_with() -> None:
    assert Version(ours.__version__) <= Version(ai_edge_litert.__version__)


def test_every_public_name_is_there() -> None:
    def public(thing: Any) -> set[str]:
        return {name for name in dir(thing) if not name.startswith("_")}

    imported = {name for name, each in vars(litert).items() if isinstance(each, ModuleType)}
    assert public(litert) - public(ours.interpreter) - imported == set()
    for name in ("Interpreter", "SignatureRunner", "OpResolverType", "InterpreterWithCustomOps"):
        assert public(getattr(litert, name)) <= public(getattr(ours.interpreter, name))


def test_programs_import_it_under_the_names_that_they_know(
    int8_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ours.AlreadyImportedError, match="take the place of 'ai_edge_litert'"):
        ours.install()
    program = (
        "import sys, armnn_compat.litert as a; a.install()\n"
        "import tflite_runtime.interpreter as tflite\n"
        "from ai_edge_litert.interpreter import Interpreter, load_delegate\n"
        "assert tflite.Interpreter is Interpreter is a.Interpreter\n"
        "i = Interpreter(model_path=sys.argv[1], experimental_delegates=["
        "load_delegate('libarmnnDelegate.so.29', {'backends': 'CpuRef'})])\n"
        "i.allocate_tensors(); i.invoke(); print(i.get_tensor(3).shape)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(int8_model)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert run.stdout == "(1, 3, 3, 4)\n"
