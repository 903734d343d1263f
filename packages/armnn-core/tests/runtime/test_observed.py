# SPDX-License-Identifier: MIT
"""Intermediate tensors, shown on their way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn import DataType, Network, OptimizerOptions, TensorInfo
from armnn.backends import OptimizationViews, SubgraphView, Substitution
from armnn.errors import ExecutionError, InvalidArgumentError
from armnn.optimizer.phases import insert_debug
from fakes.backends import DeviceFactory, DeviceMemory

X = {"x": np.float32([[1, -2, 3], [-4, 5, -6]])}


def block(data_type: DataType = DataType.FLOAT32) -> Network:
    network = Network("block")
    x = network.add_input("x", TensorInfo((2, 3), data_type))
    value = network.add_addition(x, x, name="twice/1")
    value = network.add_activation(value, function="ReLu", name="relu")
    value = network.add_multiplication(value, x, name="product")
    network.add_output("y", value)
    return network


def marked() -> Network:
    """Return the block with every intermediate value as an output."""
    network = block()
    for name in ("twice/1", "relu", "product"):
        network.add_output(name, network.find(name).output)
    return network


@pytest.fixture
def runtime(make_backend, make_runtime) -> armnn.Runtime:
    return make_runtime(make_backend("Fake"))


def test_every_tensor_is_shown_with_its_value(runtime) -> None:
    seen: list[tuple[str, int, np.ndarray]] = []
    model = runtime.load_model(block(), ["Fake"], debug=lambda *each: seen.append(each))
    assert seen == []
    outputs = model.run(X)
    expected = {"x": X["x"], **runtime.load_model(marked(), ["Fake"]).run(X)}
    assert [(name, slot) for name, slot, _ in seen] == [
        ("x", 0), ("twice/1", 0), ("relu", 0), ("product", 0),
    ]  # fmt: skip
    for name, _, array in seen:
        np.testing.assert_array_equal(array, expected[name], name, strict=True)
    np.testing.assert_array_equal(outputs["y"], expected["product"])


def test_what_was_shown_stays_as_it_was(runtime) -> None:
    seen: dict[str, np.ndarray] = {}

    def spoil(layer: str, _slot: int, array: np.ndarray) -> None:
        seen[layer] = array
        array *= 0

    model = runtime.load_model(block(), ["Fake"], debug=spoil)
    np.testing.assert_array_equal(model.run(X)["y"], 2 * np.maximum(X["x"], 0) * X["x"])
    kept = seen["relu"]
    model.run({"x": -X["x"]})
    assert kept is not seen["relu"]


def test_an_error_of_the_function_names_the_layer(runtime) -> None:
    def fail(layer: str, _slot: int, _array: object) -> None:
        if layer == "relu":
            raise ValueError("enough")

    model = runtime.load_model(block(), ["Fake"], debug=fail)
    with pytest.raises(ExecutionError, match=r"'DebugLayerAfterrelu_0' .*on the host: enough"):
        model.run(X)


def test_tensors_are_printed_as_json(runtime, capsys) -> None:
    runtime.load_model(block(), ["Fake"], debug=True).run(X)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["layer"] for line in lines] == ["x", "twice/1", "relu", "product"]
    assert lines[2] == {
        "layer": "relu", "slot": 0, "data_type": "Float32", "shape": [2, 3], "min": 0.0,
        "max": 10.0, "data": [[2.0, 0.0, 6.0], [0.0, 10.0, 0.0]],
    }  # fmt: skip


def test_large_tensors_are_printed_without_their_data(runtime, capsys) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1001,)))
    network.add_output("y", network.add_addition(x, x))
    data = np.full(1001, np.inf, np.float32)
    runtime.load_model(network, ["Fake"], debug=True).run({"x": data})
    line = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (line["shape"], line["max"], "data" in line) == ([1001], "inf", False)


def test_tensors_are_written_to_a_folder(runtime, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    model = runtime.load_model(block(), ["Fake"], debug_to_file=str(folder))
    model.run({"x": 0 * X["x"]})
    model.run(X)  # the last run is kept
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        f"{stem}.{suffix}"
        for stem in ("0000_x_0", "0001_twice_1_0", "0002_relu_0", "0003_product_0")
        for suffix in ("json", "npy")
    ]
    np.testing.assert_array_equal(np.load(folder / "0001_twice_1_0.npy"), 2 * X["x"])
    assert json.loads((folder / "0001_twice_1_0.json").read_text()) == {
        "layer": "twice/1", "slot": 0, "data_type": "Float32", "shape": [2, 3], "min": -12.0,
        "max": 10.0, "file": "0001_twice_1_0.npy",
    }  # fmt: skip


def test_the_folder_has_arm_nns_name_by_default(
    runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runtime.load_model(block(), ["Fake"], debug_to_file=True).run(X)
    assert len(list((tmp_path / "ArmNNIntermediateLayerOutputs").iterdir())) == 8


def test_a_folder_that_cannot_be_made_is_refused(runtime, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgumentError, match="expected a folder that is yours to write"):
        runtime.load_model(block(), ["Fake"], debug_to_file=str(tmp_path / "file"))


def test_quantized_tensors_are_described_by_their_scales(runtime, tmp_path: Path) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,), DataType.QASYMM_U8, 0.5, 10))
    network.add_output("y", network.add_reshape(x, target_shape=(1, 2)))
    runtime.load_model(network, ["Fake"], debug_to_file=str(tmp_path)).run({"x": np.uint8([7, 9])})
    described = json.loads((tmp_path / "0000_x_0.json").read_text())
    assert described["scales"] == [0.5]
    assert described["zero_points"] == [10]
    assert (described["min"], described["max"]) == (7, 9)


def test_each_backend_gets_the_layers_one_by_one(make_backend, make_runtime) -> None:
    sizes: list[int] = []

    def optimize_subgraph(_self: object, view: SubgraphView, _model: object) -> Any:
        sizes.append(len(view.layers))
        return OptimizationViews(untouched=[view])

    runtime = make_runtime(make_backend("Fake", optimize_subgraph=optimize_subgraph))
    runtime.optimize(block(), ["Fake"])
    assert sizes == [3]
    runtime.optimize(block(), ["Fake"], debug=True)
    assert sizes == [3, 1, 1, 1]


@pytest.mark.parametrize(("rewrite", "expected"), [(True, ["x"]), (False, ["x", "there", "back"])])
def test_passes_run_before_so_that_their_results_are_shown(
    rewrite: bool, expected: list[str], runtime
) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 3)))
    once = network.add_transpose(x, dim_mappings=(1, 0), name="there")
    network.add_output("y", network.add_transpose(once, dim_mappings=(1, 0), name="back"))
    seen: list[str] = []
    options = OptimizerOptions(rewrite=rewrite, debug=lambda name, *_: seen.append(name))
    model = runtime.load_model(network, ["Fake"], options=options)
    np.testing.assert_array_equal(model.run(X)["y"], X["x"])
    assert seen == expected


def test_a_part_that_a_backend_replaces_keeps_its_name(make_backend, make_runtime) -> None:
    def optimize_subgraph(_self: object, view: SubgraphView, _model: object) -> Any:
        part = Network()
        inputs = [part.add_input(str(i), value.info) for i, value in enumerate(view.inputs)]
        (layer,) = view.layers
        twin = part.add(layer.type, inputs * 2 if len(inputs) == 1 < len(layer.inputs) else inputs,
                        layer.descriptor, name="other")  # fmt: skip
        part.add_output("y", twin.output)
        return OptimizationViews([Substitution(view, part)])

    runtime = make_runtime(make_backend("Fake", optimize_subgraph=optimize_subgraph))
    seen: list[str] = []
    model = runtime.load_model(block(), ["Fake"], debug=lambda name, *_: seen.append(name))
    model.run(X)
    assert seen == ["x", "twice/1", "relu", "product"]


def test_shapes_that_are_known_later_are_shown_as_well(runtime) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(("N", 3)))
    network.add_output("y", network.add_addition(x, x, name="sum"))
    shapes: list[tuple[str, tuple[int, ...]]] = []
    model = runtime.load_model(
        network, ["Fake"], debug=lambda name, _slot, array: shapes.append((name, array.shape))
    )
    for count in (1, 4):
        model.run({"x": np.zeros((count, 3), np.float32)})
    assert shapes == [("x", (1, 3)), ("sum", (1, 3)), ("x", (4, 3)), ("sum", (4, 3))]


def test_a_second_insertion_changes_nothing() -> None:
    network = block()
    assert insert_debug(network) == 4
    assert insert_debug(network) == 0


def test_constants_and_what_nothing_reads_are_not_shown() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 3)))
    network.add_input("unused", TensorInfo((2, 3)))
    value = network.add_multiplication(x, np.float32([2]))
    network.add_output("y", value)
    assert insert_debug(network) == 2


def test_tensors_in_device_memory_are_shown(make_backend, make_runtime) -> None:
    device = make_backend(
        "Device",
        {"relu": "no"},
        handle_factory_preferences=("device",),
        register_tensor_handle_factories=lambda _, registry: registry.register(
            DeviceFactory("device")
        ),
        create_memory_manager=lambda _: DeviceMemory(),
    )
    runtime = make_runtime(device, make_backend("Host"))
    seen: dict[str, np.ndarray] = {}
    model = runtime.load_model(
        block(), ["Device", "Host"], debug=lambda name, _slot, array: seen.update({name: array})
    )
    y = model.run(X)["y"]
    twice = 2 * X["x"]
    for name, expected in (("x", X["x"]), ("twice/1", twice), ("relu", np.maximum(twice, 0))):
        np.testing.assert_array_equal(seen[name], expected, name)
    np.testing.assert_array_equal(seen["product"], y)


def test_a_prepared_call_shows_tensors_as_well(runtime) -> None:
    seen: list[str] = []
    model = runtime.load_model(block(), ["Fake"], debug=lambda name, *_: seen.append(name))
    data = X["x"].copy()
    y = np.empty((2, 3), np.float32)
    call = model.bind({"x": data}, {"y": y})
    for _ in range(2):
        call()
    assert seen == ["x", "twice/1", "relu", "product"] * 2
    np.testing.assert_array_equal(y, np.maximum(2 * data, 0) * data)
