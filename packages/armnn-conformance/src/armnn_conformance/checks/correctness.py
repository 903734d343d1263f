# SPDX-License-Identifier: MIT
"""Runs the cases of a layer type and data type, and compares their outputs.

A layer that a backend claims is run and compared; one that it refuses needs a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from numpy.typing import NDArray

from armnn.backends import Support
from armnn.graph import Layer
from armnn.single_layer import in_layout
from armnn.types import DataLayout, DataType
from armnn_conformance.cases import EXTREME, NAN, LayerCase, cases_of, data_types_of
from armnn_conformance.comparison import difference
from armnn_conformance.running import (
    BoundCase,
    MemoryDamageError,
    NonconformityError,
    layer_of,
    run_by_runtime,
    run_in_place,
    works_in_host_memory,
)
from armnn_conformance.subject import Subject

_NEEDS = {NAN: "expects NaN", EXTREME: "is about infinity or the largest numbers"}
"""The subject of cases with the tag of a capability."""


class CaseResult(StrEnum):
    """The result of a case, or of a cell's cases."""

    PASSED = "passed"
    """Claimed, and computed rightly."""
    FAILED = "failed"
    """Claimed and computed wrongly, refused without a reason, or an invalid answer."""
    NOT_SUPPORTED = "not supported"
    """Refused with a reason."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one case.

    Attributes:
        result: Passed, failed or not supported.
        detail: The fault, or the reason of the refusal.
        is_damaged: Whether the backend wrote to memory that is not its own.
    """

    result: CaseResult
    detail: str = ""
    is_damaged: bool = False


@dataclass(slots=True)
class Cell:
    """The results of a layer type and data type.

    Attributes:
        layer: The name of the layer type.
        data_type: The data type.
        outcomes: By the name of the case.
        crashes: How the process ended, by the name of the case that ended it.
    """

    layer: str
    data_type: DataType
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    crashes: dict[str, str] = field(default_factory=dict)

    @property
    def result(self) -> CaseResult:
        """Failed or passed if one case did, else not supported."""
        found = [outcome.result for outcome in self.outcomes.values()]
        for result in (CaseResult.FAILED, CaseResult.PASSED):
            if result in found:
                return result
        return CaseResult.NOT_SUPPORTED

    def details(self, result: CaseResult) -> dict[str, str]:
        """Return the details of a result's cases by name."""
        return {n: o.detail for n, o in self.outcomes.items() if o.result is result}


def check_cell(subject: Subject, layer: str, data_type: DataType) -> Cell:
    """Run all cases of a cell on a backend."""
    cell = Cell(layer, data_type)
    for case in cases_of(layer, data_type):
        cell.outcomes[case.name] = check_case(subject, case)
    return cell


def check_case(subject: Subject, case: LayerCase) -> Outcome:
    """Ask about one case; run a claimed one both ways."""
    try:
        layer = layer_of(case)
        answer = answer_of(subject, layer)
        if answer.layout is not None:
            check_wish(subject, layer, answer.layout)
        if not answer:
            return Outcome(CaseResult.NOT_SUPPORTED, answer.reason)
        for capability, meaning in _NEEDS.items():
            if capability in case.tags and subject.lacks(capability):
                reason = f"it {meaning}, and the backend says that {capability} is false"
                return Outcome(CaseResult.NOT_SUPPORTED, reason)
        check_workload(subject, layer, case)
        check_in_place(subject, layer, case)
        check_runtime(subject, case)
    except NonconformityError as error:
        return Outcome(CaseResult.FAILED, str(error), isinstance(error, MemoryDamageError))
    except Exception as error:  # whatever it is, it is the backend's answer to a legal question
        return Outcome(CaseResult.FAILED, f"{type(error).__name__}: {error}")
    return Outcome(CaseResult.PASSED)


def answer_of(subject: Subject, layer: Layer) -> Support:
    """Return the answer of a backend about a layer.

    Raises:
        NonconformityError: It is a refusal without a reason, or another answer each time.
        BackendError: The answer is invalid.
    """
    answer = subject.supports(layer)
    if not answer and not answer.reason.strip():
        raise NonconformityError("the refusal has no reason: say what is not supported")
    if subject.supports(layer) != answer:
        raise NonconformityError("supports() answered two equal calls differently")
    return answer


def check_wish(subject: Subject, layer: Layer, layout: DataLayout) -> None:
    """Check that a backend takes the layout that it wishes.

    Raises:
        NonconformityError: It refuses the layer so, or the layer is in that layout already.
    """
    if getattr(layer.descriptor, "data_layout", None) is layout:
        raise NonconformityError(f"it asks for the layout {layout.name}, which the layer has")
    wished = in_layout(layer, layout)
    answer = Support(True) if wished is None else subject.supports(wished)
    if not answer:
        raise NonconformityError(
            f"it asks for the layout {layout.name}, and refuses the layer in it: {answer.reason}; "
            "name a layout only for a layer that is supported otherwise"
        )


def check_workload(subject: Subject, layer: Layer, case: LayerCase) -> None:
    """Run the workload of a claimed case twice.

    Raises:
        NonconformityError: A result is not what the case expects.
    """
    bound = BoundCase(subject, layer, case.inputs)
    compare(bound.run(), case, "the workload's")
    compare(bound.run(), case, "the workload's second")


def check_in_place(subject: Subject, layer: Layer, case: LayerCase) -> None:
    """Run a layer that changes an input, with its output in that input's memory.

    Raises:
        NonconformityError: A result is not what the case expects.
    """
    if layer.spec.in_place and works_in_host_memory(subject):
        results = run_in_place(subject, layer, case.inputs)
        if results is not None:
            compare(results, case, "with its output in the memory of an input, the workload's")


def check_runtime(subject: Subject, case: LayerCase) -> None:
    """Run a claimed case through the public API.

    Raises:
        NonconformityError: A result is not what the case expects.
    """
    results = run_by_runtime(subject, case)
    if results is not None:
        compare(results, case, "the runtime's")


def compare(results: Iterable[NDArray[Any]], case: LayerCase, whose: str) -> None:
    """Compare the outputs of a run.

    Raises:
        NonconformityError: They are not what the case expects.
    """
    rows = zip(results, case.outputs, case.expected, strict=True)
    for index, (stored, info, expected) in enumerate(rows):
        if index in case.open_outputs and stored.shape == expected.shape:
            continue
        problem = difference(stored, info, expected, case.tolerance)
        if problem:
            raise NonconformityError(f"{whose} output {index} is wrong: {problem}")


def claimed_case(
    subject: Subject,
    layer: str,
    refused: Container[tuple[str, DataType]] = (),
    announce: Callable[[str], None] = lambda _: None,
) -> LayerCase | None:
    """Return a layer type's first claimed case with an input, of Float32 if there is one.

    Most cases that run before are of Float32, too, so that a backend that compiles kernels for each
    type has these already.

    Args:
        subject: The backend.
        layer: The layer type.
        refused: The layer types and data types of which it is known to claim no case.
        announce: Is told the id of a case before the backend is asked about it.
    """
    for column in sorted(data_types_of(layer), key=lambda each: each is not DataType.FLOAT32):
        if (layer, column) in refused:
            continue
        for case in cases_of(layer, column):
            announce(case.id)
            fed = any(operand is not None and not operand.constant for operand in case.inputs)
            if fed and subject.supports(layer_of(case)):
                return case
    return None
