# SPDX-License-Identifier: MIT
"""Networks loaded on the backends that are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.debugging.reference import is_real
from armnn.errors import ExecutionError, GraphError
from armnn.graph import Network
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.phases import prepare_network, prepare_specialisation
from armnn.optimizer.shapes.sharing import SharedConstants
from armnn.optimizer.shapes.specialise import value_inputs
from armnn.runtime.backends_in_use import BackendEvents, BackendsInUse
from armnn.runtime.memory.strategies import MemoryStrategies
from armnn.runtime.plans.closing import Closing
from armnn.runtime.plans.plan import Plan
from armnn.runtime.request import checked_request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends import CreationOptions, TensorHandle
    from armnn.graph import Layer, Value
    from armnn.optimizer import Candidate, Participants, Prepared, ReportRow
    from armnn.tensor import TensorInfo

    Arrays = Mapping[str, NDArray[Any]]

Observer = Callable[["Value", "NDArray[Any]"], object]
"""Is called with each value that a step has computed, and its data."""


class Bench:
    """The backends under test, opened once.

    Attributes:
        options: How networks are prepared.
        runs: How often a network has run.
    """

    def __init__(
        self, backends: Sequence[str], options: OptimizerOptions, creation: CreationOptions
    ) -> None:
        self.options = replace(options, debug=False, debug_to_file=False)
        self.runs = 0
        self._backends = tuple(backends)
        self._creation = creation
        self._in_use = BackendsInUse(creation)
        self._strategies = MemoryStrategies(creation.memory_strategy, creation.memory_strategies)
        self._loads = 0

    def candidate(self, backend: str, network: Network) -> Candidate:
        """Return a backend with its context for a network.

        Raises:
            BackendError: It does not exist, or cannot be used.
        """
        return self._participants([backend], OptimizerOptions(), network).candidates[0]

    def load(self, network: Network, inputs: Arrays) -> LoadedPart:
        """Load a network as its user would.

        Raises:
            ArmnnError: It cannot be prepared for these inputs.
        """
        return self._load(network, inputs, self._backends, self.options)

    def load_alone(self, network: Network, inputs: Arrays, backend: str) -> LoadedPart:
        """Load layers that were prepared before, on one backend only.

        Raises:
            ArmnnError: The backend refuses them, or fails.
        """
        chosen = self.options.model_options.get(backend)
        options = OptimizerOptions(
            rewrite=False, model_options={} if chosen is None else {backend: chosen}
        )
        return self._load(network, inputs, (backend,), options)

    def close(self) -> None:
        """Close the backends."""
        self._in_use.close()

    def _participants(
        self, backends: Sequence[str], options: OptimizerOptions, network: Network
    ) -> Participants:
        request = checked_request(backends, options, {}, None, None)
        return self._in_use.participants(network, request, None, None)

    def _load(
        self, network: Network, inputs: Arrays, backends: Sequence[str], options: OptimizerOptions
    ) -> LoadedPart:
        participants = self._participants(backends, options, network)
        self._loads += 1
        events = BackendEvents(self._loads, self._in_use.contexts_of(participants))
        shown: list[Network] = []
        source = prepare_network(network.clone(), participants, options)
        arrays = {layer.name: inputs[layer.name] for layer in source.inputs}
        limits = value_inputs(source)
        prepared = prepare_specialisation(
            source,
            {name: array.shape for name, array in arrays.items()},
            {name: arrays[name] for name, most in limits.items() if arrays[name].size <= most},
            participants,
            options,
            SharedConstants(),
            "",
            before_backends=lambda head: shown.append(head.clone()),
        )
        return LoadedPart(self, prepared, shown[0], participants, events)

    def _plan(self, prepared: Prepared, participants: Participants, loaded: LoadedPart) -> Plan:
        allocators = self._creation.custom_allocators
        return Plan(prepared, participants, allocators, self._strategies, watch=loaded.after_layer)


class LoadedPart:
    """A network, or its first segment, on its backends.

    Attributes:
        layers: The network as backends got it; its layers have their backends.
        rows: The report's row of each layer by name.
        rest: What can only be prepared when this part has run, if anything.
        crossing: The names of this part's outputs that the rest reads.
        observer: Gets the values at the borders of compiled parts, as those of ``layers``.
    """

    def __init__(
        self,
        bench: Bench,
        prepared: Prepared,
        layers: Network,
        participants: Participants,
        events: BackendEvents,
    ) -> None:
        self.layers = layers
        self.rows: dict[str, ReportRow] = {row.layer: row for row in prepared.report}
        self.rest = prepared.segments.rest
        self.crossing = prepared.segments.crossing
        self.observer: Observer | None = None
        self._bench = bench
        self._network = prepared.network
        self._inputs = [layer.name for layer in prepared.network.inputs]
        self._stands_for = dict(prepared.borders)
        self._values = {
            (layer.name, value.index): value
            for layer in layers.layers
            if layer.type not in ("Input", "Output")
            for value in layer.outputs
        }
        self._events = events
        events.before_load()
        self._plan = bench._plan(prepared, participants, self)
        events.after_load()

    def run(self, inputs: Arrays) -> dict[str, NDArray[Any]]:
        """Run it once.

        Raises:
            ExecutionError: A layer failed; the message names it.
        """
        self._bench.runs += 1
        try:
            context = self._plan.acquire()
        except Exception as error:  # a backend may refuse the tensors in any way
            raise ExecutionError(f"a backend does not take its tensors: {error}") from error
        try:
            outputs = context.run([inputs[name] for name in self._inputs], None)
        except BaseException:
            context.close()
            raise
        self._plan.release(context)
        self._events.after_run()
        return outputs

    def after_layer(self, layer: Layer, outputs: Sequence[TensorHandle]) -> None:
        """Show the observer what a step has computed."""
        if self.observer is None:
            return
        for value, handle in zip(layer.outputs, outputs, strict=True):
            place = self._stands_for.get(value, (layer.name, value.index))
            known = self._values.get(place)
            if known is None or known.info.data_type is not value.info.data_type:
                continue  # a copy between memories, or a layer that only the backend knows
            try:
                self.observer(known, handle.map())
            finally:
                handle.unmap()

    def close(self) -> None:
        """Free its memory."""
        closing = Closing("a compared network")
        self._events.unload(self._plan.close, closing)
        closing.end()


def fragment(source: Network, layers: Sequence[Layer]) -> tuple[Network, dict[str, Value]]:
    """Return some layers as a network of their own.

    Args:
        source: Their network.
        layers: In topological order.

    Returns:
        The network, whose outputs are the values that others read, by the name of the value; and
        the value whose place each of its inputs takes.

    Raises:
        GraphError: Nothing reads what they compute.
    """
    network = Network(source.name)
    network.quantized_arithmetic = source.quantized_arithmetic
    inside = dict.fromkeys(layers)
    inputs: dict[str, Value] = {}
    replacements: dict[Value, Value] = {}
    for layer in layers:
        for value in layer.inputs:
            if value is None or value in replacements or value.producer in inside:
                continue
            if value.constant is not None:
                replacements[value] = network.add_constant(value.constant, value.info)
            else:
                name = f"input {len(inputs)}"
                inputs[name] = value
                replacements[value] = network.add_input(name, value.info)
    made = network.insert_copies(layers, replacements)
    for layer in network.layers:
        layer.backend = layer.backend_hint = None
    for value in border_values(layers):
        network.add_output(value.name, made[value])
    if not network.outputs:
        raise GraphError(f"nothing reads the layers from {layers[0].name!r} on")
    return network, inputs


def border_values(layers: Sequence[Layer]) -> list[Value]:
    """Return the values of layers that other layers read."""
    inside = dict.fromkeys(layers)
    return [
        value
        for layer in layers
        for value in layer.outputs
        if any(reader not in inside for reader, _ in value.uses)
    ]


def disturbed(network: Network, inputs: Arrays, *, negated: bool = False) -> Arrays:
    """Return inputs with other real values: a stale result shows.

    Args:
        network: Says which inputs are real values; indices and shapes stay as they are.
        inputs: One array per input.
        negated: Whether the values have the other sign, rather than the reverse order.
    """
    infos = {layer.name: layer.output.info for layer in network.inputs}
    return {
        name: _disturbed(inputs[name], info, negated) if is_real(info) else inputs[name]
        for name, info in infos.items()
    }


def _disturbed(array: NDArray[Any], info: TensorInfo, negated: bool) -> NDArray[Any]:
    if negated:
        other: NDArray[Any] = ~array if info.is_quantized else -array
        return other
    return np.ascontiguousarray(array.reshape(-1)[::-1].reshape(array.shape))
