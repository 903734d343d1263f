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
        config.pluginmanager.register(CaseCounter())
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
    # Of a test without parameters pytest makes one that is skipped.
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
    from armnn.errors import ArmnnError
    from armnn_conformance.cases import covered_layers
    from armnn_conformance.checks.child import CrashError
    from armnn_conformance.session import check_that_loading_does_not_crash
    from armnn_conformance.subject import Subject

    known = covered_layers()
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


class CardWriter:
    """Writes the card at the end of the session."""

    def __init__(self, path: str, wish: str) -> None:
        self._path = path
        self._wish = wish
        self._cells: list[dict[str, Any]] = []
        self._outcomes: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what the card says."""
        level = _level(report.keywords)
        if level and (report.when == "call" or report.failed):
            from armnn_conformance.card import CELL

            self._outcomes.setdefault(level.removeprefix("conformance_"), []).append(report.outcome)
            properties: list[tuple[str, Any]] = report.user_properties
            self._cells += [cell for name, cell in properties if name == CELL]

    def pytest_sessionfinish(self) -> None:
        """Write the card, if tests of the kit were run."""
        if not self._outcomes:
            return
        from armnn_conformance.card import make_card, subject_document, write_card
        from armnn_conformance.subject import Subject

        with Subject(self._wish) as subject:
            card = make_card(subject_document(subject), self._cells, self._outcomes)
        write_card(self._path, card)


class CaseCounter:
    """Counts the cases behind the tests of layers."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the cases of a layer type and data type."""
        if report.when == "call" and _level(report.keywords):
            from armnn_conformance.card import CELL

            properties: list[tuple[str, Any]] = report.user_properties
            for cell in (cell for name, cell in properties if name == CELL):
                for outcome in ("passed", "failed", "not_supported"):
                    self._counts[outcome] = self._counts.get(outcome, 0) + len(cell[outcome])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the numbers of cases, if there were any."""
        counts = [f"{n} {outcome.replace('_', ' ')}" for outcome, n in self._counts.items() if n]
        if counts:
            terminalreporter.write_line(f"armnn conformance cases: {', '.join(counts)}")


def _is_worker(config: pytest.Config) -> bool:
    """Return whether this is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def _level(keywords: Any) -> str:
    """Return a test's level, "" for tests of others."""
    return next((name for name in LEVELS if name in keywords), "")
