# SPDX-License-Identifier: MIT
"""From a network to an ``.armnn`` file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from armnn.errors import InvalidArgumentError, NotStorableError
from armnn.graph import Layer, Network, Value
from armnn.parsing.conversion import RefusedError
from armnn.tensor import TensorInfo
from armnn.types import QuantizedArithmetic
from armnn_parser_armnn import VERSIONS
from armnn_parser_armnn.flat_writer import MOST_BYTES, FlatRecord, Piece, flat_pieces
from armnn_parser_armnn.parameters import extension_of
from armnn_parser_armnn.schema import IDENTIFIER, LAYERS, NEWEST, TABLES
from armnn_parser_armnn.tensors import constant_record, info_fault, info_record
from armnn_parser_armnn.writer_layers import PLANNERS, Plan

_PORTS: Final = ("Input", "Output")


def export(
    network: Network, *, for_arm_nn: str = NEWEST, beyond_arm_nn: bool = False
) -> Sequence[Piece]:
    """Return the content of a network's ``.armnn`` file, in pieces.

    The format is that of Arm NN's serializer (``armnnSerializer::ISerializer``). Constants are
    pieces without a copy.

    Args:
        network: The network.
        for_arm_nn: The oldest Arm NN that has to read the file, one of
            :data:`armnn_parser_armnn.VERSIONS`.
        beyond_arm_nn: Whether layers, parameters and data types that Arm NN lacks are stored in an
            extension of armnn's own, which Arm NN reads as StandIn layers without a backend.

    Raises:
        NotStorableError: The network has layers or tensors that the format lacks; all are named.
        InvalidArgumentError: There is no such version.
        GraphError: The network has no output.
    """
    if for_arm_nn not in VERSIONS:
        known = ", ".join(map(repr, VERSIONS))
        raise InvalidArgumentError(f"for_arm_nn is {for_arm_nn!r}, expected one of {known}")
    network.check_outputs()
    pieces = flat_pieces(
        _Writing(network, for_arm_nn, beyond=beyond_arm_nn).graph(), TABLES, IDENTIFIER
    )
    size = sum(map(len, pieces))
    if size > MOST_BYTES:
        raise NotStorableError(
            f"the network {network.name!r} takes {size} bytes: an .armnn file holds {MOST_BYTES}",
            (),
        )
    return pieces


class _Writing:
    """A network on its way into a file."""

    def __init__(self, network: Network, version: str, *, beyond: bool) -> None:
        self._network = network
        self._version = version
        self._beyond = beyond
        self._faults: dict[str, str] = {}
        self._plans: dict[Layer, Plan | None] = {}
        self._numbers: dict[tuple[Layer, TensorInfo | None], int] = {}

    def graph(self) -> FlatRecord:
        """Return the root of the file."""
        order = self._network.topological_order()
        inner = [layer for layer in order if layer.type not in _PORTS and layer.type != "Constant"]
        for layer in inner:
            self._plans[layer] = self._planned(layer)
        self._check_outputs()
        constants = self._constants(order)
        self._check_tensors([*self._network.inputs, *inner, *dict.fromkeys(constants)])
        if self._faults:
            raise self._refusal()
        numbered: list[tuple[Layer, TensorInfo | None]] = [
            *((layer, None) for layer in self._network.inputs),
            *((layer, scales) for layer, kinds in constants.items() for scales in kinds),
            *((layer, None) for layer in (*inner, *self._network.outputs)),
        ]
        self._numbers = {key: number for number, key in enumerate(numbered)}
        ports = {
            layer: number
            for side in (self._network.inputs, self._network.outputs)
            for number, layer in enumerate(side)
        }
        fields: dict[str, Any] = {
            "layers": [self._record(*key, ports) for key in numbered],
            "input_ids": range(len(self._network.inputs)),
            "output_ids": range(len(self._network.outputs)),
            "feature_versions": FlatRecord("Versions", self._feature_versions()),
            "notes": self._notes(),
        }
        return FlatRecord("Graph", fields)

    def _feature_versions(self) -> dict[str, int]:
        versions = {"binding_ids_scheme": 1}
        if self._version == NEWEST:
            versions |= {"weights_layout_scheme": 1, "constant_tensors_as_inputs": 1}
        return versions

    def _notes(self) -> str | None:
        """Return facts that Arm NN does not store, or None."""
        network = self._network
        arithmetic = network.quantized_arithmetic
        if not network.name and not network.metadata and arithmetic is QuantizedArithmetic.REAL:
            return None
        return json.dumps(
            {
                "name": network.name,
                "metadata": network.metadata,
                "quantized_arithmetic": arithmetic.arm_name,
            }
        )

    def _planned(self, layer: Layer) -> Plan | None:
        """Return a layer's plan, None for the extension."""
        try:
            plan = Plan(layer, self._version)
            planner = PLANNERS.get(layer.type)
            if planner is not None:
                planner(plan)
            plan.finish()
        except RefusedError as refusal:
            if not self._beyond or layer.compiled is not None:
                self._faults[f"{layer.name!r} ({layer.type})"] = str(refusal)
            return None
        return plan

    def _constants(self, order: Sequence[Layer]) -> dict[Layer, list[TensorInfo | None]]:
        """Return the Constant layers that are read, with scales.

        One that is the bias of several layers is written once for each quantization.
        """
        uses: dict[Layer, dict[TensorInfo | None, None]] = {}
        for layer, plan in self._plans.items():
            for slot, value in enumerate(self._inputs(layer, plan)):
                scales = None if plan is None else plan.scales.get(slot)
                uses.setdefault(value.producer, {})[scales] = None
        for layer in self._network.outputs:
            for value in self._inputs(layer, None):
                uses.setdefault(value.producer, {})[None] = None
        return {
            layer: [*uses[layer]] for layer in order if layer.type == "Constant" and layer in uses
        }

    @staticmethod
    def _inputs(layer: Layer, plan: Plan | None) -> Sequence[Value]:
        if plan is not None:
            return plan.inputs
        return [value for value in layer.inputs if value is not None]

    def _check_tensors(self, layers: Sequence[Layer]) -> None:
        for layer in layers:
            faults = (info_fault(info, self._version) for info in layer.output_infos)
            fault = next(filter(None, faults), "")
            if fault and not self._beyond:
                self._faults.setdefault(f"{layer.name!r} ({layer.type})", f"its output: {fault}")

    def _check_outputs(self) -> None:
        """Refuse outputs for which 20.08 reads missing slots."""
        for number, layer in enumerate(self._network.outputs):
            producer = next(value.producer for value in layer.inputs if value is not None)
            if self._version != NEWEST and number >= len(producer.outputs):
                self._faults[f"{layer.name!r} (Output)"] = (
                    f"it is output number {number} and comes from a layer with "
                    f"{len(producer.outputs)} outputs, which Arm NN {self._version} cannot read"
                )

    def _refusal(self) -> NotStorableError:
        listed = "; ".join(f"{layer}: {reason}" for layer, reason in self._faults.items())
        is_held = any(layer.compiled is not None for layer in self._network.layers)
        hint = "" if self._beyond or is_held else "; beyond_arm_nn=True stores them for armnn alone"
        return NotStorableError(
            f"the network {self._network.name!r} cannot be stored for Arm NN {self._version}: "
            f"{listed}{hint}",
            tuple(self._faults),
        )

    def _record(
        self, layer: Layer, scales: TensorInfo | None, ports: dict[Layer, int]
    ) -> FlatRecord:
        """Return one layer to be stored."""
        plan = self._plans.get(layer)
        kind = layer.type
        parameters = None
        members: dict[str, FlatRecord] = {}
        if plan is not None:
            kind, parameters, members = plan.kind, plan.finish(), plan.members
        elif kind == "Constant":
            data = layer.data
            assert data is not None  # every Constant layer has data
            info = layer.output.info
            members = {"input": constant_record(data, info, self._version, scales)}
        elif kind not in _PORTS:
            kind, parameters = "StandIn", self._extension(layer)
        base: dict[str, Any] = {
            "index": self._numbers[layer, scales],
            "name": layer.name,
            "type": LAYERS[kind].number,
            "input_slots": [
                self._input_slot(slot, value, plan)
                for slot, value in enumerate(self._inputs(layer, plan))
            ],
            "output_slots": [
                FlatRecord(
                    "OutputSlot",
                    {"index": slot, "info": info_record(info, self._version, scales)},
                )
                for slot, info in enumerate(layer.output_infos)
            ],
        }
        fields: dict[str, Any] = {"base": FlatRecord("Base", base), **members}
        if kind in _PORTS:
            port = {"base": fields["base"], "binding_id": ports[layer]}
            fields["base"] = FlatRecord("Port", port)
        if parameters is not None:
            fields["parameters"] = parameters
        table = FlatRecord(f"{kind}Layer", fields)
        return FlatRecord("AnyLayer", {"member": LAYERS[kind].member, "layer": table})

    def _extension(self, layer: Layer) -> FlatRecord:
        counts = {
            "num_inputs": len(self._inputs(layer, None)),
            "num_outputs": len(layer.outputs),
        }
        return FlatRecord("StandIn", {**counts, "beyond": extension_of(layer)})

    def _input_slot(self, slot: int, value: Value, plan: Plan | None) -> FlatRecord:
        scales = None if plan is None else plan.scales.get(slot)
        key = (value.producer, scales if value.producer.type == "Constant" else None)
        connection = (self._numbers[key], value.index)
        return FlatRecord("InputSlot", {"index": slot, "connection": connection})
