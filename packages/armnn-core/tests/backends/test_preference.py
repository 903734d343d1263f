# SPDX-License-Identifier: MIT
"""Lists in which some backends may be missing: "GpuAcc?"."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn.backends import BackendRegistry, CreationOptions, Support
from armnn.backends.selection import SkippedBackend, preferences
from armnn.errors import BackendUnavailableError, InvalidArgumentError, UnknownBackendError
from fakes import backend_plugin, installed

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = "raise ImportError('libacme.so is missing')\n"
X = np.arange(4, dtype=np.float32)


def chain() -> armnn.Network:
    network = armnn.Network("chain")
    x = network.add_input("x", armnn.TensorInfo((4,)))
    network.add_output("y", network.add_addition(x, x))
    return network


def no_hardware(*_: Any) -> None:
    raise BackendUnavailableError("no such device")


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (["A", "B?"], {"A": False, "B": True}),
        (["B?", "A", "B"], {"B": False, "A": False}),
        (["B", "B?"], {"B": False}),
        ([], {}),
    ],
)
def test_the_mark_says_what_may_be_missing(ids: list[str], found: dict[str, bool]) -> None:
    assert list(preferences(ids).items()) == list(found.items())


@pytest.mark.parametrize("text", ["?", "A b?", "A??", "Unknown?"])
def test_before_the_mark_there_is_an_id(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"as a backend that may be missing: expected"):
        preferences([text])


def test_what_cannot_be_used_is_skipped_whatever_the_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugins = [
        backend_plugin("Broken", distribution="broken", source=BROKEN),
        backend_plugin("Newer", distribution="newer", requires=["armnn-backend-api>=9"]),
        backend_plugin("Blocked", distribution="blocked"),
        backend_plugin("Good", distribution="good"),
    ]
    options = CreationOptions(allowed_backends=["Broken", "Newer", "Good", "GpuAcc?"])
    caplog.set_level(logging.INFO, "armnn")
    with installed(tmp_path, *plugins, alone=True):
        registry = BackendRegistry(options)
        ids = ["GpuAcc?", "Broken?", "Newer?", "Blocked?", "Good?"]
        found, skipped = registry.preferred(ids)
        assert [each.id for each in registry.find_usable(ids)] == ["Good"]
    assert [each.id for each in found] == ["Good"]
    assert [each.id for each in skipped] == ["GpuAcc", "Broken", "Newer", "Blocked"]
    for each, reason in zip(
        skipped,
        (
            "There is no backend 'GpuAcc'",
            "libacme.so",
            "needs Backend API >=9",
            "is blocked: allow",
        ),
        strict=True,
    ):
        assert reason in each.reason
        assert f"Backend {each.id!r} is skipped: {each.reason}" in caplog.messages


def test_without_the_mark_it_raises_as_ever(tmp_path: Path) -> None:
    with installed(tmp_path, backend_plugin("Good"), alone=True):
        registry = BackendRegistry()
        with pytest.raises(UnknownBackendError, match="no backend 'GpuAcc'"):
            registry.find_usable(["GpuAcc", "Good?"])
        with pytest.raises(UnknownBackendError, match="no backend 'GpuAcc'"):
            registry.find_usable(["GpuAcc?", "Good", "GpuAcc"])


def test_a_list_of_which_nothing_is_left_says_why(tmp_path: Path) -> None:
    broken = backend_plugin("Broken", source=BROKEN)
    with (
        installed(tmp_path, broken, alone=True),
        pytest.raises(
            BackendUnavailableError,
            match=r"^No backend can be used: each of the list may be missing, and is; add one that "
            r"is there, or leave the list out\n- GpuAcc: There is no.*\n- Broken: .*libacme",
        ),
    ):
        BackendRegistry().find_usable(["GpuAcc?", "Broken?"])


def test_the_report_lists_skipped_backends(make_backend: Any, make_runtime: Any) -> None:
    runtime = make_runtime(make_backend("Gpu", create_context=no_hardware), make_backend("Fake"))
    ids = ["Gpu?", "Npu?", "Fake"]
    optimized = runtime.optimize(chain(), ids, backend_options={"Gpu": {"Speed": 1}})
    model = runtime.load_network(optimized)
    np.testing.assert_array_equal(model.run({"x": X})["y"], 2 * X)
    for report in (optimized.report, model.report):
        assert [(each.id, each.reason.split("(")[0]) for each in report.skipped] == [
            ("Gpu", "Backend 'Gpu' "),
            ("Npu", "There is no backend 'Npu' "),
        ]
        assert "no such device" in report.skipped[0].reason
        assert [row.backend for row in report] == ["Fake"]
        assert "skipped Npu: There is no backend" in str(report)
    assert "skipped backends" in str(model)
    assert report.skipped[1].as_dict() == {"id": "Npu", "reason": report.skipped[1].reason}
    assert runtime.load_model(chain(), ["Fake"]).report.skipped == ()


def test_networks_of_open_shapes_report_them_once(make_backend: Any, make_runtime: Any) -> None:
    runtime = make_runtime(make_backend("Fake"))
    network = armnn.Network("open")
    x = network.add_input("x", armnn.TensorInfo((None,)))
    network.add_output("y", network.add_addition(x, x))
    model = runtime.load_model(network, ["Npu?", "Fake"])
    assert [each.id for each in model.report.skipped] == ["Npu"]
    for size in (2, 3):
        model.run({"x": np.ones(size, np.float32)})
    assert [each.id for each in model.report.skipped] == ["Npu"]
    assert len(model.report) == 2


def test_a_wrong_option_is_no_reason_to_skip(make_backend: Any, make_runtime: Any) -> None:
    runtime = make_runtime(make_backend("Fake"), make_backend("Good"))
    with pytest.raises(InvalidArgumentError, match="'Fake' has no options: got Speed"):
        runtime.optimize(chain(), ["Fake?", "Good"], backend_options={"Fake": {"Speed": 1}})
    with pytest.raises(InvalidArgumentError, match="'Fake' has no options for a runtime"):
        make_runtime(
            make_backend("Fake"), backends=["Fake?"], backend_options={"Fake": {"Speed": 1}}
        )


def test_a_runtime_opens_the_backends_of_its_list(make_backend: Any, make_runtime: Any) -> None:
    log: list[str] = []

    def opening(name: str) -> Any:
        return lambda *_: log.append(name)

    kinds = [make_backend(name, create_context=opening(name)) for name in ("A", "B", "C")]
    runtime = make_runtime(*kinds, backends=["B", "Npu?", "A"])
    assert log == ["B", "A"]
    model = runtime.load_model(chain())
    assert [row.backend for row in model.report] == ["B"]
    assert [each.id for each in model.report.skipped] == ["Npu"]
    assert [row.backend for row in runtime.load_model(chain(), ["C"]).report] == ["C"]
    assert log == ["B", "A", "C"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"backends": ["fake"]}, UnknownBackendError, r"'fake'.*did you mean 'Fake'\?"),
        ({"backends": ["Gpu"]}, BackendUnavailableError, "no such device"),
        ({"backends": "Fake"}, InvalidArgumentError, "the backends are 'Fake': expected a list"),
        ({"backends": []}, InvalidArgumentError, "expected a list of ids"),
        ({"backends": [7]}, InvalidArgumentError, "the option backends, element 0, is 7, expected"),
        ({"backends": ["Npu?"]}, BackendUnavailableError, "each of the list may be missing"),
        ({"allowed_backends": ["fake"]}, UnknownBackendError, r"'fake'.*did you mean 'Fake'\?"),
        ({"backend_options": {"Gpu": {}}}, BackendUnavailableError, "no such device"),
    ],
)
def test_a_list_of_the_runtime_is_checked_when_it_is_made(
    make_backend: Any, make_runtime: Any, options: Any, error: type[Exception], message: str
) -> None:
    kinds = [make_backend("Fake"), make_backend("Gpu", create_context=no_hardware)]
    with pytest.raises(error, match=message):
        make_runtime(*kinds, **options)


def test_options_for_a_skipped_backend_of_the_runtime_are_kept_for_where_it_is(
    make_backend: Any, make_runtime: Any
) -> None:
    runtime = make_runtime(
        make_backend("Fake"),
        backends=["Npu?", "Fake"],
        backend_options={"Npu": {"Speed": 1}},
        allowed_backends=["Npu?", "Fake"],
    )
    assert [row.backend for row in runtime.load_model(chain()).report] == ["Fake"]


def test_a_backend_that_may_be_missing_and_is_there_is_used(
    make_backend: Any, make_runtime: Any
) -> None:
    first = make_backend("First", supports=lambda *_: Support.no("nothing"))
    runtime = make_runtime(first, make_backend("Fake"))
    (row,) = runtime.load_model(chain(), ["First?", "Fake"]).report
    assert (row.backend, row.reason) == ("Fake", "First: nothing")


def test_a_skipped_backend_is_a_text() -> None:
    assert str(SkippedBackend("Npu", "is not there")) == "Npu: is not there"
