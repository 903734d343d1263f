# SPDX-License-Identifier: MIT
"""``armnn inspect``: shows the layers of a model, and which backends run which operators."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from armnn.arguments import closest
from armnn.errors import ArmnnError, BackendUnavailableError, InvalidArgumentError
from armnn.graph import Layer, Network, Operator, Survey
from armnn.graph.dot import to_dot
from armnn.graph.statistics import LayerStatistics, NetworkStatistics, statistics_of
from armnn.installing import CPU_ACC, CPU_REF
from armnn.optimizer import Candidate, Report
from armnn.optimizer.assignment.assign import NetworkAnswers
from armnn.optimizer.shapes.assumed import AssumedShapes, example_of
from armnn.optimizer.shapes.specialize import deferred_operator, specialize
from armnn.parsing import survey
from armnn.runtime import Runtime
from armnn.tensor import TensorInfo, completed_shape
from armnn_tools.cli.assigned_layers import (
    WITHOUT_BACKEND,
    OptimizedLayers,
    add_measured_arguments,
    assigned,
    measured,
    reference_evaluator,
    with_sizes,
)
from armnn_tools.cli.options import (
    add_command,
    add_model_arguments,
    add_optimizer_arguments,
    add_shape_argument,
    opened_runtime,
    options_of_backends,
    parser_options,
)
from armnn_tools.cli.output import print_json, print_table, printable, progress
from armnn_tools.viewing import described

_EXAMPLES = f"""\
examples:
  armnn inspect model.onnx
  armnn inspect model.onnx --shape x=1x3x224x224 --layers
  armnn inspect model.tflite --backends {CPU_ACC},{CPU_REF} --reasons
  armnn inspect model.onnx --backends {CPU_REF} --dot model.dot
  armnn inspect model.onnx --backends {CPU_REF} --layer Conv.0 --profile trace.json
"""
_Facts = Mapping[str, Any]
"""A node of the document that :func:`armnn_tools.viewing.described` makes."""

_MOST_HINTS = 4
"""How many shapes are shown as values of ``--shape``."""

_MEASURED = ("time", "verdict", "refusals", "conversion")
"""The facts of a layer that the list of layers has beside its size."""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn inspect``."""
    parser = add_command(
        subparsers,
        "inspect",
        summary,
        "Show the inputs, outputs, operators, layers, size and metadata of a model, "
        "and which backends support which operators.",
        _EXAMPLES,
        inspect,
    )
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    add_shape_argument(parser)
    parser.add_argument("--layers", action="store_true", help="list every layer with its shapes")
    parser.add_argument(
        "--layer",
        metavar="NAME",
        action="append",
        default=[],
        help="show all that is known about a layer, as 'armnn view' does (may be repeated)",
    )
    add_measured_arguments(parser)
    parser.add_argument(
        "--reasons",
        action="store_true",
        help="say for each operator why the parser or a backend refuses it",
    )
    parser.add_argument(
        "--dot",
        metavar="FILE",
        help="write the graph for Graphviz; with --backends, as optimized for them",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def inspect(arguments: argparse.Namespace) -> int:
    """Show a model as the command line says.

    Return the exit status: 1 if there is an operator that the parser does not support or that no
    backend runs.

    Raises:
        ArmnnError: The model, a backend or an option is not usable.
    """
    with opened_runtime(arguments) as runtime:
        report = Report()
        with progress(f"Reading {arguments.model}"):
            network, found = survey(arguments.model, parser_options(arguments))
            sized = with_sizes(network, arguments.shape)
            operators = _operator_table(
                sized.network, found, _candidates(found, runtime, arguments), sized.note
            )
            shown = network
            layers = OptimizedLayers(network)
            if operators.is_complete:
                if arguments.shape and not sized.is_open:
                    shown = specialize(network, sized.assumed.shapes, {}, reference_evaluator())
                    layers = OptimizedLayers(shown)
                if arguments.backends or arguments.profile or arguments.compare:
                    head, rest, report = assigned(network, sized, runtime, arguments)
                    layers = OptimizedLayers.of(head, rest, report)
        if arguments.dot is not None:
            _write_dot(layers, Path(arguments.dot))
    times, findings = measured(arguments, report)
    document = described(layers.network, report, times, findings)
    inspection = Inspection(
        arguments.model,
        shown,
        layers,
        statistics_of(layers.network),
        arguments.layers,
        sized.assumed,
        operators,
        arguments.reasons,
        document,
        _facts_of(arguments.layer, document),
    )
    if arguments.json:
        print_json(inspection.as_dict())
    else:
        inspection.show()
    return 0 if operators.is_complete else 1


def _candidates(
    found: Survey, runtime: Runtime, arguments: argparse.Namespace
) -> tuple[Candidate, ...]:
    """Return the backends to be asked: those that are named, or all that can be used."""
    if not found.operators:
        return ()
    probe = Network()
    probe.add_output("y", probe.add_input("x", TensorInfo((1,))))
    try:
        return runtime.optimize(
            probe, arguments.backends, backend_options=options_of_backends(arguments)
        ).participants.candidates
    except BackendUnavailableError:
        if arguments.backends is not None:
            raise
        return ()


def _write_dot(layers: OptimizedLayers, path: Path) -> None:
    try:
        path.write_text(to_dot(layers.network, layers.part_of), encoding="utf-8")
    except OSError as error:
        raise InvalidArgumentError(
            f"--dot got {str(path)!r}, which cannot be written ({error.strerror}); expected a file "
            "in a folder that exists and is yours to write"
        ) from error


@dataclass(frozen=True, slots=True)
class _TypeCount:
    """The layers of one type.

    Attributes:
        type: The layer type.
        count: The number of layers.
        parameters: The parameters of all of them; shared ones are counted for the first layer only.
        multiply_adds: The multiply-adds of all of them, None if they are not known for one.
    """

    type: str
    count: int
    parameters: int
    multiply_adds: int | None


@dataclass(slots=True)
class OperatorRow:
    """The operators of one type.

    Attributes:
        type: The name of the type in the format.
        count: The number of operators in the file.
        refused: The reasons why the parser cannot convert some, by name.
        cut_off: The names of those that read the output of a refused one.
        waiting: The names of those of which more must be known before backends can answer: they
            become layers then, or their shapes are not known yet.
        layerless: The number of those that need no backend: constants, branches that are not taken.
        reasons: The reasons why each backend does not run some, by backend and name.
        runs_on: The number of those that run on each backend: the first one that runs all of their
            layers. Those whose layers go to several are counted for these, joined by "+".
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
        """Return the row as data for JSON."""
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
    """The operators of a file, and the answers of the backends about them.

    Attributes:
        rows: The rows, one per type, the most frequent first.
        backends: The ids of the backends, in the order of preference.
        assumed: Sentences on the shapes that were assumed, "" if none were.
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
            *(_supported(number, row.asked) for number in supported),
            runs_on,
            "; ".join(notes),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Inspection:
    """A model and its size.

    Attributes:
        model: The path of the model.
        network: The network, for its inputs, outputs and metadata.
        layers: The layers, optimized if backends were named.
        statistics: The size of these layers.
        show_layers: Whether every layer was asked for.
        assumed: The input shapes that backends were asked about.
        operators: The operators in the file.
        show_reasons: Whether the reasons were asked for why backends do not run some of them.
        document: The facts of every layer, from :func:`armnn_tools.viewing.described`.
        facts: The facts of the layers that were asked for by name.
    """

    model: str
    network: Network
    layers: OptimizedLayers
    statistics: NetworkStatistics
    show_layers: bool
    assumed: AssumedShapes
    operators: OperatorTable
    show_reasons: bool
    document: _Facts
    facts: Sequence[_Facts]

    def as_dict(self) -> dict[str, Any]:
        """Return the model as data for JSON."""
        found: dict[str, Any] = {
            "model": self.model,
            "name": self.network.name,
            "inputs": [
                _info_as_dict(layer.name, layer.output.info) for layer in self.network.inputs
            ],
            "outputs": [_info_as_dict(name, info) for name, info in _outputs(self.network)],
            "layers": len(self.statistics.layers),
            "parameters": self.statistics.parameters,
            "parameter_bytes": self.statistics.parameter_bytes,
            "multiply_adds": self.statistics.multiply_adds,
            "layers_by_type": [asdict(row) for row in _count_by_type(self.statistics.layers)],
            "metadata": dict(self.network.metadata),
            "operators": [row.as_dict() for row in self.operators.rows],
            **self._assumed_as_dict(),
            "compiled_parts": [part.as_dict() for part in self.layers.parts],
            "waiting_layers": self.layers.waiting,
        }
        if self.show_layers:
            nodes = self._nodes()
            found["layer_list"] = [
                _layer_as_dict(row, self.layers.part_of)
                | {key: nodes.get(printable(row.layer.name), {}).get(key) for key in _MEASURED}
                for row in self.statistics.layers
            ]
        if self.facts:
            found["layer_facts"] = list(self.facts)
        return found

    def _nodes(self) -> dict[str, _Facts]:
        """Return the facts of each layer, by its name."""
        return {str(node["name"]): node for node in self.document.get("nodes", ())}

    def _assumed_as_dict(self) -> dict[str, Any]:
        """Return the assumed shapes, and the error of layers that do not agree with them."""
        error = self.assumed.error
        shapes = {
            name: {"shape": list(self.assumed.shapes[name] or ()), "reason": reason}
            for name, reason in self.assumed.reasons.items()
        }
        return {"assumed_shapes": shapes, "shape_error": "" if error is None else str(error)}

    def show(self) -> None:
        """Print the model as text."""
        inputs = [(layer.name, str(layer.output.info)) for layer in self.network.inputs]
        print_table("Inputs", ["name", "tensor"], inputs)
        outputs = [(name, str(info)) for name, info in _outputs(self.network)]
        print_table("Outputs", ["name", "tensor"], outputs)
        self.operators.show(with_reasons=self.show_reasons)
        rows = [
            (row.type, str(row.count), _amount(row.parameters), _amount(row.multiply_adds))
            for row in _count_by_type(self.statistics.layers)
        ]
        print_table("Layers by type", ["type", "layers", "parameters", "multiply-adds"], rows)
        self.layers.show_parts()
        if self.show_layers:
            self._show_layers()
        for node in self.facts:
            _show_facts(node, self.document)
        if self.network.metadata:
            print_table("Metadata", ["key", "value"], list(self.network.metadata.items()))
        self._show_totals()

    def _show_layers(self) -> None:
        assigned = any(row.layer.backend is not None for row in self.statistics.layers)
        part_of = self.layers.part_of
        nodes = self._nodes()
        is_timed, is_compared = (self.document.get(key) for key in ("is_timed", "is_compared"))
        is_refused = any(node["refusals"] for node in nodes.values())
        rows = [
            (
                row.layer.name,
                row.layer.title,
                *([row.layer.backend or ""] if assigned else []),
                *([part_of.get(row.layer.name, "")] if part_of else []),
                ", ".join(map(str, row.layer.output_infos)),
                _amount(row.parameters),
                _amount(row.multiply_adds),
                *(_time_and_share(node) if is_timed else []),
                *([_finding_text(node.get("verdict"))] if is_compared else []),
                *([_refusals(node)] if is_refused else []),
            )
            for row in self.statistics.layers
            for node in [nodes.get(printable(row.layer.name), {})]
        ]
        columns = ["layer", "type", *(["backend"] if assigned else [])]
        columns += ["compiled into"] if part_of else []
        columns += ["output", "parameters", "multiply-adds"]
        columns += ["time", "share"] if is_timed else []
        columns += ["verdict"] if is_compared else []
        columns += ["refused by, and why"] if is_refused else []
        print_table("Layers", columns, rows)

    def _show_totals(self) -> None:
        statistics = self.statistics
        print(f"Layers: {len(statistics.layers)}")
        print(f"Parameters: {statistics.parameters:,} ({statistics.parameter_bytes:,} bytes)")
        if statistics.multiply_adds is not None:
            where = f" for {hints}" if (hints := self._hints()) else ""
            print(f"Multiply-adds: {statistics.multiply_adds:,}{where}")
            return
        advice = f"; try {hints}" if (hints := self._hints()) else ""
        print(f"Multiply-adds: not known, as shapes are open{advice}")

    def _hints(self) -> str:
        """Return open shapes as values of --shape, with sizes that fit if any are known.

        A decoder has two caches for each layer: the first few inputs stand for all.
        """
        shapes = {
            layer.name: layer.output.info.shape
            for layer in self.network.inputs
            if not layer.output.info.is_static
        }
        if self.assumed.error is None:
            shapes = {name: self.assumed.shapes[name] for name in shapes}
        hints = [example_of(name, shape) for name, shape in shapes.items()]
        rest = f" and {len(hints) - _MOST_HINTS} more" if len(hints) > _MOST_HINTS else ""
        return printable(" ".join(hints[:_MOST_HINTS]) + rest)


def _count_by_type(rows: Iterable[LayerStatistics]) -> list[_TypeCount]:
    """Return the totals of each layer type, the most frequent first."""
    by_type: dict[str, list[LayerStatistics]] = {}
    for row in rows:
        by_type.setdefault(row.layer.title, []).append(row)
    counts = []
    for layer_type, members in by_type.items():
        known = [row.multiply_adds for row in members if row.multiply_adds is not None]
        total = sum(known) if len(known) == len(members) else None
        parameters = sum(row.own_parameters for row in members)
        counts.append(_TypeCount(layer_type, len(members), parameters, total))
    return sorted(counts, key=lambda row: (-row.count, row.type))


def _outputs(network: Network) -> list[tuple[str, TensorInfo]]:
    """Return the name and the type of each output."""
    return [
        (layer.name, info.with_shape(completed_shape(info.shape, declared)))
        for layer in network.outputs
        for declared in [network.declared_shapes.get(layer.name)]
        for info in layer.input_infos
        if info
    ]


def _info_as_dict(name: str, info: TensorInfo) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name,
        "data_type": info.data_type.arm_name,
        "shape": None if info.shape is None else list(info.shape),
    }
    if info.scales:
        found |= {"scales": list(info.scales), "zero_points": list(info.zero_points)}
        found |= {} if info.axis is None else {"quantization_axis": info.axis}
    return found


def _layer_as_dict(row: LayerStatistics, part_of: Mapping[str, str]) -> dict[str, Any]:
    return {
        "layer": row.layer.name,
        "type": row.layer.title,
        "backend": row.layer.backend,
        "compiled_into": part_of.get(row.layer.name, ""),
        "outputs": [_info_as_dict(value.name, value.info) for value in row.layer.outputs],
        "parameters": row.parameters,
        "multiply_adds": row.multiply_adds,
    }


def _time_and_share(node: _Facts) -> tuple[str, str]:
    times = _time_facts(node.get("time"))
    return times.get("time", ""), times.get("share", "")


def _refusals(node: _Facts) -> str:
    return "; ".join(f"{backend}: {reason}" for backend, reason in node.get("refusals", ()))


def _amount(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _supported(number: int, asked: int) -> str:
    if asked == 0:
        return ""
    return str(number) if number == asked else f"{number} of {asked}"


def _operator_table(
    network: Network, survey: Survey, candidates: Sequence[Candidate], assumed: str = ""
) -> OperatorTable:
    """Return the table of a file's operators, once the backends were asked about them.

    Args:
        network: The network in the file, for known input shapes as far as they are known.
        survey: The parser's notes on every operator in the file.
        candidates: The backends, in the order of preference.
        assumed: Sentences on the shapes that were assumed, "" if none were.
    """
    layers: dict[Operator, list[Layer]] = {operator: [] for operator in survey.operators}
    for layer in network.layers:
        if layer.origin in layers and layer.type not in WITHOUT_BACKEND:
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
    python = next((layer.backend_hint for layer in layers if layer.call is not None), None)
    if python is not None:
        row.runs_on[python] = row.runs_on.get(python, 0) + 1
        for candidate in candidates:
            row.reasons[candidate.id][operator.name] = "the program defines it, in Python"
        return
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


def _facts_of(names: Sequence[str], document: _Facts) -> list[_Facts]:
    """Return the facts of named layers.

    Args:
        names: The names of the layers, in the order of the result.
        document: The facts of all layers, from :func:`armnn_tools.viewing.described`.

    Raises:
        InvalidArgumentError: There is no such layer.
    """
    nodes = {str(node["name"]): node for node in document["nodes"]}
    for name in names:
        if name not in nodes:
            similar = closest(name, nodes)
            hint = f"; did you mean {similar!r}?" if similar else "; --layers lists all"
            raise InvalidArgumentError(f"--layer got {name!r}, which is not a layer here{hint}")
    return [nodes[name] for name in names]


def _show_facts(node: _Facts, document: _Facts) -> None:
    """Print the facts of a layer.

    Args:
        node: The facts of the layer.
        document: The facts of all layers, for the part that the layer is in.
    """
    print_table(str(node["name"]), ["fact", "value"], list(_facts(node, document)))
    if node["parameters"]:
        title = "Parameters that differ from the defaults"
        print_table(title, ["parameter", "value"], node["parameters"])
    inputs = [
        (
            each["slot"],
            tensor_text(each["tensor"]),
            "(constant)" if each["is_constant"] else each["source"],
        )
        for each in node["inputs"]
    ]
    if inputs:
        print_table("Inputs", ["input", "tensor", "from"], inputs)
    outputs = [(str(number), tensor_text(each)) for number, each in enumerate(node["outputs"])]
    if outputs:
        print_table("Outputs", ["output", "tensor"], outputs)
    if node["refusals"]:
        print_table("Refused by, and why", ["refused by", "reason"], node["refusals"])


def _facts(node: _Facts, document: _Facts) -> list[tuple[str, str]]:
    """Return the facts that are one value each, by name."""
    part = None if node["part"] is None else document["parts"][node["part"]]
    found = {
        "type": node["type"],
        "backend": node["backend"],
        "compiled into": "" if part is None else part["title"],
        "weights": f"{node['weights']:,}" if node["weights"] else "",
        "multiply-adds": _known_amount(node["multiply_adds"]),
        "conversion": node["conversion"],
        **_time_facts(node["time"]),
        **_finding_facts(node["verdict"]),
    }
    return [(name, text) for name, text in found.items() if text]


def _time_facts(time: _Facts | None) -> dict[str, str]:
    """Return the time of a layer, its share and its speed as text, by fact."""
    if time is None:
        return {}
    speed = f"{time['gflops']:.2f} GFLOP/s" if time["gflops"] else ""
    return {
        "time": f"{time['milliseconds']:.3f} ms",
        "share": f"{time['share']:.1%}".replace("%", " %"),
        "speed": speed,
    }


def _finding_text(finding: _Facts | None) -> str:
    """Return the finding of a comparison as text, "" without one."""
    if finding is None:
        return ""
    return str(finding["kind"]) if finding["is_wrong"] else "right"


def _finding_facts(finding: _Facts | None) -> dict[str, str]:
    if finding is None:
        return {}
    largest, ratio, others = finding["largest"], finding["ratio"], finding["together"]
    return {
        "verdict": _finding_text(finding),
        "largest error": f"{largest:.3g} {finding['unit']}" if largest else "",
        "of what rounding explains": f"{ratio:.3g} times" if ratio else "",
        "together with": ", ".join(others) if len(others) > 1 else "",
        "note": finding["note"],
    }


def tensor_text(tensor: _Facts) -> str:
    """Return a tensor as text, with the scale and zero point of each channel."""
    scales, points = tensor.get("scales", ()), tensor.get("zero_points", ())
    if len(scales) < 2:
        return str(tensor["text"])
    listed = ", ".join(f"{scale:g}" for scale in scales)
    return (
        f"{tensor['text']}: scales {listed}; zero points {', '.join(map(str, points))}; "
        f"axis {tensor['axis']}"
    )


def _known_amount(number: int | None) -> str:
    if number is None:
        return "not known"
    return f"{number:,}" if number else ""
