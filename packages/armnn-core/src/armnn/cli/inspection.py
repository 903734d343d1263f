# SPDX-License-Identifier: MIT
"""What ``armnn inspect`` found out, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from armnn.cli.layer_facts import Facts, show_facts, time_facts, verdict_text
from armnn.cli.operators import OperatorTable
from armnn.cli.output import print_table, printable
from armnn.optimizer.shapes.assumed import AssumedShapes, example_of
from armnn.tensor import completed_shape

if TYPE_CHECKING:
    from armnn.cli.optimized_layers import OptimizedLayers
    from armnn.graph import Network
    from armnn.graph.statistics import LayerStatistics, NetworkStatistics
    from armnn.tensor import TensorInfo

_MEASURED = ("time", "verdict", "refusals", "conversion")
"""What a layer of the list has beside its size."""


@dataclass(frozen=True, slots=True)
class TypeCount:
    """The layers of one type.

    Attributes:
        type: The layer type.
        count: How many there are.
        parameters: Of all of them, without what layers before them compute with, too.
        multiply_adds: Of all of them, None if it is not known for one.
    """

    type: str
    count: int
    parameters: int
    multiply_adds: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Inspection:
    """A model and its size.

    Attributes:
        model: Its path.
        network: What it is: its inputs, outputs and metadata.
        layers: What is in it, as optimised if backends were named.
        statistics: The size of that.
        show_layers: Whether every layer was asked for.
        assumed: The shapes of its inputs that backends were asked for.
        operators: The operators of its file.
        show_reasons: Whether it was asked why backends do not run some of them.
        document: All about every layer, of :func:`armnn.viewing.described`.
        facts: Of the layers that were asked for by name.
    """

    model: str
    network: Network
    layers: OptimizedLayers
    statistics: NetworkStatistics
    show_layers: bool
    assumed: AssumedShapes
    operators: OperatorTable = field(default_factory=OperatorTable)
    show_reasons: bool = False
    document: Facts = field(default_factory=dict)
    facts: Sequence[Facts] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
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
            "layers_by_type": [
                {
                    "type": row.type,
                    "count": row.count,
                    "parameters": row.parameters,
                    "multiply_adds": row.multiply_adds,
                }
                for row in count_by_type(self.statistics.layers)
            ],
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

    def _nodes(self) -> dict[str, Facts]:
        """Return the facts of layers by their names."""
        return {str(node["name"]): node for node in self.document.get("nodes", ())}

    def _assumed_as_dict(self) -> dict[str, Any]:
        """Return the assumed sizes, with the layers' disagreement if any."""
        error = self.assumed.error
        shapes = {
            name: {"shape": list(self.assumed.shapes[name] or ()), "reason": reason}
            for name, reason in self.assumed.reasons.items()
        }
        return {"assumed_shapes": shapes, "shape_error": "" if error is None else str(error)}

    def show(self) -> None:
        """Print all of it."""
        inputs = [(layer.name, str(layer.output.info)) for layer in self.network.inputs]
        print_table("Inputs", ["name", "tensor"], inputs)
        outputs = [(name, str(info)) for name, info in _outputs(self.network)]
        print_table("Outputs", ["name", "tensor"], outputs)
        self.operators.show(with_reasons=self.show_reasons)
        rows = [
            (row.type, str(row.count), _amount(row.parameters), _amount(row.multiply_adds))
            for row in count_by_type(self.statistics.layers)
        ]
        print_table("Layers by type", ["type", "layers", "parameters", "multiply-adds"], rows)
        self.layers.show_parts()
        if self.show_layers:
            self._show_layers()
        for node in self.facts:
            show_facts(node, self.document)
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
                row.layer.type,
                *([row.layer.backend or ""] if assigned else []),
                *([part_of.get(row.layer.name, "")] if part_of else []),
                ", ".join(map(str, row.layer.output_infos)),
                _amount(row.parameters),
                _amount(row.multiply_adds),
                *(_times(node) if is_timed else []),
                *([verdict_text(node.get("verdict"))] if is_compared else []),
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
        """Return the open shapes as --shape takes them.

        They are sizes that fit, if any are known.
        """
        shapes = {
            layer.name: layer.output.info.shape
            for layer in self.network.inputs
            if not layer.output.info.is_static
        }
        if self.assumed.error is None:
            shapes = {name: self.assumed.shapes[name] for name in shapes}
        return printable(" ".join(example_of(name, shape) for name, shape in shapes.items()))


def count_by_type(rows: Iterable[LayerStatistics]) -> list[TypeCount]:
    """Return totals per layer type, the most frequent first."""
    by_type: dict[str, list[LayerStatistics]] = {}
    for row in rows:
        by_type.setdefault(row.layer.type, []).append(row)
    counts = []
    for layer_type, members in by_type.items():
        known = [row.multiply_adds for row in members if row.multiply_adds is not None]
        total = sum(known) if len(known) == len(members) else None
        parameters = sum(row.own_parameters for row in members)
        counts.append(TypeCount(layer_type, len(members), parameters, total))
    return sorted(counts, key=lambda row: (-row.count, row.type))


def _outputs(network: Network) -> list[tuple[str, TensorInfo]]:
    """Return the outputs by name; each has one input."""
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
        "type": row.layer.type,
        "backend": row.layer.backend,
        "compiled_into": part_of.get(row.layer.name, ""),
        "outputs": [_info_as_dict(value.name, value.info) for value in row.layer.outputs],
        "parameters": row.parameters,
        "multiply_adds": row.multiply_adds,
    }


def _times(node: Facts) -> tuple[str, str]:
    times = time_facts(node.get("time"))
    return times.get("time", ""), times.get("share", "")


def _refusals(node: Facts) -> str:
    return "; ".join(f"{backend}: {reason}" for backend, reason in node.get("refusals", ()))


def _amount(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"
