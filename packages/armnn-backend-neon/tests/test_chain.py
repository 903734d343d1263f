# SPDX-License-Identifier: MIT
"""Chained pointwise layers compute the same bits as alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import (
    ActivationFunction,
    BinaryOperation,
    ComparisonOperation,
    DataLayout,
    DataType,
    Network,
    TensorInfo,
    UnaryOperation,
)
from armnn.tensor import info_of

if TYPE_CHECKING:
    from armnn import Value

Array: TypeAlias = NDArray[Any]
A, B, U = ActivationFunction, BinaryOperation, UnaryOperation


class Step(NamedTuple):
    """A chain's layer: operands, and whether its output is read."""

    name: str
    add: Callable[..., Value]
    operands: Sequence[str]
    is_output: bool = False


def binary(operation: BinaryOperation) -> Callable[..., Value]:
    return lambda net, x, y: net.add_elementwise_binary(x, y, operation=operation)


def unary(operation: UnaryOperation) -> Callable[..., Value]:
    return lambda net, x: net.add_elementwise_unary(x, operation=operation)


def activation(
    function: ActivationFunction, a: float = 1.0, b: float = 1.0
) -> Callable[..., Value]:
    return lambda net, x: net.add_activation(x, function=function, a=a, b=b)


def number(value: float, operation: BinaryOperation) -> Callable[..., Value]:
    """Arithmetic with one number."""
    constant = np.array([value], np.float32)
    return lambda net, x: net.add_elementwise_binary(
        x, net.add_constant(constant), operation=operation
    )


def truth(net: Network, x: Value, y: Value) -> Value:
    return net.add_comparison(x, y, operation=ComparisonOperation.GREATER)


def where(net: Network, condition: Value, x: Value, y: Value) -> Value:
    return net.add_where(condition, x, y)


def prelu(net: Network, x: Value, slopes: Value) -> Value:
    return net.add_prelu(x, slopes)


def whole(net: Network, x: Value) -> Value:
    return net.add_cast(x, output=DataType.SIGNED32)


def real(net: Network, x: Value) -> Value:
    return net.add_cast(x, output=DataType.FLOAT32)


def half(net: Network, x: Value) -> Value:
    return net.add_cast(x, output=DataType.FLOAT16)


def quantize(net: Network, x: Value) -> Value:
    return net.add_quantize(x, output=TensorInfo(None, DataType.QASYMM_S8, 0.05, -3))


def dequantize(net: Network, x: Value) -> Value:
    return net.add_dequantize(x)


HARD_SWISH = [
    Step("above", number(2.5, B.ADD), ["x"]),
    Step("inside", activation(A.BOUNDED_RELU, 5.0, 0.0), ["above"]),
    Step("product", binary(B.MUL), ["x", "inside"]),
    Step("y", number(0.3, B.MUL), ["product"], True),
]
GELU = [
    Step("divided", number(1.3, B.DIV), ["x"]),
    Step("error", unary(U.ERF), ["divided"]),
    Step("above", number(1.0, B.ADD), ["error"]),
    Step("product", binary(B.MUL), ["x", "above"]),
    Step("y", number(0.7, B.MUL), ["product"], True),
]
# What is computed from the average is in the caller's hands here.
NORMALIZATION = [
    Step("off", binary(B.SUB), ["x", "row"], True),
    Step("squares", binary(B.MUL), ["off", "off"], True),
    Step("divided", binary(B.DIV), ["off", "row"]),
    Step("scaled", binary(B.MUL), ["divided", "line"]),
    Step("y", binary(B.ADD), ["scaled", "line"], True),
]
SWISH = [
    Step("sigmoid", activation(A.SIGMOID), ["x"]),
    Step("y", binary(B.MUL), ["sigmoid", "x"], True),
]
SCALED_SWISH = [
    Step("scaled", number(1.702, B.MUL), ["x"]),
    Step("sigmoid", activation(A.SIGMOID), ["scaled"]),
    Step("y", binary(B.MUL), ["x", "sigmoid"], True),
]
GATED = [
    Step("scaled", binary(B.MUL), ["x", "line"]),
    Step("sum", binary(B.ADD), ["x", "scaled"]),
    Step("y", prelu, ["sum", "line"], True),
]
MASKED = [
    Step("is", truth, ["x", "z"]),
    Step("mask", real, ["is"]),
    Step("kept", binary(B.MUL), ["x", "mask"]),
    Step("y", where, ["is", "kept", "row"], True),
]
BYTES = [
    Step("a", quantize, ["x"]),
    Step("b", dequantize, ["a"]),
    Step("c", binary(B.MAXIMUM), ["b", "row"]),
    Step("d", whole, ["c"], True),
    Step("e", real, ["d"]),
    Step("y", quantize, ["e"], True),
]
HALVES = [
    Step("half", half, ["x"]),
    Step("sum", binary(B.ADD), ["half", "half"]),
    Step("t", activation(A.TANH), ["sum"], True),
    Step("y", real, ["t"], True),
]
TREE = [
    Step("a", unary(U.EXP), ["x"]),
    Step("b", activation(A.TANH), ["z"]),
    Step("c", binary(B.SUB), ["a", "b"], True),
    Step("d", binary(B.SQ_DIFF), ["c", "one"]),
    Step("e", binary(B.MINIMUM), ["d", "a"]),
    Step("y", binary(B.ADD), ["e", "b"], True),
]
LONG = [
    Step(str(i), activation(A.TANH), ["x" if i == 0 else str(i - 1)], i in (7, 39))
    for i in range(40)
]
CHAINS = {
    "hard-swish": HARD_SWISH,
    "gelu": GELU,
    "normalization": NORMALIZATION,
    "swish": SWISH,
    "scaled swish": SCALED_SWISH,
    "gated": GATED,
    "masked": MASKED,
    "bytes": BYTES,
    "halves": HALVES,
    "tree": TREE,
    "long": LONG,
}
SHAPES = [(1, 1, 1), (1, 3, 7), (2, 5, 1), (3, 1, 17), (2, 130, 24), (1, 3, 5000), (0, 3, 4)]


def operands(shape: tuple[int, ...]) -> dict[str, Array]:
    """Return two tensors, and numbers repeated in three ways.

    They are one number, a line of the last axis, a number per line.
    """
    rng = np.random.default_rng(8)
    tensors = {
        "x": 3 * rng.standard_normal(shape, np.float32),
        "z": rng.standard_normal(shape, np.float32),
        "one": rng.standard_normal((1,) * len(shape), np.float32),
        "line": rng.standard_normal((1, *(1,) * (len(shape) - 2), shape[-1]), np.float32),
        "row": rng.standard_normal((*shape[:-1], 1), np.float32),
    }
    special = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40]
    tensors["x"].flat[: len(special)] = special[: tensors["x"].size]
    return tensors


class Tensor(NamedTuple):
    """Elements, and their real values."""

    data: Array
    info: TensorInfo


def run_steps(
    steps: Sequence[Step], known: dict[str, Tensor], threads: int = 1
) -> dict[str, Tensor]:
    """Compute all steps in a network; return the read outputs."""
    used = {name for step in steps for name in step.operands}
    feeds = {name: tensor.data for name, tensor in known.items() if name in used}
    net = Network()
    values = {name: net.add_input(name, known[name].info) for name in feeds}
    for step in steps:
        values[step.name] = step.add(net, *(values[name] for name in step.operands))
        if step.is_output:
            net.add_output(step.name, values[step.name])
    options = {"CpuAcc": {"NumberOfThreads": threads}}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(net, backends=["CpuAcc"], backend_options=options)
        made = loaded.run(feeds)
    return {name: Tensor(np.array(data), values[name].info) for name, data in made.items()}


def are_same(actual: Array, expected: Array) -> bool:
    """Return whether all bits are the same, NaN's excepted."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    numbers = expected == expected
    return np.array_equal(actual == actual, numbers) and (
        actual[numbers].tobytes() == expected[numbers].tobytes()
    )


def run_alone(steps: Sequence[Step], known: dict[str, Tensor]) -> dict[str, Tensor]:
    """Compute a network per step, fed by the previous one."""
    known = dict(known)
    for step in steps:
        known |= run_steps([step._replace(is_output=True)], known)
    return {step.name: known[step.name] for step in steps if step.is_output}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.usefixtures("level")
def test_a_chain_computes_what_its_layers_compute_alone(
    chain: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "2")
    known = {name: Tensor(data, info_of(data)) for name, data in operands(shape).items()}
    together = run_steps(CHAINS[chain], known, threads=2)
    alone = run_alone(CHAINS[chain], known)
    assert together.keys() == alone.keys()
    for name, expected in alone.items():
        assert are_same(together[name].data, expected.data)


@pytest.mark.usefixtures("level")
def test_nothing_between_the_layers_of_a_chain_is_in_memory() -> None:
    """Tensors of 400 kB need only the chain's buffers."""
    net = Network("line")
    value = net.add_input("x", TensorInfo((100, 1000)))
    line = net.add_input("line", TensorInfo((1, 1000)))
    for _ in range(3):
        value = net.add_multiplication(net.add_activation(value, function=A.TANH, a=1, b=1), line)
    net.add_output("y", value)
    with armnn.Runtime() as runtime:
        options = {"CpuAcc": {"NumberOfThreads": 1}}
        model = runtime.load_model(net, backends=["CpuAcc"], backend_options=options)
        (part,) = model.report.compiled_parts
        assert part.footprint is not None
        assert part.footprint.arena_bytes == part.footprint.scratch_bytes
        assert part.footprint.scratch_bytes < 32 * 1024


@pytest.mark.usefixtures("level")
def test_a_chain_waits_for_what_it_reads_from_elsewhere() -> None:
    """The reduction between two layers forbids one walk."""
    x = np.random.default_rng(9).standard_normal((5, 33), np.float32)
    net = Network()
    doubled = net.add_addition(*[net.add_input("x", TensorInfo(x.shape))] * 2)
    mean = net.add_mean(doubled, axis=(1,), keep_dims=True)
    off = net.add_subtraction(doubled, mean)
    net.add_output("y", net.add_multiplication(off, off))
    with armnn.Runtime() as runtime:
        y = runtime.load_model(net, backends=["CpuAcc"]).run({"x": x})["y"]
    wide = 2 * x.astype(np.float64)
    expected = (wide - wide.mean(axis=1, keepdims=True)) ** 2
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("level")
def test_a_convolution_takes_over_a_swish_that_is_spelt_out() -> None:
    """Its own sigmoid and product give the same bits."""
    rng = np.random.default_rng(10)
    x = rng.standard_normal((1, 6, 5, 9), np.float32)
    weights = rng.standard_normal((21, 3, 3, 9), np.float32)
    outputs = []
    for is_together in (True, False):
        net = Network()
        image = net.add_input("x", TensorInfo(x.shape))
        right = net.add_constant(weights)
        made = net.add_convolution2d(image, right, data_layout=DataLayout.NHWC)
        gate = net.add_activation(made, function=A.SIGMOID)
        y = net.add_multiplication(gate, made)
        net.add_output("y", y)
        if not is_together:
            net.add_output("made", made)
        with armnn.Runtime() as runtime:
            outputs.append(runtime.load_model(net, backends=["CpuAcc"]).run({"x": x}))
    assert outputs[0]["y"].tobytes() == outputs[1]["y"].tobytes()
    sums = outputs[1]["made"].astype(np.float64)
    np.testing.assert_allclose(outputs[0]["y"], sums / (1 + np.exp(-sums)), rtol=1e-5, atol=1e-6)
