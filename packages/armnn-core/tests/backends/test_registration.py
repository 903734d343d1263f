# SPDX-License-Identifier: MIT
"""Backends that a program registers: visible, replaced, undone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

import armnn
from armnn.backends import (
    BACKEND_API_VERSION,
    Backend,
    BackendRegistry,
    BackendState,
    CreationOptions,
    registry,
)
from armnn.errors import (
    BackendUnavailableError,
    InvalidArgumentError,
    UnknownBackendError,
    UnknownNameError,
)
from fakes import NullBackend, backend_plugin, installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

X = np.arange(4, dtype=np.float32)
THIS = "test_registration"


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    """Check that each test undoes what it registers."""
    yield
    left = dict(registry._registrations)
    registry._registrations.clear()
    assert left == {}


class Sketch(NullBackend):
    id: ClassVar[str] = "Sketch"

    def __init__(self) -> None:
        super().__init__()


class Other(Sketch):
    pass


def chain() -> armnn.Network:
    network = armnn.Network("chain")
    x = network.add_input("x", armnn.TensorInfo((4,)))
    network.add_output("y", network.add_addition(x, x))
    return network


def test_a_registered_backend_runs_a_network_and_is_gone_afterwards(make_backend: Any) -> None:
    kind = make_backend("Sketch")
    with armnn.register_backend("Sketch", kind) as registered:
        assert registered.id == "Sketch"
        model = armnn.load_model(chain(), ["Sketch"])
        assert [row.backend for row in model.report] == ["Sketch"]
    with pytest.raises(UnknownBackendError, match="no backend 'Sketch'"):
        armnn.load_model(chain(), ["Sketch"])
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)  # what is loaded stays


def test_it_is_undone_when_the_block_fails() -> None:
    with pytest.raises(ZeroDivisionError), armnn.register_backend("Sketch", Sketch):
        1 / 0  # noqa: B018  # raises
    assert "Sketch" not in [entry.id for entry in BackendRegistry().entries()]


def test_the_decorator_returns_the_class() -> None:
    @armnn.register_backend("Drawn")
    class Drawn(NullBackend):
        id: ClassVar[str] = "Drawn"

    assert isinstance(BackendRegistry().get("Drawn"), Drawn)
    armnn.unregister_backend("Drawn")


def test_the_decorator_takes_a_function() -> None:
    registered = armnn.register_backend("Sketch")

    @registered
    def sketch() -> Backend:
        return Sketch()

    with registered:
        assert isinstance(BackendRegistry().get("Sketch"), Sketch)


def test_a_registry_that_exists_sees_it_at_once(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        registry = BackendRegistry()
        assert [entry.id for entry in registry.entries()] == ["Acme"]
        with armnn.register_backend("Sketch", Sketch):
            first, _ = registry.entries()
            assert (first.id, first.state) == ("Sketch", BackendState.KNOWN)
            assert first.origin.endswith(f"{THIS}:Sketch")
            assert first.is_registered
            assert registry.get("Sketch") is registry.get("Sketch")
            assert registry.entries()[0].state is BackendState.LOADED
            assert {each.id for each in registry.find_usable()} == {"Acme", "Sketch"}
        assert [entry.id for entry in registry.entries()] == ["Acme"]
        assert not registry.entries()[0].is_registered


def test_the_program_comes_before_the_packages(tmp_path: Path) -> None:
    with (
        installed(tmp_path, backend_plugin("Sketch"), alone=True),
        armnn.register_backend("Sketch", Sketch),
    ):
        registry = BackendRegistry()
        assert type(registry.get("Sketch")) is Sketch
        assert [entry.state for entry in registry.entries()] == ["loaded", "shadowed"]
        assert registry.entries()[1].shadowed_by.endswith(":Sketch")


@pytest.mark.parametrize("make", [lambda: Sketch, lambda: lambda: Sketch(), lambda: lambda: Sketch])
def test_each_registry_has_its_own(make: Any) -> None:
    with armnn.register_backend("Sketch", make()):
        first, second = BackendRegistry(), BackendRegistry()
        assert first.get("Sketch") is first.get("Sketch") is not second.get("Sketch")


def test_an_instance_is_shared() -> None:
    backend = Sketch()
    with armnn.register_backend("Sketch", backend):
        assert BackendRegistry().get("Sketch") is backend is BackendRegistry().get("Sketch")


def test_a_second_factory_needs_replace_and_the_first_comes_back() -> None:
    with armnn.register_backend("Sketch", Sketch):
        with pytest.raises(
            InvalidArgumentError,
            match=rf"'Sketch' is registered already, as .*{THIS}:Sketch: replace=True puts "
            rf".*{THIS}:Other in its place until it is undone, unregister_backend\('Sketch'\) rem",
        ):
            armnn.register_backend("Sketch", Other)
        registry = BackendRegistry()
        assert type(registry.get("Sketch")) is Sketch
        with armnn.register_backend("Sketch", Other, replace=True):
            assert type(registry.get("Sketch")) is Other
            assert [entry.state for entry in registry.entries()[:2]] == ["loaded", "shadowed"]
        assert type(registry.get("Sketch")) is Sketch


def test_a_cell_that_is_run_again_replaces_its_own_class(make_backend: Any) -> None:
    model = None
    for factor in (3, 5):

        @armnn.register_backend("Cell")
        class Cell(make_backend("Cell")):  # type: ignore[misc] # made at run time
            number: ClassVar[int] = factor

        with armnn.Runtime() as runtime:
            assert runtime.registry.get("Cell").number == factor
        model = armnn.load_model(chain(), ["Cell"])
    assert len(registry._registrations["Cell"]) == 1
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)
    armnn.unregister_backend("Cell")


def test_a_replaced_backend_gets_a_context_of_its_own(make_backend: Any) -> None:
    opened: list[str] = []
    kinds = [
        make_backend("Cell", create_context=lambda *_, name=name: opened.append(name))
        for name in ("first", "second")
    ]
    with armnn.Runtime() as runtime, armnn.register_backend("Cell", kinds[0]):
        runtime.load_model(chain(), ["Cell"])
        with armnn.register_backend("Cell", kinds[1], replace=True):
            runtime.load_model(chain(), ["Cell"])
            runtime.load_model(chain(), ["Cell"])
        runtime.load_model(chain(), ["Cell"])
    assert opened == ["first", "second"]


def test_undoing_twice_does_nothing() -> None:
    registered = armnn.register_backend("Sketch", Sketch)
    registered.undo()
    registered.undo()
    assert repr(registered).endswith(f"{THIS}:Sketch>")


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("A b", "^the id of a backend is 'A b', expected letters and digits$"),
        ("Unknown", "expected another id, as 'Unknown' names no backend"),
        (Sketch, "the id of a backend is the class Sketch, expected letters and digits"),
    ],
)
def test_an_id_must_be_one(id: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        armnn.register_backend(id, Sketch)


class Nameless(NullBackend):
    id = None  # type: ignore[assignment] # that is the fault


class Ageless(NullBackend):
    id: ClassVar[str] = "Sketch"
    api_version = None  # type: ignore[assignment] # that is the fault


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (7, "factory of backend 'Sketch' is 7, expected a class derived from armnn.backends.Back"),
        (int, "is the class int, expected a class derived"),
        (Nameless, "Nameless lacks the attribute 'id': write id = 'Sketch' in the class"),
        (Ageless, "lacks the attribute 'api_version': write api_version = armnn.backends.BACKEND_"),
        (NullBackend("Acme"), "NullBackend has the id 'Acme' and is registered as 'Sketch': the t"),
    ],
)
def test_a_factory_must_be_one(factory: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        armnn.register_backend("Sketch", factory)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda: 7, "is not a backend: got int from"),
        (lambda: NullBackend("Acme"), "was found as 'Sketch' but calls itself 'Acme'"),
        (lambda: 1 / 0, "cannot be made: ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_function_returns_is_checked_when_it_is_used(factory: Any, message: str) -> None:
    with (
        armnn.register_backend("Sketch", factory),
        pytest.raises(BackendUnavailableError, match=message),
    ):
        BackendRegistry().get("Sketch")


def test_a_function_that_fails_later_fails_that_registry_only() -> None:
    made = [Sketch(), 7]
    with armnn.register_backend("Sketch", lambda: made.pop(0)):
        first, second = BackendRegistry(), BackendRegistry()
        backend = first.get("Sketch")
        with pytest.raises(BackendUnavailableError, match="is not a backend: got int"):
            second.get("Sketch")
        assert first.get("Sketch") is backend


def test_without_a_factory_it_is_no_context() -> None:
    with (
        pytest.raises(
            InvalidArgumentError,
            match=r"register_backend\('Sketch'\) has no factory yet: give it as the second argume",
        ),
        armnn.register_backend("Sketch"),
    ):
        pass


def test_what_is_not_registered_cannot_be_removed() -> None:
    with pytest.raises(UnknownNameError, match="no backend is registered as 'Acme': registered ar"):
        armnn.unregister_backend("Acme")
    with (
        armnn.register_backend("Sketch", Sketch),
        pytest.raises(UnknownNameError, match=r"are Sketch; did you mean 'Sketch'\?"),
    ):
        armnn.unregister_backend("sketch")


def test_switches_hold_for_registered_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    with armnn.register_backend("Sketch", Sketch):
        options = CreationOptions(enable_static_backends=False)
        with pytest.raises(BackendUnavailableError, match=r"'Sketch' .*is blocked: it is a static"):
            BackendRegistry(options).get("Sketch")
        monkeypatch.setenv("ARMNN_BACKENDS", "-Sketch")
        with pytest.raises(BackendUnavailableError, match="is blocked by the environment variable"):
            BackendRegistry().get("Sketch")


def test_a_lock_file_admits_no_registered_backend(tmp_path: Path) -> None:
    options = CreationOptions(require_locked=True, lock_file=str(tmp_path / "none"))
    with (
        armnn.register_backend("Sketch", Sketch),
        pytest.raises(BackendUnavailableError, match="is registered by the program, and a lock f"),
    ):
        BackendRegistry(options).get("Sketch")


def test_threads_register_and_undo_without_harm() -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(50):
                with armnn.register_backend(
                    f"Sketch{number}", lambda: NullBackend(f"Sketch{number}")
                ):
                    assert BackendRegistry().get(f"Sketch{number}").id == f"Sketch{number}"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_the_version_of_the_api_is_checked() -> None:
    class Young(NullBackend):
        id: ClassVar[str] = "Young"
        api_version = BACKEND_API_VERSION.__class__(9, 0)

    with (
        armnn.register_backend("Young", Young),
        pytest.raises(BackendUnavailableError, match=r"needs Backend API 9\.0, this core provid"),
    ):
        BackendRegistry().get("Young")
