# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armnn import Network, TensorInfo
from armnn.backends import HOST_FACTORY_ID, ArrayHandle, TensorHandle
from armnn.types import MemorySource
from fakes.backends import DeviceFactory, DeviceMemory

if TYPE_CHECKING:
    import pytest

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


def test_a_backend_that_also_takes_host_memory_gets_no_copy(make_backend, make_runtime) -> None:
    both = {**members(), "handle_factory_preferences": ("device", HOST_FACTORY_ID)}
    runtime = make_runtime(make_backend("Device", {"a": "no"}, **both), make_backend("Host"))
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
    plan = optimized.specialise({}, {})
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
