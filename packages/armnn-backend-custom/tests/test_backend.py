# SPDX-License-Identifier: MIT
"""Custom takes float32 additions; a lone one becomes PreCompiled."""

from __future__ import annotations

import numpy as np
import pytest

import armnn
from armnn.backends import ModelContext, SubgraphView
from armnn.errors import BackendError, InvalidArgumentError
from armnn_backend_custom.backend import CustomBackend
from armnn_backend_custom.pre_compiled import CustomPreCompiledObject

FLOAT32 = armnn.DataType.FLOAT32
MODEL = ModelContext({})


def sums(*names: str, shape: tuple[int, ...] = (3, 4)) -> armnn.Network:
    """Return a network that adds b to a repeatedly."""
    net = armnn.Network("sums")
    a = net.add_input("a", armnn.TensorInfo(shape, FLOAT32))
    b = net.add_input("b", armnn.TensorInfo(shape, FLOAT32))
    for name in names:
        a = net.add_addition(a, b, name=name)
    net.add_output("out", a)
    return net


def layer_types(optimized: armnn.OptimizedNetwork) -> list[tuple[str, str | None]]:
    return [
        (layer.type, layer.backend)
        for layer in optimized.network.topological_order()
        if layer.type not in ("Input", "Output")
    ]


@pytest.fixture
def runtime() -> armnn.Runtime:
    with armnn.Runtime() as runtime:
        yield runtime


def test_addition_to_pre_compiled(runtime: armnn.Runtime) -> None:
    optimized = runtime.optimize(sums("sum"), backends=["Custom"])
    assert layer_types(optimized) == [("PreCompiled", "Custom")]
    first = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    loaded = runtime.load_network(optimized)
    out = loaded.run({"a": first, "b": np.float32(100) * first})["out"]
    assert out.ravel().tolist() == [
        *(101, 202, 303, 404),
        *(505, 606, 707, 808),
        *(909, 1010, 1111, 1212),
    ]


def test_the_report_says_what_the_addition_was_compiled_into(runtime: armnn.Runtime) -> None:
    (row,) = runtime.optimize(sums("sum"), backends=["Custom"]).report
    assert (row.layer, row.backend, row.compiled_into) == ("sum", "Custom", "pre-compiled")


def test_two_additions_in_a_row_stay_as_they_are(runtime: armnn.Runtime) -> None:
    optimized = runtime.optimize(sums("one", "two"), backends=["Custom"])
    assert layer_types(optimized) == [("Addition", "Custom"), ("Addition", "Custom")]
    out = runtime.load_network(optimized).run(
        {"a": np.ones((3, 4), np.float32), "b": np.full((3, 4), 2, np.float32)}
    )["out"]
    assert (out == 5).all()


def test_lone_additions_between_layers_of_others_are_each_compiled(runtime: armnn.Runtime) -> None:
    net = armnn.Network("alternating")
    x = net.add_input("x", armnn.TensorInfo((2,), FLOAT32))
    doubled = net.add_addition(x, x, name="doubled")
    root = net.add_elementwise_unary(doubled, operation=armnn.UnaryOperation.SQRT, name="root")
    net.add_output("out", net.add_addition(root, x, name="total"))
    optimized = runtime.optimize(net, backends=["Custom", "CpuRef"])
    assert layer_types(optimized) == [
        ("PreCompiled", "Custom"),
        ("ElementwiseUnary", "CpuRef"),
        ("PreCompiled", "Custom"),
    ]
    out = runtime.load_network(optimized).run({"x": np.float32([2, 8])})["out"]
    assert out.tolist() == [4, 12]


def test_a_sum_that_two_read_is_computed_once(runtime: armnn.Runtime) -> None:
    net = sums("sum")
    net.add_output("again", net.find("sum").output)
    optimized = runtime.optimize(net, backends=["Custom"])
    assert layer_types(optimized) == [("PreCompiled", "Custom")]
    outputs = runtime.load_network(optimized).run(
        {"a": np.ones((3, 4), np.float32), "b": np.ones((3, 4), np.float32)}
    )
    assert [(name, float(array.max())) for name, array in outputs.items()] == [
        ("out", 2),
        ("again", 2),
    ]


def test_custom_leaves_a_subgraph_of_two_layers_untouched() -> None:
    net = sums("one", "two")
    view = SubgraphView.of(net, [net.find("one"), net.find("two")])
    views = CustomBackend().optimize_subgraph(view, MODEL)
    assert views.untouched == [view]
    assert views.substitutions == []


def test_operands_may_broadcast(runtime: armnn.Runtime) -> None:
    net = armnn.Network("broadcast")
    column = net.add_input("column", armnn.TensorInfo((2, 1), FLOAT32))
    row = net.add_input("row", armnn.TensorInfo((1, 3), FLOAT32))
    net.add_output("out", net.add_addition(column, row))
    loaded = runtime.load_network(runtime.optimize(net, backends=["Custom"]))
    out = loaded.run({"column": np.float32([[10], [20]]), "row": np.float32([[1, 2, 3]])})["out"]
    assert out.tolist() == [[11, 12, 13], [21, 22, 23]]


def test_nobody_uses_custom_without_naming_it(runtime: armnn.Runtime) -> None:
    assert layer_types(runtime.optimize(sums("sum"))) == [("Addition", "CpuRef")]


def test_custom_runs_float32() -> None:
    net = sums("sum")
    backend = CustomBackend()
    assert all(backend.supports(layer, MODEL) for layer in net.topological_order())


@pytest.mark.parametrize("odd_one", ["input 0", "input 1", "output 0"])
def test_every_tensor_must_be_float32(odd_one: str) -> None:
    """Arm NN's example looks at the first input only."""
    tensors = dict.fromkeys(("input 0", "input 1", "output 0"), armnn.TensorInfo((2,), FLOAT32))
    tensors[odd_one] = armnn.TensorInfo((2,), armnn.DataType.FLOAT16)
    net = armnn.Network("half")
    operands = [net.add_input(name, tensors[name]) for name in ("input 0", "input 1")]
    (out,) = net.add_pre_compiled(operands, outputs=[tensors["output 0"]], name="c")
    assert CustomBackend().supports(out.producer, MODEL).reason == (
        f"Data type not supported. Custom runs Float32, {odd_one} is Float16."
    )


def test_other_layers_are_refused_by_type() -> None:
    net = armnn.Network("floor")
    x = net.add_input("x", armnn.TensorInfo((2,), FLOAT32))
    down = net.add_floor(x).producer
    assert CustomBackend().supports(down, MODEL).reason == (
        "Custom runs Input, Output, Addition, MemCopy, PreCompiled; got a layer of type Floor."
    )


def test_an_addition_of_integers_goes_to_another_backend(runtime: armnn.Runtime) -> None:
    net = armnn.Network("integers")
    a = net.add_input("a", armnn.TensorInfo((2,), armnn.DataType.SIGNED32))
    net.add_output("out", net.add_addition(a, a, name="sum"))
    (row,) = runtime.optimize(net, backends=["Custom", "CpuRef"]).report
    assert row.backend == "CpuRef"
    assert "Data type not supported. Custom runs Float32, input 0 is Signed32." in row.reason


def test_an_addition_of_half_precision_runs_between_conversions(runtime: armnn.Runtime) -> None:
    net = armnn.Network("half")
    a = net.add_input("a", armnn.TensorInfo((2,), armnn.DataType.FLOAT16))
    net.add_output("out", net.add_addition(a, a, name="sum"))
    optimized = runtime.optimize(net, backends=["Custom", "CpuRef"])
    (row,) = (row for row in optimized.report if row.layer == "sum")
    assert row.backend == "Custom"
    result = runtime.load_network(optimized).run({"a": np.float16([1.5, -3])})["out"]
    assert (result.dtype, result.tolist()) == (np.float16, [3, -6])


def test_a_layer_without_a_workload_is_refused_by_name(runtime: armnn.Runtime) -> None:
    net = armnn.Network("floor")
    x = net.add_input("x", armnn.TensorInfo((2,), FLOAT32))
    net.add_output("out", net.add_floor(x, name="down"))
    with pytest.raises(BackendError, match="no workload for layer 'down' of type Floor"):
        CustomBackend().create_workload(net.find("down"), MODEL)


def test_a_pre_compiled_layer_of_another_backend_is_refused() -> None:
    net = armnn.Network("foreign")
    x = net.add_input("x", armnn.TensorInfo((2,), FLOAT32))
    (out,) = net.add_pre_compiled([x, x], outputs=[armnn.TensorInfo((2,), FLOAT32)], name="c")
    net.add_output("out", out)
    layer = net.find("c")
    with pytest.raises(
        InvalidArgumentError, match="requires a valid pre-compiled object: got None"
    ):
        CustomBackend().create_workload(layer, MODEL)
    layer.compiled = CustomPreCompiledObject()
    assert CustomBackend().create_workload(layer, MODEL) is not None
