# SPDX-License-Identifier: MIT
"""Which backend runs which operator of a model, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from armnn.cli.output import print_table, printable
from armnn.errors import ArmnnError
from armnn.optimizer.assignment.candidates import NetworkAnswers
from armnn.optimizer.shapes.deferred import deferred_operator

if TYPE_CHECKING:
    from armnn.graph import Layer, Network, Operator, Survey
    from armnn.optimizer import Candidate

_WITHOUT_BACKEND = ("Input", "Output", "Constant")


@dataclass(slots=True)
class OperatorRow:
    """The operators of one type.

    Attributes:
        type: What the format calls them.
        count: How many the file has.
        refused: The reasons why the parser cannot convert some, by name.
        cut_off: Names of those that read what a refused one would make.
        waiting: Names of those of which more must be known before backends can answer: they become
            layers then, or their shapes are not known yet.
        layerless: How many need no backend: constants, branches that are not taken.
        reasons: For each backend why it does not run some, by name.
        runs_on: How many run on each backend: the first one that runs all of their layers. Those
            whose layers go to several are counted by all of their names, joined by "+".
    """

    type: str
    count: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    cut_off: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    layerless: int = 0
    reasons: dict[str, dict[str, str]] = field(default_factory=dict)
    runs_on: dict[str, int] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        """How many of them backends were asked about."""
        others = len(self.refused) + len(self.cut_off) + len(self.waiting) + self.layerless
        return self.count - others

    @property
    def unassigned(self) -> int:
        """How many of them no backend runs."""
        return self.asked - sum(self.runs_on.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON can hold it."""
        return {
            "operator": self.type,
            "count": self.count,
            "unsupported": [{"name": n, "reason": r} for n, r in self.refused.items()],
            "behind_unsupported": list(self.cut_off),
            "known_at_run": list(self.waiting),
            "need_no_backend": self.layerless,
            "backends": {
                backend: {
                    "supported": self.asked - len(reasons),
                    "refusals": [{"name": n, "reason": r} for n, r in reasons.items()],
                }
                for backend, reasons in self.reasons.items()
            },
            "runs_on": dict(self.runs_on),
        }


@dataclass(frozen=True, slots=True)
class OperatorTable:
    """The operators of a file and the backends queried.

    Attributes:
        rows: One per type, the most frequent first.
        backends: The ids of the backends, in the order of preference.
        assumed: What had to be assumed for that, "" if nothing.
    """

    rows: tuple[OperatorRow, ...] = ()
    backends: tuple[str, ...] = ()
    assumed: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether everything in the file can be run."""
        return not any(row.refused or row.unassigned > 0 for row in self.rows)

    def show(self, *, with_reasons: bool) -> None:
        """Print the operators, optionally with the backends' reasons."""
        if not self.rows:
            return
        columns = ["operator", "count", *self.backends, "runs on", "not supported"]
        print_table("Operators", columns, [self._cells(row) for row in self.rows])
        if self.assumed:
            print("\n".join(map(printable, self.assumed.splitlines())), end="\n\n")
        if with_reasons:
            reasons = [
                (row.type, name, who, reason)
                for row in self.rows
                for who, found in {"the parser": row.refused, **row.reasons}.items()
                for name, reason in found.items()
            ]
            print_table("Reasons", ["operator", "name", "refused by", "reason"], reasons)

    def _cells(self, row: OperatorRow) -> list[str]:
        supported = [row.asked - len(row.reasons[backend]) for backend in self.backends]
        where = row.runs_on | ({"none needed": row.layerless} if row.layerless else {})
        runs_on = ", ".join(f"{backend} {count}" for backend, count in where.items())
        notes = [f"{len(row.waiting)} known when it runs"] if row.waiting else []
        notes += [f"{len(row.cut_off)} behind unsupported ones"] if row.cut_off else []
        notes += [f"{row.unassigned} on no backend"] if self.backends and row.unassigned > 0 else []
        notes += list(dict.fromkeys(row.refused.values()))
        return [
            row.type,
            str(row.count),
            *(_share(number, row.asked) for number in supported),
            runs_on,
            "; ".join(notes),
        ]


def _share(number: int, asked: int) -> str:
    if asked == 0:
        return ""
    return str(number) if number == asked else f"{number} of {asked}"


def operator_table(
    network: Network, survey: Survey, candidates: Sequence[Candidate], assumed: str = ""
) -> OperatorTable:
    """Ask backends about the operators of a file.

    Args:
        network: What the parser made of the file, for known input shapes as far as they are.
        survey: What the parser noted of the file.
        candidates: The backends, in the order of preference.
        assumed: What had to be assumed of the shapes, "" if nothing.
    """
    layers: dict[Operator, list[Layer]] = {operator: [] for operator in survey.operators}
    for layer in network.layers:
        if layer.origin in layers and layer.type not in _WITHOUT_BACKEND:
            layers[layer.origin].append(layer)
    waiting = tuple(
        f"{operator.name}/"
        for operator, made in layers.items()
        if any(deferred_operator(layer) is not None for layer in made)
    )
    whole = (layer for made in layers.values() for layer in made)
    answers = NetworkAnswers(network, (each for each in whole if deferred_operator(each) is None))
    rows: dict[str, OperatorRow] = {}
    for operator, made in layers.items():
        row = rows.setdefault(operator.type, OperatorRow(operator.type))
        row.reasons = row.reasons or {candidate.id: {} for candidate in candidates}
        row.count += 1
        if not made and operator.name.startswith(waiting):
            row.waiting.append(operator.name)
        else:
            _add(row, operator, survey, made, candidates, answers)
    ordered = sorted(rows.values(), key=lambda row: (-row.count, row.type))
    return OperatorTable(tuple(ordered), tuple(c.id for c in candidates), assumed)


def _add(
    row: OperatorRow,
    operator: Operator,
    survey: Survey,
    layers: Sequence[Layer],
    candidates: Sequence[Candidate],
    answers: NetworkAnswers,
) -> None:
    """Enter one operator into the row of its type."""
    if survey.operators[operator]:
        row.refused[operator.name] = survey.operators[operator]
    elif operator in survey.cut_off:
        row.cut_off.append(operator.name)
    elif any(deferred_operator(layer) is not None for layer in layers):
        row.waiting.append(operator.name)
    elif not layers:
        row.layerless += 1
    else:
        _ask(row, operator, layers, candidates, answers)


def _ask(
    row: OperatorRow,
    operator: Operator,
    layers: Sequence[Layer],
    candidates: Sequence[Candidate],
    answers: NetworkAnswers,
) -> None:
    """Ask the backends about the layers that an operator became."""
    homes: dict[Layer, str] = {}
    refusals_by_backend: dict[str, str] = {}
    for candidate in candidates:
        refusals: dict[str, None] = {}
        for layer in layers:
            reason = _refusal(answers, candidate, layer)
            if reason:
                refusals[reason] = None
            else:
                homes.setdefault(layer, candidate.id)
        if refusals:
            refusals_by_backend[candidate.id] = "; ".join(refusals)
    if refusals_by_backend and not all(map(_is_static, layers)):
        row.waiting.append(operator.name)  # without shapes a refusal says nothing
        return
    for backend, reason in refusals_by_backend.items():
        row.reasons[backend][operator.name] = reason
    if len(homes) == len(layers):
        whole = [each.id for each in candidates if each.id not in refusals_by_backend]
        where = whole[0] if whole else "+".join(dict.fromkeys(homes.values()))
        row.runs_on[where] = row.runs_on.get(where, 0) + 1


def _is_static(layer: Layer) -> bool:
    infos = (*layer.input_infos, *layer.output_infos)
    return all(info is None or info.is_static for info in infos)


def _refusal(answers: NetworkAnswers, candidate: Candidate, layer: Layer) -> str:
    try:
        answer = answers.of(candidate, layer)
    except ArmnnError as error:
        return str(error)
    return "" if answer else answer.reason or "gave no reason"


def with_all_read(network: Network) -> Network:
    """Return a copy in which every unread value is output.

    So no layer is dropped.
    """
    copy = network.clone()
    for layer in copy.layers:
        for value in layer.outputs if layer.type != "Input" else ():
            if not value.uses and layer.data is None:
                copy.add_output(f"{value.name} (unread)", value)
    return copy
