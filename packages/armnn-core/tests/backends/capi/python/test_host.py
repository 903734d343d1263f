# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import gc
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import DataLayout, Network, Runtime, TensorInfo
from armnn.backends import ArrayHandle, ModelContext, Support
from armnn.backends.capi.values import constants
from armnn.backends.native import NativeBackend, NativeLibrary, NativeLoadError
from armnn.errors import BackendError, ExecutionError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

X = np.array([[1.0, -2.0], [3.5, 0.25]], np.float32)
INFO = TensorInfo((2, 2))


WRAPPER = (
    Path(__file__).parents[5]
    / "armnn-dynamic-loader/src/armnn_dynamic_loader/wrapper/python_backend.c"
)


def wrapper(spelling: str) -> tuple[str, ...]:
    return str(WRAPPER), '-DBACKEND_ID="CpuRef"', f'-DBACKEND_CLASS="{spelling}"'


@pytest.fixture
def library(
    build: Callable[..., Path], make_backend: Any, monkeypatch: pytest.MonkeyPatch
) -> NativeLibrary:
    module = ModuleType("armnn_test_prototype")
    module.Prototype = make_backend("CpuRef")  # type: ignore[attr-defined]  # that is the point
    module.nothing = 3  # type: ignore[attr-defined]  # as above
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return NativeLibrary.open(build(*wrapper("armnn_test_prototype:Prototype")))


@pytest.fixture(autouse=True)
def no_constant_left() -> Iterator[None]:
    yield
    gc.collect()  # a network and its layers are a cycle
    assert len(constants) == 0


def network() -> Network:
    made = Network("scaled")
    x = made.add_input("x", INFO)
    scaled = made.add_multiplication(x, np.full((2, 2), 3, np.float32), name="scale")
    made.add_output("y", made.add_addition(scaled, x, name="add"))
    return made


def test_a_python_class_serves_a_file(
    make_native_runtime: Callable[..., Runtime], library: NativeLibrary
) -> None:
    runtime = make_native_runtime(library)
    loaded = runtime.load_network(runtime.optimize(network(), ["CpuRef"]))
    for factor in (1, 2):
        np.testing.assert_array_equal(loaded.run({"x": factor * X})["y"], factor * X * 4)
    loaded.unload()


def test_its_refusals_have_reasons(library: NativeLibrary) -> None:
    backend, layer = NativeBackend(library), network().find("add")
    prototype = sys.modules["armnn_test_prototype"].Prototype
    prototype.refused = {"Addition": "not today"}
    answer = backend.supports(layer, ModelContext({}))
    assert not answer
    assert "not today" in answer.reason
    with pytest.raises(BackendError, match="not today"):
        backend.create_workload(layer, ModelContext({}))


def test_its_wishes_come_through(library: NativeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, layer = NativeBackend(library), network().find("add")
    prototype = sys.modules["armnn_test_prototype"].Prototype
    for wish in (
        Support.no("only NHWC", DataLayout.NHWC),
        Support(True, layout=DataLayout.NCHW),
        Support(True),
    ):
        monkeypatch.setattr(prototype, "supports", lambda *_, answer=wish: answer)
        assert backend.supports(layer, ModelContext({})) == wish


def test_a_layer_that_it_cannot_read_back_is_refused(library: NativeLibrary) -> None:
    layer = network().find("add")
    layer.spec = dataclasses.replace(layer.spec, name="UnknownToAll")
    layer.type = layer.spec.name
    answer = NativeBackend(library).supports(layer, ModelContext({}))
    assert answer == Support.no("the layer type 'UnknownToAll' is not known here")


class _Reluctant:
    def supports(self, layer: object, model: object) -> Support:
        raise KeyboardInterrupt


def test_its_exceptions_come_through(
    library: NativeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, layer = NativeBackend(library), network().find("add")
    prototype = sys.modules["armnn_test_prototype"].Prototype
    monkeypatch.setattr(prototype, "supports", _Reluctant.supports)
    with pytest.raises(KeyboardInterrupt):
        backend.supports(layer, ModelContext({}))
    monkeypatch.undo()

    def fail(*_: object) -> None:
        raise MemoryError("all gone")

    monkeypatch.setattr(prototype, "create_workload", fail)
    with pytest.raises(BackendError, match=r"all gone \(ARMNN_RESOURCE_EXHAUSTED\)"):
        backend.create_workload(layer, ModelContext({}))
    with pytest.raises(InvalidArgumentError, match="has no options: got Fast"):
        backend.create_workload(layer, ModelContext({"Fast": True}))


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("armnn_no_such:Backend", "cannot import 'armnn_no_such:Backend': No module named"),
        ("armnn_test_prototype:Missing", "cannot import 'armnn_test_prototype:Missing': module"),
        ("armnn_test_prototype:nothing", "'armnn_test_prototype:nothing' is 3, expected a Backend"),
    ],
)
def test_a_class_that_is_not_there_is_a_load_error(
    build: Callable[..., Path], library: NativeLibrary, spelling: str, message: str
) -> None:
    other = NativeLibrary.open(build(*wrapper(spelling)))
    with pytest.raises(NativeLoadError, match=message) as caught:
        NativeBackend(other).start()
    assert caught.value.stage == "create"


def test_a_backend_in_python_is_given_the_options_of_a_runtime(library: NativeLibrary) -> None:
    with pytest.raises(InvalidArgumentError, match=r"has no options for a runtime: got Tiles"):
        NativeBackend(library).start({"Tiles": 4})


def test_an_execute_that_raises_is_an_execution_error(
    library: NativeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, layer = NativeBackend(library), network().find("add")
    workload = backend.create_workload(layer, ModelContext({}))
    handles = [ArrayHandle(INFO, array) for array in (X, X, np.zeros_like(X))]
    step = workload.bind(handles[:2], handles[2:])
    step()

    def fail(*_: object) -> None:
        raise ValueError("a kernel fell over")

    monkeypatch.setattr("armnn.backends.capi.python.PythonContext.execute", fail)
    with pytest.raises(ExecutionError, match=r"a kernel fell over \(ARMNN_INTERNAL\)"):
        step()
