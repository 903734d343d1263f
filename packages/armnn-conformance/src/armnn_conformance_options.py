# SPDX-License-Identifier: MIT
"""The options of the conformance kit for pytest.

pytest imports this module at every start, wherever the kit is installed, so it imports nothing but
pytest until the kit's tests were collected. It stands beside the package because importing a
module of the package would import the package.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

KIT = "armnn_conformance"

_FORMER = "armnn.testing"
"""The kit's name while it was a part of armnn-core."""

_EMPTY = "[NOTSET]"

_MOST_LISTED = 8
"""Claimed layer types that the closing line names."""

LEVELS = {
    "conformance_loads": "the backend keeps the contract",
    "conformance_correct": "what the backend claims is computed rightly",
    "conformance_robust": "threads, lack of memory, interruptions and misuse are survived",
    "conformance_quiet": "the backend leaves no output, thread or file descriptor",
}
"""The markers of the kit's tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("armnn", "conformance of an armnn backend")
    group.addoption(
        "--armnn-backend",
        metavar="ID_or_PATH",
        help="the backend: its id, or the path of its shared library",
    )
    group.addoption(
        "--armnn-layers",
        metavar="TYPE[,TYPE...]",
        help="only these layer types, such as Softmax,Convolution2d; or the word claimed: those of "
        "which the backend claims one of the first cases, while the others must give a reason",
    )
    group.addoption(
        "--armnn-require",
        metavar="TYPE[:DATA_TYPE][:all][,...]",
        help="these layer types must be claimed, such as Softmax:Float32,Addition (of any data "
        "type): that all cases of one are refused is a failure, and with :all that one is, such as "
        "Slice:Float32:all; the closing lines name the cases that are refused",
    )
    group.addoption(
        "--armnn-in-process",
        action="store_true",
        help="run the checks in pytest's own process, for debuggers; a crash then ends it",
    )
    group.addoption(
        "--armnn-card", metavar="FILE.json", help="write what was found as a conformance card"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    for name, meaning in LEVELS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    card = config.getoption("--armnn-card")
    if not _is_worker(config):
        config.pluginmanager.register(CaseCounter(config.getoption("--armnn-layers")))
        if card is not None:
            config.pluginmanager.register(CardWriter(card, config.getoption("--armnn-backend")))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Check the options before pytest-xdist has workers."""
    if config.getoption("pyargs"):
        config.args[:] = [re.sub(rf"^{_FORMER}\b", KIT, argument) for argument in config.args]
    if any(argument.startswith(KIT) for argument in config.args):
        _check_options(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check the options wherever tests of the kit were collected."""
    if not _is_worker(config) and any(_level(item.keywords) for item in items):
        _check_options(config)
    # pytest makes a skipped test of one without parameters.
    items[:] = [item for item in items if not (_level(item.keywords) and _EMPTY in item.name)]


def _check_options(config: pytest.Config) -> None:
    """Refuse a backend that cannot be loaded, and unknown layers.

    Raises:
        UsageError: An option is missing or cannot be used.
    """
    wish = config.getoption("--armnn-backend")
    if wish is None:
        raise pytest.UsageError(
            f"the conformance kit needs a backend: pytest --pyargs {KIT} --armnn-backend CpuRef"
        )
    from armnn.errors import ArmnnError  # late: see above
    from armnn_conformance.cases import covered_layers
    from armnn_conformance.checks.child import CrashError
    from armnn_conformance.session import check_that_loading_does_not_crash
    from armnn_conformance.subject import Subject

    known = covered_layers()
    _check_required(config.getoption("--armnn-require"))
    asked = config.getoption("--armnn-layers")
    for layer in () if asked in (None, "claimed") else asked.split(","):
        if layer not in known:
            raise pytest.UsageError(
                f"--armnn-layers: there are no cases for {layer!r}, expected the word claimed or "
                f"some of {', '.join(known)}"
            )
    try:
        check_that_loading_does_not_crash(config)
        Subject(wish).close()
    except (ArmnnError, CrashError) as error:
        raise pytest.UsageError(f"--armnn-backend: {error}") from error


def _check_required(text: str | None) -> None:
    """Refuse required layers without cases.

    Raises:
        UsageError: A layer type or data type has none.
    """
    from armnn_conformance.cases import covered_layers, data_types_of  # late: see above
    from armnn_conformance.session import required

    for layer, data_type, _ in required(text):
        if layer not in covered_layers():
            raise pytest.UsageError(
                f"--armnn-require: there are no cases for {layer!r}, expected some of "
                f"{', '.join(covered_layers())}"
            )
        names = [each.arm_name for each in data_types_of(layer)]
        if data_type and data_type not in names:
            raise pytest.UsageError(
                f"--armnn-require: there are no cases of {layer} for {data_type!r}, expected some "
                f"of {', '.join(names)}"
            )


class CardWriter:
    """Writes the card at the end of the session."""

    def __init__(self, path: str, wish: str) -> None:
        self._path = path
        self._wish = wish
        self._cells: list[dict[str, Any]] = []
        self._outcomes: dict[str, list[str]] = {}
        self._graphs: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the results for the card."""
        level = _level(report.keywords)
        if level and (report.when == "call" or report.failed):
            from armnn_conformance.card import CELL, GRAPHS  # late: see above

            self._outcomes.setdefault(level.removeprefix("conformance_"), []).append(report.outcome)
            properties: list[tuple[str, Any]] = report.user_properties
            self._cells += [cell for name, cell in properties if name == CELL]
            for found in (found for name, found in properties if name == GRAPHS):
                self._graphs |= found

    def pytest_sessionfinish(self) -> None:
        """Write the card, if tests of the kit were run."""
        if not self._outcomes:
            return
        # late: see above
        from armnn_conformance.card import make_card, subject_document, write_card
        from armnn_conformance.subject import Subject

        with Subject(self._wish) as subject:
            card = make_card(subject_document(subject), self._cells, self._outcomes, self._graphs)
        write_card(self._path, card)


class CaseCounter:
    """Counts cases, graphs and claimed layer types."""

    def __init__(self, layers: str | None) -> None:
        self._is_of_claimed = layers == "claimed"
        self._has_refused = False
        self._counts: dict[str, int] = {}
        self._claimed: dict[str, list[str]] = {}
        self._asked: dict[str, None] = {}
        self._graphs: list[str] = []
        self._refused: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the cases and graphs of a test."""
        if report.when == "call" and _level(report.keywords):
            from armnn_conformance.card import CELL, GRAPHS, REFUSED  # late: see above

            properties: list[tuple[str, Any]] = report.user_properties
            self._has_refused = self._has_refused or "test_what_is_not_claimed" in report.nodeid
            for cell in (cell for name, cell in properties if name == CELL):
                self._count(cell)
            for found in (found for name, found in properties if name == GRAPHS):
                self._graphs += [graph for graphs in found.values() for graph in graphs]
            self._refused += [line for name, line in properties if name == REFUSED]

    def _count(self, cell: dict[str, Any]) -> None:
        self._asked[cell["layer"]] = None
        for outcome in ("passed", "failed", "not_supported"):
            self._counts[outcome] = self._counts.get(outcome, 0) + len(cell[outcome])
        if cell["passed"] or cell["failed"]:
            self._claimed.setdefault(cell["layer"], []).append(cell["data_type"])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the numbers of cases and graphs, and the claims."""
        counts = [f"{n} {outcome.replace('_', ' ')}" for outcome, n in self._counts.items() if n]
        if counts:
            terminalreporter.write_line(f"armnn conformance cases: {', '.join(counts)}")
        if self._graphs:
            terminalreporter.write_line(
                f"armnn conformance graphs: {len(self._graphs)} of several layers passed"
            )
        for line in self._refused:
            terminalreporter.write_line(f"armnn conformance: {line}")
        if self._asked or self._has_refused:
            terminalreporter.write_line(f"armnn conformance: the backend {self._claims()}")

    def _claims(self) -> str:
        """Return a line about the layers that the backend claims in this run."""
        from armnn_conformance.cases import covered_layers  # late: see above

        total = len(covered_layers()) if self._is_of_claimed else len(self._asked)
        if not self._claimed:
            return (
                f"claims nothing of {total} layer types, so none of its results was checked; "
                "--armnn-require names what must be claimed"
            )
        if len(self._claimed) == total or len(self._claimed) > _MOST_LISTED:
            return f"claims {len(self._claimed)} of {total} layer types"
        listed = [f"{layer} ({', '.join(types)})" for layer, types in self._claimed.items()]
        return f"claims only {', '.join(listed)} of {total} layer types"


def _is_worker(config: pytest.Config) -> bool:
    """Return whether this is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def _level(keywords: Any) -> str:
    """Return a test's level, "" for tests of others."""
    return next((name for name in LEVELS if name in keywords), "")
