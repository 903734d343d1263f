# SPDX-License-Identifier: MIT
"""The kit's checks by name; each announces its next case.

A check may be run in another process, which a backend may crash: the last announced case crashed
it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from armnn.backends import Capability
from armnn.backends.native import NativeBackend
from armnn.graph import Layer
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, cases_of, data_types_of
from armnn_conformance.checks import contract, devices, stress
from armnn_conformance.checks import graphs as graph_checks
from armnn_conformance.checks.capabilities import NothingToCheckError, check_capability
from armnn_conformance.checks.correctness import (
    CaseResult,
    Outcome,
    answer_of,
    check_case,
    claimed_case,
)
from armnn_conformance.checks.device_memory import check_device_memory
from armnn_conformance.checks.prepared_file import check_prepared_file
from armnn_conformance.graphs import Graph
from armnn_conformance.graphs.families import (
    ANY_BATCH,
    BEHIND_CASES,
    IN_THREADS,
    STORED,
    Claims,
    graph_with_large_constant,
    graphs_behind,
    graphs_of,
    large_graphs,
)
from armnn_conformance.hostile.host import GraphOfC
from armnn_conformance.hostile.tricks import FREES_DROPPED, NothingToPlayError, play
from armnn_conformance.running import NonconformityError, layer_of, works_in_host_memory
from armnn_conformance.subject import Subject

Announce: TypeAlias = Callable[[str], None]
"""Is told the id of a case before it is tried."""

_SHOWN = 8
"""Refused cases that a message names."""

ASKED_FIRST = 2
"""Cases of each layer type and data type by which a layer counts as claimed or not."""


class NotSupportedError(Exception):
    """There is nothing to check; the message says why."""


class Checks:
    """The checks of one backend, in this process.

    Attributes:
        subject: The backend.
        announce: See :data:`Announce`.
    """

    def __init__(self, subject: Subject, announce: Announce = lambda _: None) -> None:
        self.subject = subject
        self.announce = announce
        self._claimed: dict[str, LayerCase | None] = {}
        self._refused: dict[tuple[str, DataType], None] = {}
        self._first_cases: dict[str, list[tuple[LayerCase, Layer]]] = {}
        self._claims: dict[tuple[str, ...], Claims] = {}

    def run(self, check: str, arguments: Mapping[str, Any]) -> Any:
        """Run a check by its name.

        Raises:
            NonconformityError: The backend does not pass it.
            NotSupportedError: There is nothing to check.
        """
        return _CHECKS[check](self, **arguments)

    def loads(self) -> None:
        """Do nothing: the backend is loaded by now."""

    def cell(
        self, layer: str, data_type: str, known: Iterable[str] = ()
    ) -> Iterator[tuple[str, Outcome]]:
        """Yield the outcomes of a cell's cases, except those known."""
        column, skipped, is_refused = DataType.from_arm_name(data_type), dict.fromkeys(known), True
        for case in cases_of(layer, column):
            if case.name not in skipped:
                self.announce(case.id)
                outcome = check_case(self.subject, case)
                is_refused = is_refused and outcome.result is CaseResult.NOT_SUPPORTED
                yield case.name, outcome
        if is_refused and not skipped:
            self._refused[layer, column] = None

    def claimed_case(self, layer: str) -> LayerCase | None:
        """Return a layer type's first claimed case with an input."""
        if layer not in self._claimed:
            found = claimed_case(self.subject, layer, self._refused, self.announce)
            self._claimed[layer] = found
        return self._claimed[layer]

    def layers_claimed_at_once(self, layers: Iterable[str]) -> list[str]:
        """Return the layer types whose first cases are claimed.

        A case that the backend wishes in another layout counts as well.
        """
        return [
            layer
            for layer in layers
            if any(
                answer or answer.layout
                for answer in map(self.subject.supports, self._announced(layer))
            )
        ]

    def layers_with_a_claimed_case(self, layers: Iterable[str]) -> list[str]:
        """Return the layer types that have a case to run."""
        return [layer for layer in layers if self.claimed_case(layer) is not None]

    def refusal(self, layer: str) -> str:
        """Return why a layer type's first cases are refused.

        Raises:
            NonconformityError: One of them is refused without a reason, or the answer is none.
        """
        answers = [answer_of(self.subject, made) for made in self._announced(layer)]
        return next((answer.reason for answer in answers if not answer), "")

    def requirement(self, layer: str, data_type: str = "", every_case: bool = False) -> str:
        """Check a requirement; return a text about cases that are refused nevertheless.

        Args:
            layer: The layer type.
            data_type: The data type of the cases, any if left out.
            every_case: Whether no case may be refused.

        Raises:
            NonconformityError: Every case is refused, or one, if all are required.
        """
        columns = [DataType.from_arm_name(data_type)] if data_type else data_types_of(layer)
        place = f"{layer}-{data_type}-" if data_type else f"{layer}-"
        reasons: dict[str, str] = {}
        count = 0
        for column in columns:
            for case in cases_of(layer, column):
                self.announce(case.id)
                answer = answer_of(self.subject, layer_of(case))
                count += 1
                if not answer and answer.layout is None:
                    reasons[case.id.removeprefix(place)] = answer.reason
        what = f"{layer} {data_type}".rstrip()
        if len(reasons) == count:
            raise NonconformityError(
                f"{what} is required, but all of its {count} cases are refused, "
                f"the first because: {next(iter(reasons.values()))}"
            )
        if not reasons:
            return ""
        refused = f"{len(reasons)} of {count} cases are refused: {_listed(reasons)}"
        if every_case:
            raise NonconformityError(f"all cases of {what} are required, but {refused}")
        return f"{what} is required and claimed, but {refused}"

    def contract(self, check: str) -> None:
        """Run one of the checks of :mod:`armnn_conformance.checks.contract`."""
        self.announce(check)
        getattr(contract, check)(self.subject)

    def capability(self, name: str) -> None:
        """Check a stated capability by running the backend."""
        self.announce(f"capability {name}")
        try:
            check_capability(self.subject, name)
        except NothingToCheckError as error:
            raise NotSupportedError(str(error)) from error

    def device_memory(self, name: str) -> None:
        """Run one of the checks of :mod:`armnn_conformance.checks.device_memory`."""
        self.announce(f"device memory, {name}")
        try:
            check_device_memory(self.subject, name)
        except NothingToCheckError as error:
            raise NotSupportedError(str(error)) from error

    def threads(self, layer: str) -> None:
        """Run a layer in several threads at a time."""
        self._stress(stress.check_concurrent_runs, [layer])

    def memory(self, layers: Iterable[str]) -> None:
        """Run a layer without memory."""
        self._stress(stress.check_out_of_memory, layers)

    def interruptions(self, layers: Iterable[str]) -> None:
        """Run a layer that is cancelled."""
        self._stress(stress.check_interrupted_runs, layers)

    def handles(self, layers: Iterable[str]) -> None:
        """Bind a layer to too few tensors."""
        self._stress(contract.check_handle_counts, layers)

    def prepared_file(self, layers: Iterable[str]) -> None:
        """Run a layer from a file that it was compiled to."""
        try:
            self._stress(check_prepared_file, layers)
        except NothingToCheckError as error:
            raise NotSupportedError(str(error)) from error

    def device(self, name: str, layers: Iterable[str]) -> None:
        """Run one of the checks of :mod:`armnn_conformance.checks.devices`."""
        if works_in_host_memory(self.subject):
            raise NotSupportedError("the backend works in host memory")
        try:
            self._stress(devices.CHECKS[name], layers)
        except NothingToCheckError as error:
            raise NotSupportedError(str(error)) from error

    def graphs(self, family: str, layers: Iterable[str]) -> list[str]:
        """Run a family's graphs of claimed layers; return their names.

        Raises:
            NonconformityError: One of them is not computed as its layers' oracles say.
            NotSupportedError: No two claimed layers follow each other.
        """
        check = graph_checks.CHECKS[_CHECKS_OF_FAMILIES.get(family, "graph")]
        passed = []
        for graph in self._graphs(family, tuple(layers)):
            self.announce(str(graph))
            try:
                if check(self.subject, graph):
                    passed.append(str(graph))
            except NonconformityError:
                raise
            except Exception as error:  # a backend may fail in any way
                kind = type(error).__name__
                raise NonconformityError(f"{graph}: {kind}: {error}") from error
        if not passed:
            raise NotSupportedError("it claims no two layers that follow each other")
        return passed

    def hostile_graphs(self, trick: str, layers: Iterable[str]) -> None:
        """Play a trick of the hostile host with graphs."""
        backend = self.subject.backend
        if not isinstance(backend, NativeBackend):
            raise NotSupportedError("the backend is not a shared library")
        if trick == FREES_DROPPED and not backend.capabilities.get(Capability.RELEASES_CONSTANTS):
            raise NotSupportedError(f"the backend does not state {Capability.RELEASES_CONSTANTS}")
        asked = tuple(layers)
        drawn = [next(iter(self._graphs(family, asked)), None) for family in _OF_HOSTILE_HOST]
        drawn.append(graph_with_large_constant(self._claims[asked]))
        graphs = [graph for graph in drawn if graph is not None]
        if not graphs:
            raise NotSupportedError("it claims no two layers that follow each other")
        self.announce(f"a host that {trick}: {'; '.join(map(str, graphs))}")
        try:
            laid_out = [GraphOfC(graph, backend.library) for graph in graphs]
            play(backend.library, trick, laid_out)
        except NothingToPlayError as error:
            raise NotSupportedError(str(error)) from error

    def _graphs(self, family: str, layers: tuple[str, ...]) -> Iterator[Graph]:
        if layers not in self._claims:
            self._claims[layers] = Claims(self.subject, layers, self.announce)
        claims = self._claims[layers]
        if family == BEHIND_CASES:
            cases = (self.claimed_case(layer) for layer in layers)
            return graphs_behind((case for case in cases if case is not None), claims)
        if family == IN_THREADS:
            return large_graphs(claims)
        if family == STORED:
            return itertools.islice(graphs_of("chain", claims), _STORED_GRAPHS)
        return graphs_of(family, claims)

    def _stress(self, check: Callable[[Subject, LayerCase], None], layers: Iterable[str]) -> None:
        """Run a check on the first claimed case of layers."""
        case = next(filter(None, map(self.claimed_case, layers)), None)
        if case is None:
            raise NotSupportedError("it is not supported, or nothing is fed to it")
        self.announce(case.id)
        check(self.subject, case)

    def _announced(self, layer: str) -> Iterator[Layer]:
        """Yield the layers of each data type's first cases."""
        if layer not in self._first_cases:
            self._first_cases[layer] = [
                (case, layer_of(case))
                for column in data_types_of(layer)
                for case in itertools.islice(cases_of(layer, column), ASKED_FIRST)
            ]
        for case, made in self._first_cases[layer]:
            self.announce(case.id)
            yield made


def _listed(reasons: Mapping[str, str]) -> str:
    """Return the first refused cases with their reasons."""
    rows = [f"{name} ({reason})" for name, reason in itertools.islice(reasons.items(), _SHOWN)]
    rest = len(reasons) - len(rows)
    return ", ".join(rows) + (f" and {rest} more" if rest else "")


_CHECKS_OF_FAMILIES = {ANY_BATCH: "batches", STORED: "stored", IN_THREADS: "threads"}

_STORED_GRAPHS = 2

_OF_HOSTILE_HOST = ("a shared constant", "chain", "diamond", "several inputs and outputs")
"""The families of which the hostile host compiles one graph each."""

_CHECKS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        Checks.loads,
        Checks.cell,
        Checks.layers_claimed_at_once,
        Checks.layers_with_a_claimed_case,
        Checks.refusal,
        Checks.requirement,
        Checks.contract,
        Checks.capability,
        Checks.device_memory,
        Checks.threads,
        Checks.memory,
        Checks.interruptions,
        Checks.handles,
        Checks.prepared_file,
        Checks.device,
        Checks.graphs,
        Checks.hostile_graphs,
    )
}
