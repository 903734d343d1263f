# SPDX-License-Identifier: MIT
"""The unit tests of Arm NN's dynamic-backend design note, but the one about tests of steps.

Its end-to-end test is tests-e2e/test_dynamic_reference.py. Arm NN's own DynamicBackendTests, which
go further, are test_arm_dynamic_backends.py.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.backends import BACKEND_API_VERSION
from armnn.errors import BackendUnavailableError

Build = Callable[..., Path]


def options(path: Path) -> CreationOptions:
    return CreationOptions(dynamic_backends_path=str(path.parent), enable_static_backends=False)


def usable(path: Path) -> list[str]:
    with Runtime(options(path)) as runtime:
        return [e.id for e in runtime.registry.entries() if e.state.value == "known"]


def addition() -> Network:
    net = Network("addition")
    a, b = (net.add_input(name, TensorInfo((2,))) for name in "ab")
    net.add_output("sum", net.add_addition(a, b))
    return net


def total(runtime: Runtime) -> list[float]:
    model = runtime.load_model(addition(), backends=["MockAdd"])
    feeds = {"a": np.array([5, 3], np.float32), "b": np.array([10, 8], np.float32)}
    return list(map(float, model.run(feeds)["sum"]))


def test_01_a_valid_backend_is_loaded(build: Build) -> None:
    with Runtime(options(build("Arm_Good_backend.so"))) as runtime:
        assert runtime.registry.get("MockAdd").id == "MockAdd"


def test_02_what_is_no_shared_object_is_not_loaded(build: Build) -> None:
    """Links are followed, as the later guide says.

    The design note refused them.
    """
    path = build("libGood.so")
    path.with_name("Arm_Text_backend.so").write_text("text")
    path.with_name("Arm_Gone_backend.so").symlink_to("nothing")
    assert usable(path) == []


def test_03_a_backend_without_the_interface_is_not_loaded(build: Build) -> None:
    assert usable(build("Arm_Bad_backend.so", "-DNO_VERSION")) == []


def test_04_a_backend_of_another_version_is_not_loaded(build: Build) -> None:
    """By the shipped rule, the minor version counts, too."""
    build("Arm_A_backend.so", "-DMAJOR=2")
    assert usable(build("Arm_B_backend.so", f"-DMINOR={BACKEND_API_VERSION.minor + 1}")) == []


def test_05_several_different_backends_are_loaded(build: Build) -> None:
    build("Arm_A_backend.so", '-DID="A"')
    assert usable(build("Arm_B_backend.so", '-DID="B"')) == ["A", "B"]


def test_06_a_second_backend_of_an_id_is_not_loaded(build: Build) -> None:
    build("Arm_A_backend.so", '-DID="A"', "-DAT_FACTORY=(void)0")
    assert usable(build("Arm_B_backend.so", '-DID="A"')) == ["A"]


def test_07_the_same_shared_object_is_loaded_once(build: Build) -> None:
    path = build("Arm_A_backend.so.1")
    path.with_name("Arm_A_backend.so").symlink_to(path)
    assert usable(path) == ["MockAdd"]


def test_08_backends_go_with_their_runtime(build: Build) -> None:
    """Unloading is logical; the mapping stays.

    Every plug-in system that unloads code has found out why.
    """
    runtime = Runtime(options(build("Arm_Good_backend.so")))
    assert total(runtime) == [15, 11]
    gone = weakref.ref(runtime.registry.get("MockAdd"))
    runtime.close()
    del runtime
    gc.collect()
    assert gone() is None


def test_09_every_function_of_a_loaded_backend_can_be_called(build: Build) -> None:
    with Runtime(options(build("Arm_Good_backend.so"))) as runtime:
        backend = runtime.registry.get("MockAdd")
        net = addition()
        (layer,) = (each for each in net.layers if each.type == "Addition")
        model = backend.create_model_context({})
        assert backend.supports(layer, model)
        assert backend.create_workload(layer, model) is not None
        assert backend.create_memory_manager() is None
        assert dict(backend.capabilities) == {}
        assert backend.score() == 0
        assert total(runtime) == [15, 11]


def test_10_nothing_runs_without_a_backend() -> None:
    """As shipped, the runtime itself starts; the note refused that."""
    with (
        Runtime(CreationOptions(enable_static_backends=False)) as runtime,
        pytest.raises(BackendUnavailableError, match="No backend can be used"),
    ):
        runtime.optimize(addition())


def test_11_each_runtime_has_its_own_instance_of_a_backend(build: Build) -> None:
    path = build("Arm_Good_backend.so")
    with Runtime(options(path)) as first, Runtime(options(path)) as second:
        assert first.registry.get("MockAdd") is not second.registry.get("MockAdd")
        assert total(first) == total(second) == [15, 11]
