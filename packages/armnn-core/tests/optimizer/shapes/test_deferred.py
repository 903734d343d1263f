# SPDX-License-Identifier: MIT
"""Deferred operators become layers when their data is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import armnn
from armnn.errors import GraphError, ParseError
from armnn.graph import DeferredOperator, Network, Value
from armnn.layers.plumbing import StandInDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Repeat(DeferredOperator):
    """Repeats the first input along its first axis.

    The second input is the number of repetitions.
    """

    operator = "Repeat"
    awaits = (1,)

    def __init__(self) -> None:
        self.calls: list[int] = []

    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        value, times = inputs
        assert times.constant is not None
        count = int(times.constant)
        self.calls.append(count)
        if count < 0:
            raise ParseError(f"cannot repeat {count} times")
        return [network.add_concat([value] * count, axis=0)]


def repeated(
    network: Network, value: Value, times: Value, data_type: DataType = DataType.FLOAT32
) -> tuple[Repeat, Value]:
    operator = Repeat()
    layer = network.add(
        "StandIn",
        [value, times],
        StandInDescriptor(num_outputs=1),
        outputs=[TensorInfo(None, data_type)],
    )
    layer.compiled = operator
    return operator, layer.output


def model(times: TensorInfo, rows: int | str = 2) -> tuple[Repeat, Network]:
    network = Network("repeat")
    x = network.add_input("x", TensorInfo((rows, 3)))
    operator, value = repeated(network, x, network.add_input("times", times))
    network.add_output("y", network.add_addition(value, value))
    network.add_output("x2", network.add_addition(x, x))
    return operator, network


def test_the_value_of_an_input_resolves_it_once_per_value() -> None:
    operator, network = model(TensorInfo((), DataType.SIGNED32))
    with armnn.load_model(network, backends=["CpuRef"]) as loaded:
        for count in (2, 1, 2):
            outputs = loaded.run({"x": X, "times": np.array(count, np.int32)})
            np.testing.assert_array_equal(outputs["y"], np.tile(2 * X, (count, 1)))
            assert list(outputs) == ["y", "x2"]
        assert operator.calls == [2, 1]
        assert loaded.outputs["y"].shape is None


def test_a_constant_resolves_it_at_load_even_if_another_dimension_is_unknown() -> None:
    network = Network()
    rows = network.add_input("rows", TensorInfo(("n", 3)))
    fixed = network.add_input("fixed", TensorInfo((2, 3)))
    operator, value = repeated(network, fixed, network.add_constant(np.array(3)))
    network.add_output("y", value)
    network.add_output("z", network.add_addition(rows, rows))
    with armnn.load_model(network, backends=["CpuRef"]) as loaded:
        assert loaded.outputs["y"].shape == (6, 3)
        for count in (1, 2):
            loaded.run({"rows": X[:count], "fixed": X})
        assert operator.calls == [3]


def test_computed_data_resolves_it_after_the_first_part_has_run() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 3)))
    most = network.add_reduce(x, reduce_operation=armnn.ReduceOperation.MAX, axis=(0, 1))
    times = network.add_cast(most, output=DataType.SIGNED32)
    operator, value = repeated(network, x, times)
    again, value = repeated(network, value, times)
    network.add_output("y", value)
    with armnn.load_model(network, backends=["CpuRef"]) as loaded:
        for scale in (0.2, 0.4, 0.2):
            y = loaded.run({"x": X * np.float32(scale)})["y"]
            count = int(5 * scale + 0.01)
            np.testing.assert_array_equal(y, np.tile(X * np.float32(scale), (count**2, 1)))
    assert operator.calls == again.calls == [1, 2]


def test_a_float_input_resolves_it() -> None:
    _, network = model(TensorInfo((), DataType.FLOAT32))
    with armnn.load_model(network, backends=["CpuRef"]) as loaded:
        assert loaded.run({"x": X, "times": np.array(2, np.float32)})["y"].shape == (4, 3)


def test_an_operator_inside_another_one_may_await_an_input_that_nothing_awaited() -> None:
    class Outer(DeferredOperator):
        operator = "Outer"
        awaits = (1,)

        def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
            return [repeated(network, inputs[0], inputs[2])[1]]

    network = Network()
    values = [
        network.add_input("x", TensorInfo((2, 3))),
        network.add_input("condition", TensorInfo((), DataType.BOOLEAN)),
        network.add_input("times", TensorInfo((), DataType.FLOAT32)),
    ]
    layer = network.add(
        "StandIn", values, StandInDescriptor(num_outputs=1), outputs=[TensorInfo(None)]
    )
    layer.compiled = Outer()
    network.add_output("y", layer.output)
    with armnn.load_model(network, backends=["CpuRef"]) as loaded:
        feeds = {"x": X, "condition": np.array(True)}
        for count in (1, 3, 1):
            y = loaded.run({**feeds, "times": np.array(count, np.float32)})["y"]
            assert y.shape == (2 * count, 3)


def test_data_of_too_many_elements_is_refused() -> None:
    operator, network = model(TensorInfo((None,), DataType.SIGNED32))
    with (
        armnn.load_model(network, backends=["CpuRef"]) as loaded,
        pytest.raises(GraphError, match=r"Repeat \('StandIn_\d'\) .*: expected at most 65536 ele"),
    ):
        loaded.run({"x": X, "times": np.zeros(65537, np.int32)})
    assert operator.calls == []


def test_what_an_operator_refuses_is_refused_by_the_run() -> None:
    _, network = model(TensorInfo((), DataType.SIGNED32))
    with (
        armnn.load_model(network, backends=["CpuRef"]) as loaded,
        pytest.raises(ParseError, match="cannot repeat -1 times"),
    ):
        loaded.run({"x": X, "times": np.array(-1, np.int32)})


def test_an_operator_must_become_what_was_said() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 3)))
    _, value = repeated(network, x, network.add_constant(np.array(2)), DataType.SIGNED32)
    network.add_output("y", value)
    expected = r"of the operator Repeat is Float32: the model says Signed32"
    with pytest.raises(ParseError, match=expected):
        armnn.load_model(network, backends=["CpuRef"])
