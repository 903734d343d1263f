# SPDX-License-Identifier: MIT
"""Loading a backend: every failure, its reason, only once."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from armnn.backends import BACKEND_API_VERSION, BackendRegistry, BackendState
from armnn.backends.loading import LOAD_EVENT
from armnn.errors import BackendUnavailableError, IncompatibleBackendError
from fakes import backend_plugin, installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = "from armnn.backends import BackendVersion\nfrom fakes import NullBackend\n"
ABSTRACT = (
    "from armnn.backends import BACKEND_API_VERSION, Backend\nclass backend(Backend):\n"
    "    id = 'Acme'\n    api_version = BACKEND_API_VERSION\n"
)
GOOD = f"{HEAD}class backend(NullBackend):\n    id = 'Acme'\n"


def failure(tmp_path: Path, source: str) -> tuple[BackendUnavailableError, BackendState]:
    """Return the error of loading a source, and its state."""
    with installed(tmp_path, backend_plugin("Acme", source=source), alone=True):
        registry = BackendRegistry()
        with pytest.raises(BackendUnavailableError) as caught:
            registry.get("Acme")
        (entry,) = registry.entries()
    assert entry.message == str(caught.value)
    return caught.value, entry.state


@pytest.mark.parametrize(
    ("source", "reason", "cause"),
    [
        ("import no_such_module\n", "cannot be imported: ModuleNotFoundError: No", ImportError),
        ("1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero", ZeroDivisionError),
        ("def broken(:\n", "cannot be imported: SyntaxError", SyntaxError),
        ("import sys; sys.exit(3)\n", "cannot be imported: SystemExit: 3", SystemExit),
        ("raise BaseException\n", "cannot be imported: BaseException;", BaseException),
        ("other = 1\n", "cannot be imported: AttributeError: .*'backend'", AttributeError),
        (f"{GOOD}    def __init__(self):\n        raise OSError('no device')\n",
         "cannot be made: OSError: no device", OSError),
        (f"{GOOD}    def __init__(self):\n        raise SystemExit\n",
         "cannot be made: SystemExit", SystemExit),
        (f"{GOOD}    def __init__(self, must):\n        pass\n",
         "cannot be made: TypeError", TypeError),
        (ABSTRACT, "cannot be made: TypeError: .*abstract", TypeError),
    ],
)  # fmt: skip
def test_an_exception_makes_a_backend_failed_and_is_its_cause(
    tmp_path: Path, source: str, reason: str, cause: type[BaseException]
) -> None:
    error, state = failure(tmp_path, source)
    assert state is BackendState.FAILED
    assert isinstance(error.__cause__, cause)
    with pytest.raises(
        BackendUnavailableError, match=rf"^Backend 'Acme' \(armnn-backend-acme 0.3.0\) {reason}"
    ):
        raise error
    assert str(error).endswith("; reinstall armnn-backend-acme or tell its authors.")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("backend = 7\n", "is not a backend: got int from armnn_backend_acme:backend, expected"),
        ("backend = int\n", "is not a backend: got the class int from"),
        ("def backend(): pass\n", "is not a backend: got function from"),
        ("import sys as backend\n", "is not a backend: got module from"),
        ("from armnn.backends import Backend as backend\n", "lacks the attribute 'id'"),
        (f"{HEAD}class backend(NullBackend):\n    id = 'Other'\n",
         "was found as 'Acme' but calls itself 'Other': the two must be the same"),
        (f"{HEAD}class backend(NullBackend):\n    id = 7\n", "but calls itself 7"),
        ("from armnn.backends import Backend\nclass backend(Backend):\n    id = 'Acme'\n",
         "lacks the attribute 'api_version'"),
        (f"{GOOD}    api_version = (1, 0)\n",
         "has api_version (1, 0), expected a BackendVersion"),
    ],
)  # fmt: skip
def test_what_is_no_backend_is_failed(tmp_path: Path, source: str, reason: str) -> None:
    error, state = failure(tmp_path, source)
    assert state is BackendState.FAILED
    assert reason in str(error)


@pytest.mark.parametrize(
    ("needed", "remedy"),
    [
        ("2, 0", "upgrade armnn-core or install an older armnn-backend-acme."),
        ("1, 999", "upgrade armnn-core or install an older armnn-backend-acme."),
        ("0, 9", "install a newer armnn-backend-acme or an older armnn-core."),
    ],
)
def test_the_attribute_decides_where_the_metadata_does_not(
    tmp_path: Path, needed: str, remedy: str
) -> None:
    source = f"{GOOD}    api_version = BackendVersion({needed})\n    def __init__(self): 1 / 0\n"
    error, state = failure(tmp_path, source)
    assert state is BackendState.INCOMPATIBLE
    assert isinstance(error, IncompatibleBackendError)
    version = needed.replace(", ", ".")
    assert str(error) == (
        f"Backend 'Acme' (armnn-backend-acme 0.3.0) needs Backend API {version}, this core "
        f"provides {BACKEND_API_VERSION}; {remedy}"
    )


@pytest.mark.parametrize("ending", ["", "backend = backend()\n"])
def test_an_entry_point_may_name_a_class_or_an_instance(tmp_path: Path, ending: str) -> None:
    with installed(tmp_path, backend_plugin("Acme", source=GOOD + ending), alone=True):
        registry = BackendRegistry()
        assert registry.get("Acme").id == "Acme"
        (entry,) = registry.entries()
    assert entry.state is BackendState.LOADED
    assert entry.api_version == BACKEND_API_VERSION
    assert entry.import_seconds is not None
    assert entry.import_seconds > 0
    assert entry.message == ""


def test_the_first_failure_is_kept_and_not_tried_again(tmp_path: Path) -> None:
    source = "import builtins\nbuiltins.tries = getattr(builtins, 'tries', 0) + 1\n1 / 0\n"
    with installed(tmp_path, backend_plugin("Acme", source=source), alone=True):
        registry = BackendRegistry()
        caught = []
        for _ in range(3):
            with pytest.raises(BackendUnavailableError) as error:
                registry.get("Acme")
            caught.append(error.value)
    import builtins

    assert vars(builtins).pop("tries") == 1
    assert len({id(error) for error in caught}) == 3
    assert len({id(error.__cause__) for error in caught}) == 1


def test_ctrl_c_during_the_import_is_no_failure_of_the_backend(tmp_path: Path) -> None:
    source = f"import os\nif 'STOP_ACME' in os.environ: raise KeyboardInterrupt\n{GOOD}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOP_ACME", "1")
        with installed(tmp_path, backend_plugin("Acme", source=source), alone=True):
            registry = BackendRegistry()
            with pytest.raises(KeyboardInterrupt):
                registry.get("Acme")
            assert registry.entries()[0].state is BackendState.KNOWN
            patch.delenv("STOP_ACME")
            assert registry.get("Acme").id == "Acme"


def test_threads_that_ask_for_the_same_backend_load_it_once(tmp_path: Path) -> None:
    source = (
        "import builtins, time\nbuiltins.tries = getattr(builtins, 'tries', 0) + 1\n"
        f"time.sleep(0.05)\n{GOOD}"
        "    def __init__(self):\n        builtins.tries += 10\n        time.sleep(0.05)\n"
    )
    with installed(tmp_path, backend_plugin("Acme", source=source), alone=True):
        registry = BackendRegistry()
        barrier = threading.Barrier(6)
        backends: list[Any] = []

        def ask() -> None:
            barrier.wait()
            backends.append(registry.get("Acme"))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    import builtins

    assert vars(builtins).pop("tries") == 11
    assert len(backends) == 6
    assert len({id(backend) for backend in backends}) == 1


def test_a_backend_that_asks_for_itself_is_told_so(tmp_path: Path) -> None:
    source = f"from armnn.backends import BackendRegistry\nBackendRegistry().get('Acme')\n{GOOD}"
    error, state = failure(tmp_path, source)
    assert state is BackendState.FAILED
    assert "asks for itself while it is being loaded" in str(error)


class Audit:
    """The audit events of loads.

    Hooks cannot be removed, so there is one for all tests.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] | None = None
        self.veto = False
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == LOAD_EVENT and self.seen is not None:
            self.seen.append(arguments)
            if self.veto:
                raise PermissionError("vetoed")


AUDIT = Audit()


@pytest.fixture
def audit() -> Iterator[Audit]:
    AUDIT.seen, AUDIT.veto = [], False
    yield AUDIT
    AUDIT.seen = None


def test_an_audit_event_comes_before_the_import(tmp_path: Path, audit: Audit) -> None:
    source = f"import sys\nassert sys.seen_by_audit == 1\n{GOOD}"
    with (
        installed(tmp_path, backend_plugin("Acme", source=source), alone=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        registry = BackendRegistry()
        registry.entries()
        assert audit.seen == []
        patch.setattr(sys, "seen_by_audit", 1, raising=False)
        registry.get("Acme")
        registry.get("Acme")
    assert audit.seen == [("Acme", str(tmp_path / "armnn_backend_acme.py"), None)]


def test_an_audit_hook_can_veto_a_backend_before_it_is_imported(
    tmp_path: Path, audit: Audit
) -> None:
    audit.veto = True
    source = f"import builtins\nbuiltins.imported = True\n{GOOD}"
    error, state = failure(tmp_path, source)
    import builtins

    assert not hasattr(builtins, "imported")
    assert state is BackendState.FAILED
    assert "cannot be imported: PermissionError: vetoed" in str(error)
