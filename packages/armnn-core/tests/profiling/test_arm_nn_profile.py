# SPDX-License-Identifier: MIT
"""The structure of Arm NN's profile, and its readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armnn import DataLayout, DataType, Network, TensorInfo
from armnn.errors import InvalidArgumentError
from armnn.profiling import Event, arm_nn_profile, write_arm_nn_profile

US = 1000


def event(name: str, start: int, end: int, category: str, **details: Any) -> Event:
    """Return an event from microseconds."""
    return Event(name, start * US, end * US, 1, {"category": category, **details})


def run(start: int) -> Iterator[Event]:
    """Yield a run's events: a layer, a part, a kernel."""
    yield event("conv", start + 1, start + 4, "layer", type="Convolution2d", backend="CpuRef")
    yield event("relu", start + 5, start + 7, "kernel", type="Activation", backend="Npu")
    yield event("part", start + 4, start + 8, "layer", type="PreCompiled", backend="Npu")
    yield event("run", start, start + 9, "run")


EVENTS = [
    event("parse", 100, 110, "phase"),
    event("infer shapes", 110, 113, "phase"),
    event("assign backends", 113, 120, "phase"),
    event("load", 108, 150, "phase"),
    *run(200),
    *run(300),
]


def measurement(raw: list[float]) -> dict[str, Any]:
    return {"type": "Measurement", "raw": raw, "unit": "us"}


def test_an_inference_has_its_workloads_and_their_kernels() -> None:
    found = arm_nn_profile(EVENTS)["ArmNN"]
    assert list(found) == [
        "optimize_measurements_#1", "loaded_network_measurements_#4", "inference_measurements_#5",
    ]  # fmt: skip
    inference = found["inference_measurements_#5"]
    assert list(inference) == [
        "type", "Wall clock time_#5", "Wall clock time (Start)_#5", "Wall clock time (Stop)_#5",
        "Execute_#6",
    ]  # fmt: skip
    assert inference["type"] == "Event"
    assert inference["Wall clock time_#5"] == measurement([9.0, 9.0])
    assert inference["Wall clock time (Start)_#5"] == measurement([100.0, 200.0])
    execute = inference["Execute_#6"]
    assert execute["Wall clock time_#6"] == measurement([7.0, 7.0])
    conv = execute["conv_CpuRefConvolution2dWorkload_Execute_#7"]
    assert conv == {
        "type": "Event",
        "backend": "CpuRef",
        "Wall clock time_#7": measurement([3.0, 3.0]),
        "Wall clock time (Start)_#7": measurement([101.0, 201.0]),
        "Wall clock time (Stop)_#7": measurement([104.0, 204.0]),
    }
    part = execute["part_NpuPreCompiledWorkload_Execute_#8"]
    assert part["NpuKernelTimer/relu_#8"] == measurement([2.0, 2.0])


def test_preparation_has_its_phases() -> None:
    found = arm_nn_profile(EVENTS)["ArmNN"]
    optimize = found["optimize_measurements_#1"]
    assert optimize["Wall clock time_#1"] == measurement([10.0])
    assert optimize["infer shapes_#2"]["Wall clock time_#2"] == measurement([3.0])
    assert optimize["assign backends_#3"]["Wall clock time_#3"] == measurement([7.0])
    loaded = found["loaded_network_measurements_#4"]
    assert loaded["Wall clock time_#4"] == measurement([42.0])


def test_programs_that_read_pyarmnn_profiles_find_their_numbers() -> None:
    """It walks over the keys as PyArmNN's get_profiling_data does."""
    document = json.loads(json.dumps(arm_nn_profile(EVENTS)))["ArmNN"]
    (inference,) = (v for k, v in document.items() if k.startswith("inference_measurements_"))
    (execute,) = (v for k, v in inference.items() if k.startswith("Execute_"))
    totals = [v for k, v in execute.items() if k.startswith("Wall clock time_#")]
    times = {
        key: next(v["raw"] for k, v in value.items() if k.startswith("Wall clock time_#"))
        for key, value in execute.items()
        if "type" in value and value["type"] == "Event"
    }
    assert [each["raw"] for each in totals] == [[7.0, 7.0]]
    assert times == {
        "conv_CpuRefConvolution2dWorkload_Execute_#7": [3.0, 3.0],
        "part_NpuPreCompiledWorkload_Execute_#8": [4.0, 4.0],
    }


def test_kernels_of_a_device_are_timers_of_their_workload() -> None:
    times = {"type": "Add", "backend": "Gpu"}
    kernels = [
        event("add", start, start + 3, "device", **times, kernel="chain") for start in (402, 405)
    ]
    events = [event("add", 401, 402, "layer", **times), *kernels, event("run", 400, 409, "run")]
    execute = arm_nn_profile(events)["ArmNN"]["inference_measurements_#1"]["Execute_#2"]
    workload = execute["add_GpuAddWorkload_Execute_#3"]
    assert workload["GpuKernelTimer/chain_#3"] == measurement([6.0])


def test_a_workload_that_some_runs_lack_took_no_time_there() -> None:
    other = event("add", 402, 405, "layer", type="Addition", backend="CpuRef")
    events = [*EVENTS, other, event("run", 400, 409, "run")]
    execute = arm_nn_profile(events)["ArmNN"]["inference_measurements_#5"]["Execute_#6"]
    add = execute["add_CpuRefAdditionWorkload_Execute_#9"]
    assert add["Wall clock time_#9"] == measurement([0.0, 0.0, 3.0])
    part = execute["part_NpuPreCompiledWorkload_Execute_#8"]
    assert part["NpuKernelTimer/relu_#8"] == measurement([2.0, 2.0, 0.0])


def test_two_workloads_of_one_name_stay_two() -> None:
    again = event("conv", 208, 209, "layer", type="Convolution2d", backend="CpuRef")
    found = arm_nn_profile([*EVENTS[:7], again, *EVENTS[7:8]])["ArmNN"]
    execute = found["inference_measurements_#5"]["Execute_#6"]
    names = [key for key in execute if "Workload" in key]
    assert names == [
        "conv_CpuRefConvolution2dWorkload_Execute_#7",
        "part_NpuPreCompiledWorkload_Execute_#8",
        "conv_CpuRefConvolution2dWorkload_Execute_#9",
    ]


def test_layers_are_described_where_a_network_is_given() -> None:
    network = Network("net")
    x = network.add_input("x", TensorInfo((1, 8, 8, 3), DataType.QASYMM_U8, 0.5, 3))
    weights = network.add_constant(
        np.zeros((4, 3, 3, 3), np.uint8), TensorInfo((4, 3, 3, 3), DataType.QASYMM_U8, 0.25)
    )
    y = network.add_convolution2d(
        x, weights, stride_x=2, stride_y=2, data_layout=DataLayout.NHWC, name="conv",
        output=TensorInfo((1, 3, 3, 4), DataType.QASYMM_U8, 1.0),
    )  # fmt: skip
    network.add_output("y", y)
    found = arm_nn_profile([], network)["ArmNN"]
    assert list(found) == ["layer_details"]
    (conv,) = found["layer_details"]
    expected = {
        "Name": "conv",
        "Type": "Convolution2d",
        "GUID": str(network.find("conv").guid),
        "Input 0": {"Shape": "[1,8,8,3]", "DataType": "QAsymmU8", "Num Dims": "4"},
        "Weights 0": {"Shape": "[4,3,3,3]", "DataType": "QAsymmU8", "Num Dims": "4"},
        "Output 0": {"Shape": "[1,3,3,4]", "DataType": "QAsymmU8", "Num Dims": "4"},
        "StrideX": "2",
        "PadLeft": "0",
        "DataLayout": "NHWC",
    }
    assert conv.items() >= expected.items()


def test_the_file_holds_the_profile_as_json(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    write_arm_nn_profile(EVENTS, path)
    assert json.loads(path.read_text(encoding="utf-8")) == arm_nn_profile(EVENTS)
    with pytest.raises(FileNotFoundError):
        write_arm_nn_profile(EVENTS, tmp_path / "missing" / "profile.json")


def test_events_are_needed() -> None:
    assert arm_nn_profile([]) == {"ArmNN": {}}
    with pytest.raises(InvalidArgumentError, match=r"one of the events .* expected an Event"):
        arm_nn_profile([1])  # type: ignore[list-item]  # that it is refused is tested
