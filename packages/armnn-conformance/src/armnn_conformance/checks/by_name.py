# SPDX-License-Identifier: MIT
"""The kit's checks by name; each announces its next case.

A check may be run in another process, which a backend may crash: the last announced case crashed
it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from armnn.types import DataType
from armnn_conformance.cases import LayerCase, cases_of, data_types_of
from armnn_conformance.checks import contract, stress
from armnn_conformance.checks.correctness import Outcome, Verdict, answer_of, check_case
from armnn_conformance.running import layer_of, works_in_host_memory

if TYPE_CHECKING:
    from armnn.graph import Layer
    from armnn_conformance.subject import Subject

Announce: TypeAlias = Callable[[str], None]
"""Is told the id of a case before it is tried."""

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
                is_refused = is_refused and outcome.verdict is Verdict.NOT_SUPPORTED
                yield case.name, outcome
        if is_refused and not skipped:
            self._refused[layer, column] = None

    def claimed_case(self, layer: str) -> LayerCase | None:
        """Return a layer type's first claimed case with an input."""
        if layer not in self._claimed:
            self._claimed[layer] = next(self._claimed_cases(layer), None)
        return self._claimed[layer]

    def _claimed_cases(self, layer: str) -> Iterator[LayerCase]:
        for column in data_types_of(layer):
            if (layer, column) in self._refused:
                continue  # all of its cases were, so they need not be made again
            for case in cases_of(layer, column):
                self.announce(case.id)
                fed = any(operand is not None and not operand.constant for operand in case.inputs)
                if fed and self.subject.supports(layer_of(case)):
                    yield case

    def layers_claimed_at_once(self, layers: Iterable[str]) -> list[str]:
        """Return the layer types whose first cases are claimed."""
        return [
            layer
            for layer in layers
            if any(self.subject.supports(made) for made in self._announced(layer))
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

    def contract(self, check: str) -> None:
        """Run one of the checks of :mod:`armnn_conformance.checks.contract`."""
        self.announce(check)
        getattr(contract, check)(self.subject)

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
        if not works_in_host_memory(self.subject):
            raise NotSupportedError("the backend does not work in host memory")
        self._stress(contract.check_handle_counts, layers)

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


_CHECKS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        Checks.loads,
        Checks.cell,
        Checks.layers_claimed_at_once,
        Checks.layers_with_a_claimed_case,
        Checks.refusal,
        Checks.contract,
        Checks.threads,
        Checks.memory,
        Checks.interruptions,
        Checks.handles,
    )
}
