# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import (
    ALIGNMENT,
    Allocator,
    ArrayHandle,
    HostAllocator,
    MemoryManager,
    Step,
    Support,
    TensorHandle,
    TensorHandleFactory,
    Workload,
)
from armnn.errors import BackendError, BackendUnavailableError, InvalidArgumentError
from armnn.types import MemorySource

X = np.array([1, -2, 3, 5], np.float32)


def chain() -> Network:
    """Return three activations."""
    network = Network("chain")
    value = network.add_input("x", TensorInfo((4,)))
    for index in range(3):
        value = network.add_activation(value, function="ReLu", name=f"layer{index}")
    network.add_output("y", value)
    return network


class Of(HostAllocator):
    """Host memory that claims another source."""

    def __init__(self, source: MemorySource) -> None:
        self.memory_source = source


@pytest.mark.parametrize("source", ["UNDEFINED", "DMA_BUF_PROTECTED", "GRALLOC"])
def test_a_host_backend_refuses_memory_that_the_host_cannot_reach(
    make_backend, make_runtime, source: str
) -> None:
    allocator = Of(MemorySource[source])
    message = rf"'Fake' computes in host memory, .* is {allocator.memory_source.arm_name}: expected"
    with pytest.raises(InvalidArgumentError, match=message):
        make_runtime(make_backend("Fake"), custom_allocators={"Fake": allocator})


@pytest.mark.parametrize("source", ["MALLOC", "DMA_BUF", "MEMFD"])
def test_a_host_backend_takes_memory_that_the_host_can_reach(
    make_backend, make_runtime, source: str
) -> None:
    allocators = {"Fake": Of(MemorySource[source])}
    model = make_runtime(make_backend("Fake"), custom_allocators=allocators).load_model(chain())
    np.testing.assert_array_equal(model.run({"x": X})["y"], np.maximum(X, 0))


class Wrong(Allocator):
    def __init__(self, block: Any) -> None:
        self._block = block

    def allocate(self, size: int, alignment: int) -> Any:
        return self._block


LINES = HostAllocator().allocate(256, 64)


@pytest.mark.parametrize(
    "block", [None, bytes(128), LINES[:100], LINES[1:129], LINES.view(np.int8)[:128]]
)
def test_an_allocator_that_returns_something_else_is_told(
    make_backend, make_runtime, block: Any
) -> None:
    runtime = make_runtime(make_backend("Fake"), custom_allocators={"Fake": Wrong(block)})
    message = r"allocator of backend 'Fake', Wrong, returned .*: expected a writable .*uint8\[128\]"
    with pytest.raises(BackendError, match=message):
        runtime.load_model(chain(), ["Fake"]).run({"x": X})


PROTECTED = MemorySource.DMA_BUF_PROTECTED


@pytest.mark.parametrize(
    ("members", "allocator", "reason"),
    [
        ({}, Of(PROTECTED), "it lacks the capability ProtectedContentAllocation"),
        (
            {"capabilities": {"ProtectedContentAllocation": True}},
            None,
            "it has no allocator of",
        ),
        (
            {"capabilities": {"ProtectedContentAllocation": True}},
            HostAllocator(),
            "its allocator gives Malloc memory, expected DmaBufProtected",
        ),
        (
            {"capabilities": {"ProtectedContentAllocation": True}},
            Of(PROTECTED),
            "it refuses its allocator: backend 'Fake' computes in host memory",
        ),
    ],
)
def test_protected_mode_leaves_out_what_protects_nothing(
    make_backend, make_runtime, members: Any, allocator: Any, reason: str
) -> None:
    secure = make_backend(
        "Secure",
        capabilities={"ProtectedContentAllocation": True},
        accepts_allocator=lambda *_: Support(True),
    )
    allocators = {"Secure": Of(PROTECTED)}
    runtime = make_runtime(
        make_backend("Fake", **members), secure, custom_allocators=allocators, protected_mode=True
    )
    assert {row.backend for row in runtime.load_model(chain()).report} == {"Secure"}
    with pytest.raises(BackendUnavailableError, match="protected_mode: it"):
        runtime.load_model(chain(), ["Fake"])
    if allocator is not None:
        allocators = {**allocators, "Fake": allocator}
    options = {"custom_allocators": allocators, "protected_mode": True}
    with pytest.raises(BackendUnavailableError, match=f"protected_mode: {reason}"):
        make_runtime(make_backend("Fake", **members), secure, **options).optimize(chain(), ["Fake"])


class Scratching(Workload):
    """Clips through scratch memory, which it overwrites first."""

    scratch_bytes = 16

    def bind(self, inputs: Any, outputs: Any) -> Step:
        raise AssertionError("a runtime gives scratch memory")

    def bind_with_scratch(self, inputs: Any, outputs: Any, scratch: Any) -> Step:
        assert scratch.shape == (16,)
        assert scratch.ctypes.data % ALIGNMENT == 0
        assert not any(np.shares_memory(scratch, h.map()) for h in (*inputs, *outputs))

        def step() -> None:
            scratch[...] = 255
            floats = scratch.view(np.float32)
            floats[...] = inputs[0].map()
            np.maximum(floats, 0, out=floats)
            outputs[0].map()[...] = floats

        return step


@pytest.mark.parametrize(
    ("strategy", "lines"), [("SingleAxisPriorityList", 3), ("ConstantMemoryStrategy", 7)]
)
def test_scratch_memory_of_workloads_is_planned_beside_the_tensors(
    make_backend, make_runtime, strategy: str, lines: int
) -> None:
    kind = make_backend("Fake", create_workload=lambda *_: Scratching())
    model = make_runtime(kind, memory_strategy=strategy).load_model(chain(), ["Fake"])
    assert model.arena_bytes == lines * 64  # two tensors and a scratch at a time; four and three
    for values in (X, -X):
        np.testing.assert_array_equal(model.run({"x": values})["y"], np.maximum(values, 0))
        np.testing.assert_array_equal(model.bind({"x": values})()["y"], np.maximum(values, 0))


class Importing(TensorHandleFactory):
    """Host memory under another name, which imports."""

    def __init__(self, factory_id: str, *sources: MemorySource) -> None:
        self.id = factory_id
        self.import_sources = frozenset(sources)
        self.imported: list[TensorHandle] = []

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:
        return ArrayHandle(info, np.zeros(info.static_shape, info.data_type.numpy_dtype))

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> TensorHandle | None:
        self.imported.append(handle)
        return ArrayHandle(info, handle.map())


@pytest.fixture
def with_factories(make_backend) -> Any:
    """Return a function that makes backends with own memory."""

    def made(*factories: Importing, pair: tuple[str, str] | None = None) -> Any:
        def register(_: Any, registry: Any) -> None:
            for factory in factories:
                registry.register(factory)
            if pair is not None:
                registry.register_copy_and_import_pair(*pair)

        return make_backend(
            "Device",
            handle_factory_preferences=(factories[0].id,),
            register_tensor_handle_factories=register,
        )

    return made


@pytest.mark.parametrize(
    ("source", "imports"), [(MemorySource.DMA_BUF, True), (MemorySource.MALLOC, False)]
)
def test_a_device_imports_what_the_allocator_of_another_backend_gives(
    make_backend, make_runtime, with_factories, source: MemorySource, imports: bool
) -> None:
    factory = Importing("device", MemorySource.DMA_BUF)
    runtime = make_runtime(
        make_backend("Fake"), with_factories(factory), custom_allocators={"Fake": Of(source)}
    )
    on = {"layer0": "Fake", "layer1": "Device", "layer2": "Fake"}
    model = runtime.load_model(chain(), ["Fake", "Device"], layer_backends=on)
    np.testing.assert_array_equal(model.run({"x": X})["y"], np.maximum(X, 0))
    assert [handle.memory_source for handle in factory.imported] == [source] * imports


def test_a_pair_of_factories_copies_and_imports(make_backend, make_runtime, with_factories) -> None:
    copies, imports = Importing("copies"), Importing("imports", MemorySource.MALLOC)
    device = with_factories(copies, imports, pair=("copies", "imports"))
    runtime = make_runtime(make_backend("Fake"), device)
    on = {"layer0": "Fake", "layer1": "Device", "layer2": "Fake"}
    model = runtime.load_model(chain(), ["Fake", "Device"], layer_backends=on)
    np.testing.assert_array_equal(model.run({"x": X})["y"], np.maximum(X, 0))
    assert (len(copies.imported), len(imports.imported)) == (0, 1)


@pytest.mark.parametrize("imports", [True, False])
def test_bound_arrays_are_imported_by_devices_that_can(
    make_runtime, with_factories, imports: bool
) -> None:
    factory = Importing("device", *([MemorySource.MALLOC] if imports else []))
    model = make_runtime(with_factories(factory)).load_model(chain(), ["Device"])
    x = X.copy()
    call = model.bind({"x": x})
    assert call.copied == (() if imports else ("x",))  # y is made in the memory of the device
    for x[...] in (X, -X):
        np.testing.assert_array_equal(call()["y"], np.maximum(x, 0))
    arrays = [handle.map() for handle in factory.imported]
    assert [any(a is b for b in arrays) for a in (x, call.outputs["y"])] == [imports] * 2
