# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import HOST_FACTORY_ID, ArrayHandle, TensorHandle
from armnn.types import MemorySource
from fakes.backends import DeviceFactory, DeviceMemory

INFO = TensorInfo((2, 3))


class ImportingFactory(DeviceFactory):
    import_sources = frozenset({MemorySource.MALLOC})

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> TensorHandle | None:
        return ArrayHandle(info, handle.map())


def members(
    factory: type[DeviceFactory] = DeviceFactory, memory: DeviceMemory | None = None
) -> dict[str, Any]:
    """Return the members of a backend with device memory."""
    return {
        "handle_factory_preferences": ("device",),
        "register_tensor_handle_factories": lambda _, registry: registry.register(
            factory("device")
        ),
        "create_memory_manager": lambda _: DeviceMemory() if memory is None else memory,
    }


def host_device_host() -> Network:
    network = Network("mixed")
    x = network.add_input("x", INFO)
    a = network.add_addition(x, x, name="a")
    b = network.add_multiplication(a, np.full((2, 3), 3, np.float32), name="b")
    network.add_output("middle", b)
    network.add_output("y", network.add_subtraction(b, a, name="c"))
    return network


def run(runtime, network: Network, backends: list[str]) -> tuple[Any, dict[str, np.ndarray]]:
    model = runtime.load_model(network, backends)
    return model, model.run({"x": np.arange(6, dtype=np.float32).reshape(2, 3)})


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_backends_in_host_memory_need_no_copies(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("First", {"b": "no"}), make_backend("Second"))
    optimized = runtime.optimize(host_device_host(), ["First", "Second"])
    assert [layer.type for layer in optimized.network.layers if layer.type.startswith("Mem")] == []


def test_tensors_are_copied_where_the_kind_of_memory_changes(make_backend, make_runtime) -> None:
    memory = DeviceMemory()
    device = make_backend("Device", {"a": "no", "c": "no"}, **members(memory=memory))
    runtime = make_runtime(device, make_backend("Host"))
    network = host_device_host()
    optimized = runtime.optimize(network, ["Device", "Host"])
    copies = {
        layer.name: layer.backend for layer in optimized.network.layers if layer.type == "MemCopy"
    }
    assert copies == {"[ a (0) -> b (0) ]": "Device", "[ b (0) -> c (0) ]": "Host"}
    model, outputs = run(runtime, network, ["Device", "Host"])
    np.testing.assert_array_equal(outputs["middle"], 6 * X)
    np.testing.assert_array_equal(outputs["y"], 4 * X)
    model.run({"x": X})
    assert memory.acquisitions == 2


def test_one_copy_serves_all_readers_of_a_kind(make_backend, make_runtime) -> None:
    network = Network()
    x = network.add_input("x", INFO)
    a = network.add_addition(x, x, name="a")
    network.add_output("p", network.add_multiplication(a, a, name="p"))
    network.add_output("q", network.add_subtraction(a, a, name="q"))
    device = make_backend("Device", {"a": "no"}, **members())
    runtime = make_runtime(device, make_backend("Host"))
    optimized = runtime.optimize(network, ["Device", "Host"])
    assert sum(layer.type == "MemCopy" for layer in optimized.network.layers) == 1


def test_an_input_lies_where_its_readers_want_it(make_backend, make_runtime) -> None:
    network = Network()
    x = network.add_input("x", INFO)
    network.add_output("y", network.add_addition(x, x))
    runtime = make_runtime(make_backend("Device", **members()))
    optimized = runtime.optimize(network, ["Device"])
    assert all(layer.type != "MemCopy" for layer in optimized.network.layers)
    _, outputs = run(runtime, network, ["Device"])
    np.testing.assert_array_equal(outputs["y"], 2 * X)


def test_memory_is_imported_where_both_sides_can(make_backend, make_runtime) -> None:
    device = make_backend("Device", {"a": "no", "c": "no"}, **members(ImportingFactory))
    runtime = make_runtime(device, make_backend("Host"))
    network = host_device_host()
    optimized = runtime.optimize(network, ["Device", "Host"])
    kinds = [layer.type for layer in optimized.network.layers if layer.type.startswith("Mem")]
    assert kinds == ["MemImport", "MemCopy"]
    _, outputs = run(runtime, network, ["Device", "Host"])
    np.testing.assert_array_equal(outputs["y"], 4 * X)


def test_an_import_that_the_factory_refuses_becomes_a_copy(
    make_backend, make_runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImportingFactory, "import_memory", lambda *_: None)
    device = make_backend("Device", {"a": "no", "c": "no"}, **members(ImportingFactory))
    runtime = make_runtime(device, make_backend("Host"))
    _, outputs = run(runtime, host_device_host(), ["Device", "Host"])
    np.testing.assert_array_equal(outputs["y"], 4 * X)


def test_one_layer_that_also_takes_host_memory_gets_no_copy(make_backend, make_runtime) -> None:
    both = {**members(), "handle_factory_preferences": ("device", HOST_FACTORY_ID)}
    answers = {"a": "no", "c": "no"}
    runtime = make_runtime(make_backend("Device", answers, **both), make_backend("Host"))
    optimized = runtime.optimize(host_device_host(), ["Device", "Host"])
    assert all(layer.type != "MemCopy" for layer in optimized.network.layers)
    _, outputs = run(runtime, host_device_host(), ["Device", "Host"])
    np.testing.assert_array_equal(outputs["y"], 4 * X)


class Exporting(DeviceFactory):
    export_sources = frozenset({MemorySource.MALLOC})


def placed(make_backend, make_runtime, factories: tuple[Any, ...], **options: bool) -> list[str]:
    """Return the factories of input and output of one layer."""
    names = [f"memory{index}" for index in range(len(factories))]

    def register(_: object, registry: Any) -> None:
        for name, factory in zip(names, factories, strict=True):
            registry.register(factory(name))

    device = make_backend(
        "Device",
        handle_factory_preferences=tuple(names),
        register_tensor_handle_factories=register,
        create_memory_manager=lambda _: DeviceMemory(),
    )
    network = Network()
    x = network.add_input("x", INFO)
    network.add_output("y", network.add_addition(x, x, name="a"))
    runtime = make_runtime(device)
    optimized = runtime.optimize(network, ["Device"], **options)
    plan = optimized.specialize({}, {})
    _, outputs = run(runtime, network, ["Device"])
    np.testing.assert_array_equal(outputs["y"], 2 * X)
    made = [tensor for layer in plan.layers for tensor in layer.outputs]
    return [tensor.factory for tensor in (*plan.inputs.values(), *made)]


def test_inputs_prefer_memory_that_imports_on_request(make_backend, make_runtime) -> None:
    kinds = (DeviceFactory, ImportingFactory)
    assert placed(make_backend, make_runtime, kinds) == ["memory0", "memory0"]
    made = placed(make_backend, make_runtime, kinds, import_enabled=True)
    assert made == ["memory1", "memory0"]


def test_outputs_prefer_memory_that_exports_on_request(make_backend, make_runtime) -> None:
    kinds = (DeviceFactory, Exporting)
    made = placed(make_backend, make_runtime, kinds, export_enabled=True)
    assert made == ["memory0", "memory1"]


def test_without_such_memory_the_wish_changes_nothing(make_backend, make_runtime) -> None:
    made = placed(
        make_backend, make_runtime, (DeviceFactory,), import_enabled=True, export_enabled=True
    )
    assert made == ["memory0", "memory0"]


class Uploads(DeviceFactory):
    """Memory of a device, with the names of what the host brings there."""

    def __init__(self, factory_id: str) -> None:
        super().__init__(factory_id)
        self.brought: list[tuple[int, ...]] = []

    def create(self, info: TensorInfo, memory: object) -> TensorHandle:
        brought = self.brought

        class OnDevice(TensorHandle):
            def __init__(self) -> None:
                self.info = info
                self._array = np.zeros(info.static_shape, info.data_type.numpy_dtype)

            def map(self) -> np.ndarray:
                return self._array

            def copy_from(self, array: np.ndarray) -> None:
                brought.append(info.static_shape)
                self._array[...] = array

        return OnDevice()


def device_of(uploads: Uploads, make_backend, answers, preferences=("device",)) -> Any:
    return make_backend(
        "Device",
        answers,
        handle_factory_preferences=preferences,
        register_tensor_handle_factories=lambda _, registry: registry.register(uploads),
    )


def four_readers() -> Network:
    """Return four layers on one input: "h" for the host, the others for a device."""
    network = Network("readers")
    x = network.add_input("x", INFO)
    network.add_output("2x", network.add_addition(x, x, name="h"))
    network.add_output("xx", network.add_multiplication(x, x, name="p"))
    network.add_output("0", network.add_subtraction(x, x, name="q"))
    network.add_output("x", network.add_maximum(x, x, name="r"))
    return network


@pytest.mark.parametrize("takes_host", [False, True])
def test_what_several_layers_of_a_device_read_crosses_once(
    make_backend, make_runtime, takes_host
) -> None:
    preferences = ("device", HOST_FACTORY_ID) if takes_host else ("device",)
    uploads = Uploads("device")
    device = device_of(uploads, make_backend, {"h": "no"}, preferences)
    model = make_runtime(device, make_backend("Host")).load_model(
        four_readers(), ["Device", "Host"]
    )
    for _ in range(2):
        uploads.brought.clear()
        made = model.run({"x": X})
        for name, expected in {"2x": 2 * X, "xx": X * X, "0": 0 * X, "x": X}.items():
            np.testing.assert_array_equal(made[name], expected)
        assert uploads.brought == [(2, 3)]
    parts = {part.backend: part for part in model.report.parts}
    (border,) = parts["Device"].borders
    assert border.as_dict() == {"tensor": "x", "source": "", "bytes": 24, "copied": True}
    assert (parts["Device"].copied_bytes, parts["Host"].borders) == (24, ())


def test_an_input_of_a_device_alone_is_written_there(make_backend, make_runtime) -> None:
    uploads = Uploads("device")
    model = make_runtime(device_of(uploads, make_backend, {})).load_model(
        four_readers(), ["Device"]
    )
    model.run({"x": X})
    assert uploads.brought == [(2, 3)]
    assert [part.borders for part in model.report.parts] == [()]


def test_constants_are_brought_to_a_device_once_for_all_shapes(make_backend, make_runtime) -> None:
    network = Network("scaled")
    x = network.add_input("x", TensorInfo(("N", 3)))
    for name in "ab":
        factors = np.full((1, 3), 3, np.float32)
        network.add_output(name, network.add_multiplication(x, factors, name=f"times {name}"))
    uploads = Uploads("device")
    runtime = make_runtime(device_of(uploads, make_backend, {}))
    model = runtime.load_model(network, ["Device"])
    for rows in (2, 4, 5):
        made = model.run({"x": np.ones((rows, 3), np.float32)})
        assert made["b"].tolist() == [[3.0] * 3] * rows
    constants = [shape for shape in uploads.brought if shape == (1, 3)]
    inputs = [shape for shape in uploads.brought if shape != (1, 3)]
    assert (len(constants), inputs) == (2, [(2, 3), (4, 3), (5, 3)])


def test_a_device_without_layers_has_no_part_in_runs(make_backend, make_runtime) -> None:
    memory = DeviceMemory()
    device = make_backend("Device", dict.fromkeys("abc", "no"), **members(memory=memory))
    runtime = make_runtime(device, make_backend("Host"))
    _, outputs = run(runtime, host_device_host(), ["Device", "Host"])
    np.testing.assert_array_equal(outputs["y"], 4 * X)
    assert memory.acquisitions == 0
