# SPDX-License-Identifier: MIT
"""Computation in other floating point types, between conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from armnn import DataType, Network, TensorInfo
from armnn.backends import SUPPORTED, ModelContext, Support
from armnn.errors import OptimizationError
from armnn.optimizer import OptimizedNetwork, OptimizerOptions
from armnn.optimizer.assignment.conversions import Conversions, reduce_floats

RANDOM = np.random.default_rng(5)
FP16 = OptimizerOptions(reduce_fp32_to_fp16=True)
BF16 = OptimizerOptions(reduce_fp32_to_bf16=True)
HALVES = {"fp16": (FP16, DataType.FLOAT16, 2**-10), "bf16": (BF16, DataType.BFLOAT16, 2**-7)}
X = RANDOM.uniform(-1, 1, (1, 3, 4, 4)).astype(np.float32)


def numbers(*shape: int) -> np.ndarray:
    return RANDOM.uniform(-0.5, 0.5, shape).astype(np.float32)


def block(data_type: DataType = DataType.FLOAT32) -> Network:
    """Return conv, relu, multiplication and an output in between."""
    dtype = data_type.numpy_dtype
    network = Network("block")
    x = network.add_input("x", TensorInfo((1, 3, 4, 4), data_type))
    weights, bias = numbers(2, 3, 3, 3).astype(dtype), numbers(2).astype(dtype)
    value = network.add_convolution2d(x, weights, bias, name="conv")
    value = network.add_activation(value, function="ReLu", name="relu")
    network.add_output("middle", value)
    network.add_output("y", network.add_multiplication(value, value, name="square"))
    return network


def lacking(types: tuple[DataType, ...], reason: str = "no 16 bits", *, but: str = "") -> Any:
    """Return a ``supports`` that refuses layers on some types.

    Conversions and layers of the name ``but`` are supported.
    """

    def supports(_self: object, layer: Any, _model: ModelContext) -> Support:
        if layer.name == but or layer.type in ("Cast", "ConvertFp16ToFp32", "ConvertFp32ToFp16"):
            return SUPPORTED
        infos = (*layer.input_infos, *layer.output_infos)
        refused = any(info is not None and info.data_type in types for info in infos)
        return Support.no(reason) if refused else SUPPORTED

    return supports


def kinds(network: Network) -> list[tuple[str, str]]:
    """Return type and data type of each layer that computes."""
    return [
        (layer.type, layer.output.info.data_type.arm_name)
        for layer in network.topological_order()
        if layer.type not in ("Input", "Output", "Constant")
    ]


# -- reduction ----------------------------------------------------------------------------------


@pytest.mark.parametrize("half", HALVES)
def test_all_layers_compute_in_the_type_and_come_close(
    half: str, participants: Callable[..., Any], make_backend, make_runtime, compute
) -> None:
    options, data_type, precision = HALVES[half]
    network = block()
    optimized = OptimizedNetwork(network, participants(make_backend("Fake")), options)
    assert {
        name for kind, name in kinds(optimized.network) if kind not in ("Cast", "ConvertFp16ToFp32")
    } == {data_type.arm_name}
    assert optimized.inputs["x"].data_type is DataType.FLOAT32
    assert [info.data_type for info in optimized.outputs.values()] == [DataType.FLOAT32] * 2
    model = make_runtime(make_backend("Fake")).load_model(network, ["Fake"], options=options)
    outputs, exact = model.run({"x": X}), compute(network, {"x": X})
    for name, expected in exact.items():
        error = np.abs(outputs[name] - expected).max() / np.abs(expected).max()
        assert 0 < error < 4 * precision, name


def test_the_conversions_have_arm_nns_names(participants, make_backend) -> None:
    optimized = OptimizedNetwork(block(), participants(make_backend("Fake")), FP16)
    made = {row.layer: row.type for row in optimized.report if row.type.startswith("Convert")}
    assert made == {
        "convert_fp32_to_fp16-0-conv": "ConvertFp32ToFp16",
        "convert_fp16_to_fp32-0-relu": "ConvertFp16ToFp32",
        "convert_fp16_to_fp32-0-square": "ConvertFp16ToFp32",
    }


def test_a_second_reduction_changes_nothing() -> None:
    network = block()
    assert reduce_floats(Conversions(network, lambda layers: layers[0]), FP16) == 3
    before = kinds(network)
    assert reduce_floats(Conversions(network, lambda layers: layers[0]), FP16) == 0
    assert kinds(network) == before


@pytest.mark.parametrize(
    ("options", "largest"), [(FP16, 65504.0), (BF16, float(2**127 * (2 - 2**-7)))]
)
def test_constants_beyond_the_type_become_its_largest_numbers(
    options: OptimizerOptions, largest: float
) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((4,)))
    limit = np.finfo(np.float32).max
    mask = np.array([limit, -limit, np.inf, 1], np.float32)
    network.add_output("y", network.add_minimum(x, mask, name="min"))
    reduce_floats(Conversions(network, lambda layers: layers[0]), options)
    constant = network.find("min").constant("other")
    assert constant is not None
    assert constant.astype(np.float64).tolist() == [largest, -largest, np.inf, 1]


def test_integers_conditions_and_shapes_keep_their_types() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 3)))
    i = network.add_input("i", TensorInfo((2,), DataType.SIGNED32))
    picked = network.add_gather(x, i, name="gather")
    above = network.add_comparison(picked, x, operation="Greater", name="above")
    number = network.add_cast(picked, output=DataType.SIGNED32, name="number")
    for name, value in (("a", picked), ("b", above), ("c", number)):
        network.add_output(name, value)
    assert reduce_floats(Conversions(network, lambda layers: layers[0]), FP16) == 2
    gather, cast = network.find("gather"), network.find("number")
    assert [info.data_type.arm_name for info in gather.input_infos if info] == [
        "Float16", "Signed32",
    ]  # fmt: skip
    assert cast.input_infos[0] is not None
    assert cast.input_infos[0].data_type is DataType.FLOAT32  # integers need its precision
    assert [layer.input_infos[0].data_type.arm_name for layer in network.outputs] == [
        "Float32", "Boolean", "Signed32",
    ]  # fmt: skip


def test_a_reduction_that_no_backend_runs_leaves_no_conversion(participants, make_backend) -> None:
    backend = make_backend("Fake", supports=lacking((DataType.FLOAT16,)))
    optimized = OptimizedNetwork(block(), participants(backend), FP16)
    assert kinds(optimized.network) == [
        ("Convolution2d", "Float32"), ("Activation", "Float32"), ("Multiplication", "Float32"),
    ]  # fmt: skip
    assert all("computes in Float32: Fake refuses Float16" in str(r) for r in optimized.report)


# -- layers whose type a backend lacks ----------------------------------------------------------


@pytest.mark.parametrize("half", HALVES)
def test_a_layer_whose_type_a_backend_lacks_is_wrapped(
    half: str, participants, make_backend, make_runtime, compute
) -> None:
    _, data_type, precision = HALVES[half]
    backend = make_backend("Fake", supports=lacking((data_type,), but="relu"))
    network = block(data_type)
    optimized = OptimizedNetwork(network, participants(backend), OptimizerOptions())
    rows = {row.layer: row for row in optimized.report}
    assert not any(row.is_fallback for row in rows.values())
    assert [name for name, row in rows.items() if row.conversion] == ["conv", "square"]
    assert rows["conv"].conversion == (
        f"computes in Float32: Fake refuses {data_type.arm_name}: no 16 bits"
    )
    assert rows["conv"].as_dict()["conversion"] == rows["conv"].conversion
    assert [name for name, row in rows.items() if row.type in ("Cast", "ConvertFp16ToFp32",
            "ConvertFp32ToFp16")] == [
        f"convert_{half}_to_fp32-0-conv", f"convert_fp32_to_{half}-0-conv",
        f"convert_{half}_to_fp32-0-square", f"convert_fp32_to_{half}-0-square",
    ]  # fmt: skip
    model = make_runtime(backend).load_model(network, ["Fake"])
    x = X.astype(data_type.numpy_dtype)
    outputs = model.run({"x": x})
    for name, expected in compute(network, {"x": x}).items():
        assert outputs[name].dtype == data_type.numpy_dtype
        np.testing.assert_allclose(
            outputs[name].astype(np.float64),
            expected,
            rtol=4 * precision,
            atol=4 * precision,
            err_msg=name,
        )


def test_layers_that_follow_each_other_have_no_conversions_between_them(
    participants, make_backend
) -> None:
    network = Network()
    value = network.add_input("x", TensorInfo((2,), DataType.FLOAT16))
    for name in ("a", "b", "c"):
        value = network.add_activation(value, function="ReLu", name=name)
    network.add_output("y", value)
    backend = make_backend("Fake", supports=lacking((DataType.FLOAT16,)))
    optimized = OptimizedNetwork(network, participants(backend), OptimizerOptions())
    assert [row.layer for row in optimized.report] == [
        "convert_fp16_to_fp32-0-a", "a", "b", "c", "convert_fp32_to_fp16-0-c",
    ]  # fmt: skip
    assert [layer.type for layer in optimized.network.layers].count("Activation") == 3


def test_conversions_run_on_the_first_backend_that_has_them(participants, make_backend) -> None:
    def supports(_self: object, layer: Any, _model: ModelContext) -> Support:
        if layer.type.startswith("Convert") or layer.type == "Cast":
            return Support.no("no conversions")
        return lacking((DataType.FLOAT16,))(None, layer, None)

    parties = participants(make_backend("First", supports=supports), make_backend("Second"))
    network = block(DataType.FLOAT16)
    optimized = OptimizedNetwork(network, parties, OptimizerOptions())
    on = {row.layer: row.backend for row in optimized.report}
    assert on["conv"] == "First"
    assert on["convert_fp16_to_fp32-0-conv"] == "Second"


def test_without_conversions_a_layer_falls_back(participants, make_backend) -> None:
    def supports(_self: object, layer: Any, _model: ModelContext) -> Support:
        if layer.type.startswith("Convert") or layer.type == "Cast":
            return Support.no("no conversions")
        return lacking((DataType.FLOAT16,))(None, layer, None)

    def unconverting(_self: object, layer: Any, _model: ModelContext) -> Support:
        return Support.no("no") if layer.type in ("ConvertFp16ToFp32", "Cast") else SUPPORTED

    parties = participants(
        make_backend("First", supports=supports), make_backend("Second", supports=unconverting)
    )
    optimized = OptimizedNetwork(block(DataType.FLOAT16), parties, OptimizerOptions())
    assert {(row.backend, row.reason) for row in optimized.report} == {
        ("Second", "First: no 16 bits")
    }
    with pytest.raises(OptimizationError, match="First: no 16 bits"):
        OptimizedNetwork(
            block(DataType.FLOAT16), participants(make_backend("First", supports=supports)),
            OptimizerOptions(),
        )  # fmt: skip


def test_a_layer_that_float32_does_not_help_falls_back(participants, make_backend) -> None:
    parties = participants(make_backend("First", {"conv": "never"}), make_backend("Second"))
    optimized = OptimizedNetwork(block(DataType.FLOAT16), parties, OptimizerOptions())
    on = {row.layer: (row.backend, row.conversion) for row in optimized.report}
    assert on == {"conv": ("Second", ""), "relu": ("First", ""), "square": ("First", "")}


def test_a_cast_is_used_where_the_preferred_backend_has_no_other_conversion(
    participants, make_backend
) -> None:
    refused = {"ConvertFp16ToFp32": "no", "ConvertFp32ToFp16": "no"}
    first, second = make_backend("First", refused), make_backend("Second")
    optimized = OptimizedNetwork(block(), participants(first, second), FP16)
    assert {row.backend for row in optimized.report} == {"First"}
    assert sum(row.type == "Cast" for row in optimized.report) == 3


def test_strict_mode_accepts_conversions(participants, make_backend) -> None:
    backend = make_backend("Fake", supports=lacking((DataType.FLOAT16,)))
    options = OptimizerOptions(strict=True)
    optimized = OptimizedNetwork(block(DataType.FLOAT16), participants(backend), options)
    assert optimized.report.fallbacks == ()


def test_a_layer_whose_optimization_failed_is_wrapped_for_the_next_backend(
    participants, make_backend
) -> None:
    from armnn.backends import OptimizationViews

    def optimize_subgraph(_self: object, view: Any, _model: ModelContext) -> OptimizationViews:
        return OptimizationViews(failed=[view])

    parties = participants(
        make_backend("First", optimize_subgraph=optimize_subgraph),
        make_backend("Second", supports=lacking((DataType.FLOAT16,))),
    )
    optimized = OptimizedNetwork(block(DataType.FLOAT16), parties, OptimizerOptions())
    rows = {row.layer: row for row in optimized.report if not row.type.startswith("Convert")}
    assert {row.backend for row in rows.values()} == {"Second"}
    assert all("First: its optimization of the layer failed" in row.reason for row in rows.values())
    assert all(row.conversion for row in rows.values())


def test_a_constant_alone_needs_no_backend_that_converts(participants, make_backend) -> None:
    def supports(_self: object, layer: Any, _model: ModelContext) -> Support:
        if layer.type.startswith("Convert") or layer.type == "Cast":
            return Support.no("no conversions")
        return lacking((DataType.FLOAT16,))(None, layer, None)

    network = Network()
    x = network.add_input("x", TensorInfo((1, 3, 4, 4)))
    weights = np.float16(numbers(2, 3, 3, 3))
    network.add_output("y", network.add_convolution2d(x, weights, name="conv"))
    parties = participants(make_backend("First", supports=supports))
    optimized = OptimizedNetwork(network, parties, OptimizerOptions())
    (row,) = optimized.report
    assert (row.layer, row.backend, bool(row.conversion)) == ("conv", "First", True)
    made = optimized.network.find("conv").constant("weights")
    np.testing.assert_array_equal(made, weights.astype(np.float32), strict=True)


def test_a_cast_to_integers_is_wrapped_and_one_from_them_is_not(participants, make_backend) -> None:
    def supports(_self: object, layer: Any, _model: ModelContext) -> Support:
        if layer.name in ("down", "up") and DataType.FLOAT16 in (
            layer.input_infos[0].data_type, layer.output.info.data_type,
        ):  # fmt: skip
            return Support.no("no 16 bits")
        return SUPPORTED

    network = Network()
    x = network.add_input("x", TensorInfo((2,), DataType.FLOAT16))
    down = network.add_cast(x, output=DataType.SIGNED32, name="down")
    network.add_output("y", network.add_cast(down, output=DataType.FLOAT16, name="up"))
    parties = participants(make_backend("First", supports=supports), make_backend("Second"))
    rows = OptimizedNetwork(network, parties, OptimizerOptions()).report
    assert [(row.layer, row.backend) for row in rows] == [
        ("convert_fp16_to_fp32-0-down", "First"), ("down", "First"), ("up", "Second"),
    ]  # fmt: skip
