# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import Network, TensorInfo
from armnn.backends import (
    ArrayHandle,
    MemoryManager,
    Step,
    TensorHandle,
    TensorHandleFactory,
    Workload,
)
from armnn.errors import CancelledError, InvalidArgumentError, MemoryImportError
from armnn.profiling import Recorder
from armnn.runtime import NetworkProperties
from armnn.runtime.calls.imports import MOST_KEPT
from armnn.types import MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

X = np.arange(6, dtype=np.float32).reshape(2, 3)
BOTH = {"import_enabled": True, "export_enabled": True}


def address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def doubled(batch: Any = 2) -> Network:
    network = Network("double")
    x = network.add_input("x", TensorInfo((batch, 3)))
    network.add_output("y", network.add_addition(x, x, name="double"))
    return network


class Doubling(Workload):
    """Adds, and notes the places of its tensors."""

    def __init__(self, seen: list[tuple[int, int]]) -> None:
        self._seen = seen

    def bind(self, inputs: Any, outputs: Any) -> Step:
        x, y = inputs[0].map(), outputs[0].map()
        self._seen.append((address(x), address(y)))

        def step() -> None:
            y[...] = 2 * x

        return step


@pytest.fixture
def seen() -> list[tuple[int, int]]:
    return []


@pytest.fixture
def load(make_backend, make_runtime, seen) -> Callable[..., Any]:
    """Return a function that loads an observed network."""
    backend = make_backend("Doubling", create_workload=lambda *_: Doubling(seen))

    def load(network: Network | None = None, **options: Any) -> Any:
        runtime = make_runtime(backend)
        return runtime.load_model(network or doubled(), ["Doubling"], **options)

    return load


def test_a_run_reads_and_writes_the_callers_arrays(load, seen) -> None:
    x, y = X.copy(), np.empty_like(X)
    assert load(**BOTH).run({"x": x}, {"y": y})["y"] is y
    np.testing.assert_array_equal(y, 2 * X)
    assert seen[-1] == (address(x), address(y))


@pytest.mark.parametrize("given", [{"y": np.empty_like(X)}, None])
@pytest.mark.parametrize("option", ["import_enabled", "export_enabled"])
def test_each_option_is_for_its_side(load, seen, option: str, given: Any) -> None:
    x = X.copy()
    model = load(**{option: True})
    first = model.run({"x": x}, given)["y"]
    np.testing.assert_array_equal(first, 2 * X)
    assert (seen[-1][0] == address(x)) is (option == "import_enabled")
    written = given is not None and option == "export_enabled"
    assert (seen[-1][1] == address(first)) is written
    x += 1
    np.testing.assert_array_equal(model.run({"x": x})["y"], 2 * X + 2)
    np.testing.assert_array_equal(first, 2 * X)


def test_without_the_options_runs_copy(load, seen) -> None:
    x, y = X.copy(), np.empty_like(X)
    load().run({"x": x}, {"y": y})
    assert address(x) not in seen[-1]
    assert address(y) not in seen[-1]


def test_the_same_arrays_are_bound_once(load, seen) -> None:
    model = load(**BOTH)
    ring = [(X + number, np.empty_like(X)) for number in range(MOST_KEPT + 1)]
    for _ in range(3):
        for x, y in ring[:-1]:
            model.run({"x": x}, {"y": y})
            np.testing.assert_array_equal(y, 2 * x)
    assert len(seen) == MOST_KEPT
    for x, y in (ring[-1], ring[0]):  # of the last one the oldest is forgotten
        model.run({"x": x}, {"y": y})
        np.testing.assert_array_equal(y, 2 * x)
    assert len(seen) == MOST_KEPT + 2
    model.unload()


def test_each_shape_is_imported(load, seen) -> None:
    model = load(doubled("N"), **BOTH)
    for batch in (1, 4, 2):
        x = np.full((batch, 3), batch, np.float32)
        np.testing.assert_array_equal(model.run({"x": x})["y"], 2 * x)
        assert seen[-1][0] == address(x)
    with pytest.raises(InvalidArgumentError, match=r"'y' has shape \[1,3\]: these inputs make"):
        model.run({"x": X}, {"y": np.empty((1, 3), np.float32)})


def test_an_array_may_be_input_and_output(load) -> None:
    model = load(**BOTH)
    x = X.copy()
    model.run({"x": x}, {"y": x})
    np.testing.assert_array_equal(x, 2 * X)
    room = np.arange(9, dtype=np.float32)
    model.run({"x": room[:6].reshape(2, 3)}, {"y": room[3:].reshape(2, 3)})
    np.testing.assert_array_equal(room, [0, 1, 2, 0, 2, 4, 6, 8, 10])


def test_memory_that_no_backend_can_use_is_refused(load) -> None:
    model = load(**BOTH)
    message = "input 'x' is not contiguous .*'double' was loaded to use arrays without copies"
    with pytest.raises(MemoryImportError, match=message):
        model.run({"x": np.zeros((2, 6), np.float32)[:, ::2]})
    odd = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
    with pytest.raises(MemoryImportError, match="output 'y' begins at an address"):
        model.run({"x": X}, {"y": odd})
    np.testing.assert_array_equal(model.run({"x": X.tolist()})["y"], 2 * X)


def test_watched_runs_import_too(load, seen) -> None:
    model, recorder, x = load(import_enabled=True), Recorder(), X.copy()
    model.run({"x": x}, profiler=recorder, timeout=30)
    assert seen[-1][0] == address(x)
    assert {"run", "double"} <= {event.name for event in recorder.events}
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError, match="before layer 'double'"):
        model.run({"x": x}, cancel=stop)
    np.testing.assert_array_equal(model.run({"x": x})["y"], 2 * X)


def test_real_values_are_converted_as_ever(load) -> None:
    model = load(quantize=True, **BOTH)
    np.testing.assert_array_equal(model.run({"x": X[:, ::-1]})["y"], 2 * X[:, ::-1])


def test_data_that_decides_is_copied() -> None:
    network = Network("filled")
    dims = network.add_input("dims", TensorInfo((2,), "Signed32"))
    network.add_output("y", network.add_fill(dims, value=3.0))
    model = armnn.load_model(network, ["CpuRef"], **BOTH)
    for shape in ((1, 2), (3, 1)):
        made = model.run({"dims": np.array(shape, np.int32)})["y"]
        np.testing.assert_array_equal(made, np.full(shape, 3, np.float32))


def test_threads_have_arrays_of_their_own(load) -> None:
    model, wrong = load(**BOTH), []

    def work(number: int) -> None:
        x, y = X + number, np.empty_like(X)
        for _ in range(50):
            y[...] = 0
            if not np.array_equal(model.run({"x": x}, {"y": y})["y"], 2 * x):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class Choosy(TensorHandleFactory):
    """Imports plain memory, or says that it does."""

    id = "Choosy.memory"
    import_sources = frozenset({MemorySource.MALLOC})

    def __init__(self, *, keeps_word: bool) -> None:
        self._keeps_word = keeps_word

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:
        return ArrayHandle(info, np.zeros(info.static_shape, info.data_type.numpy_dtype))

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> TensorHandle | None:
        return ArrayHandle(info, handle.map()) if self._keeps_word else None


@pytest.mark.parametrize("keeps_word", [True, False])
def test_a_device_imports_or_says_that_it_cannot(make_backend, make_runtime, seen, keeps_word):
    factory = Choosy(keeps_word=keeps_word)
    backend = make_backend(
        "Choosy",
        create_workload=lambda *_: Doubling(seen),
        handle_factory_preferences=(factory.id,),
        register_tensor_handle_factories=lambda _, registry: registry.register(factory),
    )
    model, x = make_runtime(backend).load_model(doubled(), ["Choosy"], **BOTH), X.copy()
    if keeps_word:
        np.testing.assert_array_equal(model.run({"x": x})["y"], 2 * X)
        assert seen[-1][0] == address(x)
    else:
        with pytest.raises(MemoryImportError, match="'x' of the network 'double' imports Malloc"):
            model.run({"x": x})


def test_a_model_is_loaded_for_properties(load, seen) -> None:
    recorder = Recorder()
    properties = NetworkProperties(input_source="Malloc", profiler=recorder)
    model, x = load(import_enabled=True, properties=properties), X.copy()
    assert model.properties is properties
    model.run({"x": x})
    assert seen[-1][0] == address(x)
    assert "double" in {event.name for event in recorder.events}
    with pytest.raises(InvalidArgumentError, match="'double' was optimized with import_enabled="):
        load(properties=properties)
    with pytest.raises(InvalidArgumentError, match="the properties is 3, expected a NetworkProp"):
        load(properties=3)


def test_a_file_that_is_loaded_again_has_its_properties(tmp_path, make_backend) -> None:
    path = tmp_path / "double.armnn"
    armnn.save(doubled(), path)
    with armnn.register_backend("Fake", make_backend("Fake")):
        model = armnn.load_model(path, ["Fake"], properties=NetworkProperties(async_enabled=False))
        again = pickle.loads(pickle.dumps(model))
        assert again.properties == model.properties == NetworkProperties(async_enabled=False)
        again.runtime.close()
