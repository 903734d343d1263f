# SPDX-License-Identifier: MIT
"""The conformance kit as tests: ``pytest --pyargs armnn_conformance --armnn-backend CpuRef``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from armnn.backends import Capability, crashes
from armnn.backends.native import NativeBackend
from armnn.types import DataType
from armnn_backend_api.process_state import disturbed_by
from armnn_conformance.card import CELL, GRAPHS, REFUSED, cell_document
from armnn_conformance.cases import all_cells, covered_layers
from armnn_conformance.checks.by_name import NotSupportedError
from armnn_conformance.checks.child import CrashError
from armnn_conformance.checks.correctness import CaseResult
from armnn_conformance.checks.device_memory import CHECKS as DEVICE_MEMORY_CHECKS
from armnn_conformance.checks.devices import CHECKS as DEVICE_CHECKS
from armnn_conformance.checks.hostile_host import check_hostile_host
from armnn_conformance.checks.quiet import check_quiet
from armnn_conformance.graphs.families import ALL_FAMILIES
from armnn_conformance.hostile.tricks import TRICKS
from armnn_conformance.running import NonconformityError
from armnn_conformance.session import AnyChecks, checks_of, required
from armnn_conformance.subject import Subject

_NOT_TRUE_OR_FALSE = (Capability.DISTURBS, Capability.COPY_LATENCY_BYTES)

CLAIMED = "claimed"
"""The word of ``--armnn-layers`` for the layers that the backend claims."""

_ASKED: pytest.StashKey[tuple[str, ...]] = pytest.StashKey()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per requested layer, or per cell."""
    if "refused_layer" in metafunc.fixturenames:
        asked = _layers(metafunc.config)
        is_partial = metafunc.config.getoption("--armnn-layers") == CLAIMED
        others = [layer for layer in covered_layers() if is_partial and layer not in asked]
        metafunc.parametrize("refused_layer", others)
    elif "required_layer" in metafunc.fixturenames:
        wanted = required(metafunc.config.getoption("--armnn-require"))
        ids = ["-".join(filter(None, (*pair, "all" * every))) for *pair, every in wanted]
        names = ("required_layer", "required_type", "every_case")
        metafunc.parametrize(names, wanted, ids=ids)
    elif "data_type" in metafunc.fixturenames:
        cells = list(all_cells(_layers(metafunc.config)))
        ids = [f"{layer}-{data_type.arm_name}" for layer, data_type in cells]
        metafunc.parametrize(("layer", "data_type"), cells, ids=ids)
    elif "layer" in metafunc.fixturenames:
        metafunc.parametrize("layer", _layers(metafunc.config))


def _layers(config: pytest.Config) -> tuple[str, ...]:
    if _ASKED not in config.stash:
        asked = config.getoption("--armnn-layers")
        config.stash[_ASKED] = (
            covered_layers()
            if asked is None
            else _claimed_layers(config)
            if asked == CLAIMED
            else tuple(asked.split(","))
        )
    return config.stash[_ASKED]


def _claimed_layers(config: pytest.Config) -> tuple[str, ...]:
    """Return the layers that the backend claims or crashes on."""
    found = []
    for layer in covered_layers():
        try:
            found += checks_of(config).run("layers_claimed_at_once", {"layers": [layer]})
        except NonconformityError:  # it crashed or failed: the layer's own tests tell
            found.append(layer)
    return tuple(found)


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Return the backend that ``--armnn-backend`` names."""
    with Subject(request.config.getoption("--armnn-backend")) as found:
        yield found


@pytest.fixture(scope="session")
def checks(request: pytest.FixtureRequest) -> AnyChecks:
    """Return the runner of the checks."""
    return checks_of(request.config)


@pytest.fixture(scope="session")
def run(checks: AnyChecks, subject: Subject) -> Callable[..., Any]:
    """Run a check by name, or skip the test."""

    def run_check(check: str, /, *, title: str = "", **arguments: Any) -> Any:
        problem, answer = "", None
        try:
            answer = checks.run(check, arguments)
        except NotSupportedError as error:
            pytest.skip(str(error))
        except CrashError as error:
            crashes.remember(subject.entry, title or error.case, error.ending)
            problem = str(error)
        except AssertionError as error:
            problem = str(error)
        if problem:  # out of the handler: pytest prints a failure within one twice
            pytest.fail(problem, pytrace=False)
        if title:
            crashes.forget(subject.entry, [title])
        return answer

    return run_check


@pytest.mark.conformance_loads
@pytest.mark.parametrize(
    "check",
    [
        "check_identity",
        "check_description",
        "check_extensions",
        "check_options",
        "check_unknown_layer",
        "check_future_items",
    ],
)
def test_the_backend_keeps_the_contract(
    run: Callable[..., Any], subject: Subject, check: str
) -> None:
    run("contract", check=check)
    crashes.forget(subject.entry, [check])


@pytest.mark.conformance_robust
@pytest.mark.parametrize("check", DEVICE_CHECKS)
def test_a_device_is_used_as_the_contract_says(
    run: Callable[..., Any], check: str, request: pytest.FixtureRequest
) -> None:
    title = f"device, {check}"
    run("device", title=title, name=check, layers=_layers(request.config))


@pytest.mark.conformance_correct
@pytest.mark.parametrize(
    "capability", [each.value for each in Capability if each not in _NOT_TRUE_OR_FALSE]
)
def test_a_stated_capability_holds(
    run: Callable[..., Any], subject: Subject, capability: str
) -> None:
    run("capability", name=capability)
    crashes.forget(subject.entry, [f"capability {capability}"])


@pytest.mark.conformance_correct
def test_what_is_claimed_is_computed_rightly(
    checks: AnyChecks,
    subject: Subject,
    layer: str,
    data_type: DataType,
    record_property: Callable[[str, object], None],
) -> None:
    cell = checks.check_cell(layer, data_type)
    record_property(CELL, cell_document(cell))
    place = f"{layer}-{data_type.arm_name}-"
    crashes.forget(subject.entry, [place + name for name in cell.outcomes])
    for name, ending in cell.crashes.items():
        crashes.remember(subject.entry, place + name, ending)
    failed = cell.details(CaseResult.FAILED)
    if failed:
        pytest.fail("\n".join(f"{name}: {detail}" for name, detail in failed.items()), False)
    if cell.result is CaseResult.NOT_SUPPORTED:
        pytest.skip(next(iter(cell.details(CaseResult.NOT_SUPPORTED).values()), "no case"))


@pytest.mark.conformance_loads
def test_what_is_required_is_claimed(
    run: Callable[..., Any],
    required_layer: str,
    required_type: str,
    every_case: bool,
    record_property: Callable[[str, object], None],
) -> None:
    wanted = {"layer": required_layer, "data_type": required_type, "every_case": every_case}
    refused = run("requirement", **wanted)
    if refused:
        record_property(REFUSED, refused)


@pytest.mark.conformance_correct
@pytest.mark.parametrize("family", ALL_FAMILIES)
def test_graphs_of_claimed_layers_are_right(
    run: Callable[..., Any],
    family: str,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    passed = run("graphs", title=f"graphs, {family}", family=family, layers=_layers(request.config))
    record_property(GRAPHS, {family: passed})


@pytest.mark.conformance_correct
def test_what_is_not_claimed_is_refused_with_a_reason(
    run: Callable[..., Any], refused_layer: str
) -> None:
    run("refusal", layer=refused_layer)


@pytest.mark.conformance_robust
def test_threads_do_not_disturb_each_other(run: Callable[..., Any], layer: str) -> None:
    run("threads", layer=layer)


@pytest.mark.conformance_robust
@pytest.mark.parametrize("check", ["memory", "interruptions", "handles"])
def test_a_run_that_fails_leaves_nothing_behind(
    run: Callable[..., Any], check: str, request: pytest.FixtureRequest
) -> None:
    run(check, layers=_layers(request.config))


@pytest.mark.conformance_robust
def test_what_is_compiled_to_a_file_is_right(
    run: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    run("prepared_file", layers=_layers(request.config))


@pytest.mark.conformance_robust
@pytest.mark.parametrize("check", DEVICE_MEMORY_CHECKS)
def test_memory_of_a_device_keeps_the_contract(run: Callable[..., Any], check: str) -> None:
    run("device_memory", title=f"device memory, {check}", name=check)


@pytest.mark.conformance_robust
def test_a_hostile_host_is_survived(
    run: Callable[..., Any], subject: Subject, request: pytest.FixtureRequest
) -> None:
    if not isinstance(subject.backend, NativeBackend):
        pytest.skip("the backend is not a shared library")
    layers = run("layers_with_a_claimed_case", layers=_layers(request.config))
    check_hostile_host(subject.backend.library.path, layers)


@pytest.mark.conformance_robust
@pytest.mark.parametrize("trick", TRICKS)
def test_a_hostile_host_compiles_graphs(
    run: Callable[..., Any], trick: str, request: pytest.FixtureRequest
) -> None:
    run("hostile_graphs", title=f"a host that {trick}", trick=trick, layers=_layers(request.config))


@pytest.mark.conformance_quiet
def test_the_backend_leaves_no_trace(
    run: Callable[..., Any], subject: Subject, request: pytest.FixtureRequest
) -> None:
    layers = run("layers_with_a_claimed_case", layers=_layers(request.config))
    problem = ""
    try:
        disturbed = disturbed_by(subject.backend.capabilities.get(Capability.DISTURBS))
        check_quiet(request.config.getoption("--armnn-backend"), layers, disturbed)
    except CrashError as error:
        crashes.remember(subject.entry, error.case, error.ending)
        problem = str(error)
    if problem:
        pytest.fail(problem, pytrace=False)
