# SPDX-License-Identifier: MIT
"""The registry: precedence, messages, and backends used by default."""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import sys
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from armnn.backends import BackendRegistry, BackendState
from armnn.errors import BackendUnavailableError, InvalidArgumentError, UnknownBackendError
from fakes import Plugin, backend_plugin, installed

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = "raise ImportError('libacme.so is missing')\n"
NAMED = {"armnn.named_backends": {"Acme": "acme:backend"}}


def scored(backend_id: str, score: int | str) -> Plugin:
    """Return a plug-in whose backend has that score.

    It may be an expression that computes the score.
    """
    source = (
        "from fakes import NullBackend\nclass backend(NullBackend):\n"
        f"    id = {backend_id!r}\n    def score(self): return {score}\n"
    )
    return backend_plugin(backend_id, distribution=f"dist-{backend_id.lower()}", source=source)


INSTALL_IT = "; install its package, or name the folder of its file by dynamic_backends_path."


def bringing(distribution: str) -> str:
    return (
        f"{distribution} brings it: pip install --no-index --find-links WHEELHOUSE {distribution} "
        "(WHEELHOUSE is the folder of wheels that './nox -s wheelhouse' makes in a checkout of "
        "armnn)."
    )


def brought_by(backend_id: str, distribution: str) -> str:
    return f"There is no backend {backend_id!r} (known here: Acme, Zeta); {bringing(distribution)}"


def test_of_two_backends_of_one_id_the_first_distribution_wins(tmp_path: Path) -> None:
    plugins = [backend_plugin("Acme", distribution=name) for name in ("zeta", "Alpha")]
    with installed(tmp_path, *plugins, alone=True):
        registry = BackendRegistry()
        assert type(registry.get("Acme")).__module__ == "alpha"
        first, second = registry.entries()
    assert (first.distribution, first.state) == ("Alpha", BackendState.LOADED)
    assert (second.distribution, second.state) == ("zeta", BackendState.SHADOWED)
    assert second.shadowed_by == "alpha:backend"
    assert second.message == (
        "Backend 'Acme' (zeta 0.3.0) from zeta:backend is shadowed by the one from Alpha 0.3.0, "
        "alpha:backend; remove one of the two."
    )
    assert "zeta" not in sys.modules


def test_a_backend_that_failed_to_load_still_shadows(tmp_path: Path) -> None:
    first = backend_plugin("Acme", distribution="alpha", source=BROKEN)
    with installed(tmp_path, first, backend_plugin("Acme", distribution="zeta"), alone=True):
        registry = BackendRegistry()
        for _ in range(2):
            with pytest.raises(BackendUnavailableError, match="ImportError: libacme"):
                registry.get("Acme")
        assert [entry.state for entry in registry.entries()] == ["failed", "shadowed"]


@pytest.mark.parametrize("requires", [["armnn-backend-api>=9"], ["armnn-backend-api<1"]])
def test_what_cannot_be_loaded_at_all_shadows_nothing(tmp_path: Path, requires: list[str]) -> None:
    first = backend_plugin("Acme", distribution="alpha", requires=requires)
    with installed(tmp_path, first, backend_plugin("Acme", distribution="zeta"), alone=True):
        registry = BackendRegistry()
        assert type(registry.get("Acme")).__module__ == "zeta"
        assert [entry.state for entry in registry.entries()] == ["incompatible", "loaded"]


COUNTING = """import builtins
from fakes import NullBackend
builtins.imports = getattr(builtins, "imports", 0) + 1
class Counted(NullBackend):
    id = "Acme"
    made = 0
    def __init__(self):
        type(self).made += 1
        if self.made > 2: raise OSError("two at most")
backend = {}
"""


def test_each_registry_makes_its_own_backend_of_one_import(tmp_path: Path) -> None:
    acme = backend_plugin("Acme", source=COUNTING.format("Counted"))
    with installed(tmp_path, acme, alone=True):
        first, second, third = BackendRegistry(), BackendRegistry(), BackendRegistry()
        backend = first.get("Acme")
        assert first.get("Acme") is backend
        assert second.get("Acme") is not backend
        with pytest.raises(BackendUnavailableError, match="cannot be made: OSError: two at most"):
            third.get("Acme")
        assert first.find_usable(["Acme"]) == (backend,)
    import builtins

    assert vars(builtins).pop("imports") == 1


def test_an_instance_serves_every_registry(tmp_path: Path) -> None:
    acme = backend_plugin("Acme", source=COUNTING.format("Counted()"))
    with installed(tmp_path, acme, alone=True):
        assert BackendRegistry().get("Acme") is BackendRegistry().get("Acme")


def test_an_instance_that_can_be_copied_is_copied_for_each_registry(tmp_path: Path) -> None:
    source = COUNTING.format("Counted()") + (
        "Counted.__copy__ = lambda self: vars(self).update(copies=1) or object.__new__(Counted)\n"
    )
    with installed(tmp_path, backend_plugin("Acme", source=source), alone=True):
        first, second = BackendRegistry(), BackendRegistry()
        assert first.get("Acme") is first.get("Acme") is not second.get("Acme")


def test_a_closed_registry_lets_its_backend_go(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        registry = BackendRegistry()
        backend = weakref.ref(registry.get("Acme"))
        registry.close()
        gc.collect()
        assert backend() is None
        assert registry.get("Acme").id == "Acme"


@pytest.mark.parametrize(
    ("backend_id", "message"),
    [
        ("Nvme", f"There is no backend 'Nvme' (known here: Acme, Zeta){INSTALL_IT}"),
        ("acme", "There is no backend 'acme' (known here: Acme, Zeta); did you mean 'Acme'?"),
        ("", f"There is no backend '' (known here: Acme, Zeta){INSTALL_IT}"),
        ("ACMEE", "There is no backend 'ACMEE' (known here: Acme, Zeta); did you mean 'Acme'?"),
        (
            "cpuacc",
            "There is no backend 'cpuacc' (known here: Acme, Zeta); did you mean 'CpuAcc'? "
            + bringing("armnn-backend-neon"),
        ),
        ("CpuRef", brought_by("CpuRef", "armnn-backend-ref")),
        ("CpuAcc", brought_by("CpuAcc", "armnn-backend-neon")),
        ("Custom", brought_by("Custom", "armnn-backend-custom")),
        ("GpuAcc", brought_by("GpuAcc", "armnn-backend-cl")),
        ("OpenVino", brought_by("OpenVino", "armnn-backend-openvino")),
        ("OnnxRuntime", brought_by("OnnxRuntime", "armnn-backend-onnxruntime")),
    ],
)
def test_an_unknown_backend_lists_the_known_ones(
    tmp_path: Path, backend_id: str, message: str
) -> None:
    plugins = [backend_plugin("Zeta", distribution="zeta"), backend_plugin("Acme")]
    with (
        installed(tmp_path, *plugins, alone=True),
        pytest.raises(UnknownBackendError) as caught,
    ):
        BackendRegistry().get(backend_id)
    assert str(caught.value) == message


def test_an_unknown_backend_where_none_is_installed_says_what_to_install(tmp_path: Path) -> None:
    with (
        installed(tmp_path, alone=True),
        pytest.raises(
            UnknownBackendError,
            match=r"^There is no backend 'Acme' \(none is installed\)\. The usual ones: "
            r'pip install --no-index --find-links WHEELHOUSE "armnn-core\[cpu\]" '
            r"\(WHEELHOUSE is .*\)\.$",
        ),
    ):
        BackendRegistry().get("Acme")


def test_unasked_the_best_score_comes_first_then_the_id_and_cpuref_last(tmp_path: Path) -> None:
    scores = {"Slow": 1, "B": 5, "A": 5, "CpuRef": 99, "Never": 0}
    plugins = [scored(backend_id, score) for backend_id, score in scores.items()]
    with installed(tmp_path, *plugins, alone=True):
        usable = BackendRegistry().find_usable()
    assert [backend.id for backend in usable] == ["A", "B", "Slow", "CpuRef"]


def test_a_backend_that_takes_part_only_by_name_is_not_imported(tmp_path: Path) -> None:
    acme = backend_plugin("Acme", distribution="acme", source=BROKEN)
    never = replace(acme, entry_points={**acme.entry_points, **NAMED})
    other = replace(scored("Good", 1), entry_points={
        "armnn.backends": {"Good": "dist_good:backend"}, **NAMED,  # which is not its own to say
    })  # fmt: skip
    for plugin, imported in ((never, False), (acme, True)):
        with installed(tmp_path / str(imported), plugin, other, alone=True):
            registry = BackendRegistry()
            assert [backend.id for backend in registry.find_usable()] == ["Good"]
            states = {entry.id: entry.state for entry in registry.entries()}
            assert states["Acme"] == (BackendState.FAILED if imported else BackendState.KNOWN)
            with pytest.raises(BackendUnavailableError, match="libacme"):
                registry.find_usable(["Acme"])


def test_what_was_merely_found_and_fails_is_logged_once_and_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugins = [
        backend_plugin("Broken", distribution="broken", source=BROKEN),
        backend_plugin("Newer", distribution="newer", requires=["armnn-backend-api>=9"]),
        scored("Unsure", "1 / 0"),
        scored("Good", 1),
    ]
    with installed(tmp_path, *plugins, alone=True), caplog.at_level(logging.WARNING):
        registry = BackendRegistry()
        for _ in range(3):
            assert [backend.id for backend in registry.find_usable()] == ["Good"]
        states = {entry.id: entry.state for entry in registry.entries()}
        with pytest.raises(BackendUnavailableError, match="cannot be used: ZeroDivisionError"):
            registry.get("Unsure")
    logged = [record.getMessage() for record in caplog.records]
    assert [line.split("'")[1] for line in logged] == ["Broken", "Unsure", "Newer"]
    assert all(line.endswith(" It is left out.") for line in logged)
    assert "libacme.so is missing" in logged[0]
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert states == {
        "Broken": BackendState.FAILED,
        "Unsure": BackendState.FAILED,
        "Good": BackendState.LOADED,
        "Newer": BackendState.INCOMPATIBLE,
    }


def test_named_backends_come_in_the_named_order_each_once(tmp_path: Path) -> None:
    with installed(tmp_path, scored("A", 9), scored("B", 1), scored("C", 0), alone=True):
        usable = BackendRegistry().find_usable(["C", "B", "C"])
    assert [backend.id for backend in usable] == ["C", "B"]


def test_a_named_backend_that_fails_raises_with_its_cause(tmp_path: Path) -> None:
    acme = backend_plugin("Acme", source=BROKEN)
    with installed(tmp_path, acme, scored("Good", 1), alone=True):
        with pytest.raises(BackendUnavailableError, match="ImportError: libacme") as caught:
            BackendRegistry().find_usable(["Good", "Acme"])
        assert isinstance(caught.value.__cause__, ImportError)


@pytest.mark.parametrize("wrong", ["CpuRef", [], ""])
def test_backends_must_be_a_list_of_ids(wrong: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^the backends are .*: expected a list of ids"):
        BackendRegistry().find_usable(wrong)


def test_a_backend_that_is_left_out_is_failed_in_this_registry_only(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Acme"), alone=True):
        registry, other = BackendRegistry(), BackendRegistry()
        registry.get("Acme")
        first = OSError("no device")
        registry.leave_out("Acme", first)
        registry.leave_out("Acme", OSError("later"))
        with pytest.raises(
            BackendUnavailableError,
            match=r"^Backend 'Acme' \(armnn-backend-acme 0.3.0\) cannot be used: OSError: no dev",
        ) as caught:
            registry.get("Acme")
        assert caught.value.__cause__ is first
        assert [entry.state for entry in registry.entries()] == [BackendState.FAILED]
        assert [entry.state for entry in other.entries()] == [BackendState.LOADED]


def test_only_a_backend_that_was_found_can_be_left_out(tmp_path: Path) -> None:
    with installed(tmp_path, alone=True), pytest.raises(UnknownBackendError):
        BackendRegistry().leave_out("Acme", OSError())


def test_the_order_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    plugins = [scored(name, len(name) % 2 + 1) for name in ("Aa", "Bbb", "Cc", "Ddd", "Eeee")]
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import json; from armnn import metadata; from armnn.backends import *\n"
        f"with metadata.only([{str(tmp_path)!r}]):\n"
        "    r = BackendRegistry(); print(json.dumps([[b.id for b in r.find_usable()],"
        " [e.id for e in r.entries()]]))\n"
    )
    with installed(tmp_path, *plugins, alone=True):
        outputs = [
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
            for seed in ("0", "1", "2")
        ]
    assert [json.loads(output) for output in outputs] == 3 * [
        [["Bbb", "Ddd", "Aa", "Cc", "Eeee"], ["Aa", "Bbb", "Cc", "Ddd", "Eeee"]]
    ]
