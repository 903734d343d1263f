# SPDX-License-Identifier: MIT
"""The conformance kit as tests: ``pytest --pyargs armnn.testing --armnn-backend CpuRef``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from armnn.backends.native import NativeBackend
from armnn.testing import contract_checks, stress_checks
from armnn.testing.card import CELL, cell_document
from armnn.testing.cases import LayerCase, all_cells, covered_layers
from armnn.testing.hostile_host import check_hostile_host
from armnn.testing.quiet_checks import check_quiet
from armnn.testing.running import works_in_host_memory
from armnn.testing.subject import Subject
from armnn.testing.suite import Verdict, check_cell, claimed_case

if TYPE_CHECKING:
    from armnn.types import DataType


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per layer, or per layer and data type, of those that were asked for."""
    layers = _layers(metafunc.config)
    if "data_type" in metafunc.fixturenames:
        cells = list(all_cells(layers))
        ids = [f"{layer}-{data_type.arm_name}" for layer, data_type in cells]
        metafunc.parametrize(("layer", "data_type"), cells, ids=ids)
    elif "layer" in metafunc.fixturenames:
        metafunc.parametrize("layer", layers)


def _layers(config: pytest.Config) -> tuple[str, ...]:
    asked = config.getoption("--armnn-layers")
    return covered_layers() if asked is None else tuple(asked.split(","))


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """The backend that ``--armnn-backend`` names."""
    with Subject(request.config.getoption("--armnn-backend")) as found:
        yield found


@pytest.fixture(scope="session")
def claimed(subject: Subject, request: pytest.FixtureRequest) -> LayerCase:
    """The first case that the backend claims."""
    for layer in _layers(request.config):
        case = claimed_case(subject, layer)
        if case is not None:
            return case
    pytest.skip("the backend claims no layer that was asked for")


@pytest.mark.conformance_loads
@pytest.mark.parametrize(
    "check",
    [
        contract_checks.check_identity,
        contract_checks.check_description,
        contract_checks.check_extensions,
        contract_checks.check_unknown_layer,
        contract_checks.check_future_items,
    ],
)
def test_the_backend_keeps_the_contract(subject: Subject, check: Callable[[Subject], None]) -> None:
    check(subject)


@pytest.mark.conformance_correct
def test_what_is_claimed_is_computed_rightly(
    subject: Subject,
    layer: str,
    data_type: DataType,
    record_property: Callable[[str, object], None],
) -> None:
    cell = check_cell(subject, layer, data_type)
    record_property(CELL, cell_document(cell))
    failed = cell.details(Verdict.FAILED)
    if failed:
        pytest.fail("\n".join(f"{name}: {detail}" for name, detail in failed.items()), False)
    if cell.verdict is Verdict.NOT_SUPPORTED:
        pytest.skip(next(iter(cell.details(Verdict.NOT_SUPPORTED).values()), "no case"))


@pytest.mark.conformance_robust
def test_threads_do_not_disturb_each_other(subject: Subject, layer: str) -> None:
    case = claimed_case(subject, layer)
    if case is None:
        pytest.skip(f"{layer} is not supported, or nothing is fed to it")
    stress_checks.check_concurrent_runs(subject, case)


@pytest.mark.conformance_robust
def test_running_out_of_memory_is_survived(subject: Subject, claimed: LayerCase) -> None:
    stress_checks.check_out_of_memory(subject, claimed)


@pytest.mark.conformance_robust
def test_interrupted_runs_leave_nothing_behind(subject: Subject, claimed: LayerCase) -> None:
    stress_checks.check_interrupted_runs(subject, claimed)


@pytest.mark.conformance_robust
def test_missing_tensors_are_an_error(subject: Subject, claimed: LayerCase) -> None:
    if not works_in_host_memory(subject):
        pytest.skip("the backend does not work in host memory")
    contract_checks.check_handle_counts(subject, claimed)


@pytest.mark.conformance_robust
def test_a_hostile_host_is_survived(subject: Subject, request: pytest.FixtureRequest) -> None:
    if not isinstance(subject.backend, NativeBackend):
        pytest.skip("the backend is not a shared library")
    check_hostile_host(subject.backend.library.path, _layers(request.config))


@pytest.mark.conformance_quiet
def test_the_backend_leaves_no_trace(request: pytest.FixtureRequest) -> None:
    check_quiet(request.config.getoption("--armnn-backend"), _layers(request.config))
