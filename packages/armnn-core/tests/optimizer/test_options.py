# SPDX-License-Identifier: MIT
"""OptimizerOptions: one list of options with checks of their values."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields
from typing import Any

import pytest

import armnn
from armnn import OptimizerOptions, ShapeInferenceMethod
from armnn.errors import InvalidArgumentError, UnknownNameError
from armnn.optimizer import OptimizerKeywords
from armnn.optimizer.options import checked_options


def test_defaults_are_those_of_arm_nn() -> None:
    off = [each.name for each in fields(OptimizerOptions) if each.default is False]
    assert off == [
        "reduce_fp32_to_fp16", "reduce_fp32_to_bf16", "debug", "debug_to_file", "import_enabled",
        "export_enabled", "profiling_enabled", "allow_expanded_dims", "strict",
    ]  # fmt: skip
    # Arm NN has ValidateOnly; here models with open dimensions are loaded without options.
    method = OptimizerOptions().shape_inference_method
    assert method is ShapeInferenceMethod.INFER_AND_VALIDATE


def test_every_field_is_a_keyword() -> None:
    names = [each.name for each in fields(OptimizerOptions)]
    assert list(OptimizerKeywords.__annotations__) == names


def test_bfloat16_and_float16_contradict_each_other() -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be enabled at the same time"):
        OptimizerOptions(reduce_fp32_to_fp16=True, reduce_fp32_to_bf16=True)


def test_expanded_dims_need_shapes_that_are_compared() -> None:
    with pytest.raises(InvalidArgumentError, match="use it with shape_inference_method='Validate"):
        OptimizerOptions(allow_expanded_dims=True)
    made = OptimizerOptions(allow_expanded_dims=True, shape_inference_method="ValidateOnly")
    assert made.demands_shapes


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("strict", "yes", "the strict is 'yes', expected True or False"),
        ("debug", "yes", r"the debug is 'yes', expected True, False or a function of \(layer, sl"),
        ("debug_to_file", 3, "the debug_to_file is 3, expected True, False or the path of a fold"),
        ("shape_inference_method", "Infer", "is 'Infer', expected one of ValidateOnly, InferAnd"),
        ("layer_backends", 3, "expected a mapping from names of layers to backend ids"),
        ("model_options", {"A": {"n": None}}, "option 'n' for backend 'A' is None, expected a te"),
    ],
)
def test_values_of_another_kind_are_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        OptimizerOptions(**{name: value})


def test_an_unknown_keyword_is_refused_with_the_closest_name() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'reduce_fp32_to_fp16'"):
        checked_options(None, {"reduce_fp32_to_f16": True})
    with pytest.raises(UnknownNameError, match="did you mean 'debug_to_file'"):
        OptimizerOptions(debug_to_fil="x")  # type: ignore[call-arg] # it is the mistake
    with pytest.raises(UnknownNameError, match="known are reduce_fp32_to_fp16, "):
        armnn.optimize(armnn.Network(), nonsense=1)  # type: ignore[call-arg] # it is the mistake


@pytest.mark.parametrize(("wrong", "meant"), [("backend", "backends"), ("shape", "shapes")])
def test_an_unknown_keyword_may_be_meant_for_a_parameter(wrong: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"no option '{wrong}' .* did you mean '{meant}'"):
        armnn.load_model(armnn.Network(), **{wrong: ["CpuRef"]})


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("providers", r"backends=\['CpuAcc', 'CpuRef'\]"),
        ("threads", "'CpuAcc': {'NumberOfThreads': 2"),
    ],
)
def test_names_of_other_runtimes_are_answered_with_ours(name: str, instead: str) -> None:
    with pytest.raises(UnknownNameError, match=f"no option '{name}' of the optimizer; .*{instead}"):
        armnn.load_model(armnn.Network(), **{name: ["x"]})


def test_options_can_be_pickled() -> None:
    options = OptimizerOptions(layer_backends={"a": "B"}, debug_to_file="folder")
    assert pickle.loads(pickle.dumps(options)) == options
    assert copy.deepcopy(options) == options


# -- shapes -------------------------------------------------------------------------------------


def doubled(shape: tuple[Any, ...], declared: tuple[Any, ...] | None = None) -> armnn.Network:
    network = armnn.Network("doubled")
    x = network.add_input("x", armnn.TensorInfo(shape))
    network.add_output("y", network.add_addition(x, x, name="sum"))
    if declared is not None:
        network.declared_shapes["y"] = declared
    return network


@pytest.fixture
def runtime(make_backend, make_runtime) -> armnn.Runtime:
    return make_runtime(make_backend("Fake"))


def test_open_dimensions_are_refused_if_shapes_are_only_validated(runtime) -> None:
    network = doubled(("N", 3))
    runtime.optimize(network, ["Fake"])
    with pytest.raises(armnn.ArmnnError, match=r"'x' \(Input\) is .*known in full"):
        runtime.optimize(network, ["Fake"], shape_inference_method="ValidateOnly")
    runtime.optimize(doubled((2, 3)), ["Fake"], shape_inference_method="ValidateOnly")


@pytest.mark.parametrize("declared", [(3, 2), (2,), (1, 2, 3)])
def test_declared_shapes_must_be_the_inferred_ones_if_only_validated(
    declared: tuple[int, ...], runtime
) -> None:
    network = doubled((2, 3), declared)
    runtime.optimize(network, ["Fake"])
    with pytest.raises(armnn.ArmnnError, match=r"'y' has the inferred shape \[2,3\]: expected"):
        runtime.optimize(network, ["Fake"], shape_inference_method="ValidateOnly")


def test_expanded_dims_are_ignored_on_request(runtime) -> None:
    options = OptimizerOptions(shape_inference_method="ValidateOnly", allow_expanded_dims=True)
    runtime.optimize(doubled((2, 3), (1, 2, 1, 3)), ["Fake"], options=options)
    runtime.optimize(doubled((2, 3), ("N", 3)), ["Fake"], options=options)
    with pytest.raises(armnn.ArmnnError, match="which the model declares"):
        runtime.optimize(doubled((2, 3), (3, 2)), ["Fake"], options=options)


# -- profiling ----------------------------------------------------------------------------------


def test_phases_are_recorded_without_a_profiler_on_request(runtime) -> None:
    assert runtime.optimize(doubled((2, 3)), ["Fake"]).profiler is None
    optimized = runtime.optimize(doubled((2, 3)), ["Fake"], profiling_enabled=True)
    names = [event.name for event in optimized.profiler.events]
    assert names[:2] == ["validate", "infer shapes"]
    loaded = runtime.load_network(optimized)
    assert loaded.profiler is optimized.profiler
    assert [event.name for event in loaded.profiler.events] == [*names, "load"]


def test_phases_of_later_shapes_are_recorded_as_well(runtime) -> None:
    model = runtime.load_model(doubled(("N", 3)), ["Fake"], profiling_enabled=True)
    before = len(model.profiler.events)
    model.prepare({"x": (4, 3)})
    assert [event.name for event in model.profiler.events[before:]].count("place tensors") == 1


def test_a_profiler_that_is_given_is_used(runtime) -> None:
    recorder = armnn.profiling.Recorder()
    model = runtime.load_model(doubled((2, 3)), ["Fake"], profiler=recorder, profiling_enabled=True)
    assert model.profiler is recorder
