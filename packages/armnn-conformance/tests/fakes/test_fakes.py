# SPDX-License-Identifier: MIT
"""The fake backends behave as tests need."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest

from armnn import DataType, Network, TensorInfo
from armnn.backends import (
    ArrayHandle,
    Backend,
    CreationOptions,
    MemoryManager,
    ModelContext,
    SubgraphView,
    TensorHandle,
    TensorHandleFactories,
)
from armnn.errors import BackendError
from armnn_conformance import (
    DeviceBackend,
    FailingBackend,
    NullBackend,
    RecordingBackend,
    SelectiveBackend,
)
from armnn_conformance.fakes.device import DeviceMemory
from armnn_conformance.fakes.ordinary import NullWorkload, Stage

if TYPE_CHECKING:
    from armnn.graph import Layer

INFO = TensorInfo((2, 3), DataType.FLOAT32)
MODEL = ModelContext({})


def two_layers() -> tuple[Network, Layer, Layer]:
    network = Network("n")
    first = network.add("Activation", [network.add_input("x", INFO)], name="first")
    second = network.add("Prelu", [first.output, np.float32([0.5])], name="second")
    network.add_output("y", second.output)
    return network, first, second


def handle() -> ArrayHandle:
    return ArrayHandle(INFO, np.full((2, 3), 7, np.float32))


def use(backend: Backend) -> None:
    """Ask everything that a runtime asks of a backend."""
    network, first, _ = two_layers()
    backend.create_context(CreationOptions())
    model = backend.create_model_context({})
    backend.supports(first, model)
    backend.optimize_subgraph(SubgraphView.of(network, [first]), model)
    backend.create_workload(first, model).bind([handle()], [handle()])()


@pytest.mark.parametrize(
    "kind", [NullBackend, SelectiveBackend, RecordingBackend, FailingBackend, DeviceBackend]
)
def test_an_instance_may_have_an_id_of_its_own(kind: type[NullBackend]) -> None:
    assert kind("Acme").id == "Acme"
    assert kind().id == kind.id != "Acme"


def test_a_null_backend_supports_all_takes_any_option_and_writes_nothing() -> None:
    backend = NullBackend()
    _, first, _ = two_layers()
    output = handle()
    assert backend.supports(first, MODEL)
    assert backend.create_model_context({"Any": 1}).options == {"Any": 1}
    backend.create_workload(first, MODEL).bind([handle()], [output])()
    assert output.map().tolist() == [[7, 7, 7], [7, 7, 7]]


def test_a_selective_backend_answers_from_its_map() -> None:
    _, first, second = two_layers()
    backend = SelectiveBackend("S", {"Activation": True, "Prelu": "no alpha here"})
    assert backend.supports(first, MODEL)
    assert backend.supports(second, MODEL).reason == "no alpha here"


def test_the_name_of_a_layer_counts_before_its_type() -> None:
    _, first, second = two_layers()
    backend = SelectiveBackend("S", {"Activation": True, "first": False}, default=True)
    assert backend.supports(first, MODEL).reason == "Activation is not in the support map"
    assert backend.supports(second, MODEL)


def test_a_layer_outside_of_the_map_gets_the_default() -> None:
    _, first, _ = two_layers()
    assert not SelectiveBackend("S").supports(first, MODEL)
    assert SelectiveBackend("S", default=True).supports(first, MODEL)
    assert SelectiveBackend("S", default="never").supports(first, MODEL).reason == "never"


def test_a_selective_backend_claims_no_more_than_the_one_that_computes() -> None:
    _, first, _ = two_layers()
    inner = SelectiveBackend("Inner", default="inner says no")
    assert SelectiveBackend("S", default=True, inner=inner).supports(first, MODEL).reason == (
        "inner says no"
    )


def test_a_recording_backend_lists_the_calls_in_order() -> None:
    backend = RecordingBackend()
    use(backend)
    context = backend.create_context(CreationOptions())
    context.before_load_network(3)
    context.after_load_network(3)
    context.after_enqueue_workload(3)
    context.before_unload_network(3)
    context.after_unload_network(3)
    context.close()
    assert [(call.method, call.subject) for call in backend.calls] == [
        ("create_context", ""),
        ("create_model_context", ""),
        ("supports", "first"),
        ("optimize_subgraph", "first"),
        ("create_workload", "first"),
        ("bind", "first"),
        ("execute", "first"),
        ("create_context", ""),
        ("before_load_network", "3"),
        ("after_load_network", "3"),
        ("after_enqueue_workload", "3"),
        ("before_unload_network", "3"),
        ("after_unload_network", "3"),
        ("close", ""),
    ]
    assert backend.methods()[-1] == "close"


def test_a_recording_backend_passes_the_answers_on() -> None:
    _, first, _ = two_layers()
    backend = RecordingBackend(inner=SelectiveBackend(default="inner says no"))
    assert backend.supports(first, MODEL).reason == "inner says no"
    with pytest.raises(BackendError, match="told to fail in execute"):
        use(RecordingBackend(inner=FailingBackend(stage="execute")))


@pytest.mark.parametrize("stage", get_args(Stage))
def test_a_failing_backend_fails_at_its_stage_only(stage: Stage) -> None:
    recorder = RecordingBackend(inner=FailingBackend(stage=stage))
    with pytest.raises(BackendError, match=f"^told to fail in {stage}$"):
        use(recorder)
    assert recorder.methods()[-1] == stage


def test_a_failing_backend_raises_what_it_is_given() -> None:
    with pytest.raises(OSError, match="no device"):
        use(FailingBackend(stage="create_context", error=OSError("no device")))


class Doubling(NullBackend):
    """Writes twice its input; enough to see data move."""

    def create_workload(self, layer: Layer, model: ModelContext) -> NullWorkload:
        return _Double()


class _Double(NullWorkload):
    def bind(self, inputs, outputs):  # type: ignore[no-untyped-def]  # typed by the base
        return lambda: np.multiply(inputs[0].map(), 2, out=outputs[0].map())


def device_tensors(backend: DeviceBackend) -> tuple[DeviceMemory, TensorHandle, TensorHandle]:
    factories = TensorHandleFactories()
    backend.register_tensor_handle_factories(factories)
    (factory_id,) = backend.handle_factory_preferences
    memory = backend.create_memory_manager()
    assert isinstance(memory, DeviceMemory)
    factory = factories[factory_id]
    return memory, factory.create(INFO, memory), factory.create(INFO, memory)


def test_a_device_backend_computes_in_its_own_memory() -> None:
    backend = DeviceBackend(inner=Doubling())
    memory, source, target = device_tensors(backend)
    _, first, _ = two_layers()
    step = backend.create_workload(first, MODEL).bind([source], [target])
    for value in (1.0, 5.0):
        with memory:
            source.map()[...] = value
            source.unmap()
            step()
            assert target.map().tolist() == [[2 * value] * 3] * 2
            target.unmap()
    assert memory.acquisitions == 2


def test_what_is_not_unmapped_never_reaches_the_device() -> None:
    memory, source, _ = device_tensors(DeviceBackend())
    with memory:
        mapped = source.map()
        mapped[...] = 1
        assert source.map() is mapped
        source.unmap()
        mapped[...] = 9
        source.unmap()
        assert source.map().tolist() == [[1] * 3] * 2


def test_device_memory_is_mapped_between_acquire_and_release_only() -> None:
    memory, source, _ = device_tensors(DeviceBackend())
    with pytest.raises(BackendError, match="mapped while it was not acquired"):
        source.map()
    with memory:
        source.map()
    with pytest.raises(BackendError, match="mapped while it was not acquired"):
        source.map()


class Elsewhere(MemoryManager):
    def acquire(self) -> None: ...
    def release(self) -> None: ...


def test_a_device_makes_no_tensors_in_the_memory_of_another() -> None:
    backend = DeviceBackend("Npu")
    factories = TensorHandleFactories()
    backend.register_tensor_handle_factories(factories)
    assert list(factories) == ["Npu.memory"]
    with pytest.raises(BackendError, match=r"need its DeviceMemory: got <.*Elsewhere"):
        factories["Npu.memory"].create(INFO, Elsewhere())


def test_the_fakes_do_not_need_pytest() -> None:
    code = "import sys, armnn_conformance; print({'pytest', '_pytest'} & {*sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert run.stdout.strip() == b"set()"
