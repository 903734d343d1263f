# SPDX-License-Identifier: MIT
"""Networks loaded on the backends that are compared."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import CreationOptions, TensorHandle
from armnn.errors import ExecutionError, GraphError
from armnn.graph import Layer, Network, Value
from armnn.optimizer import Candidate, OptimizerOptions, Participants, Plan, ReportRow
from armnn.optimizer.phases import (
    layers_before_backends,
    prepare_network,
    prepare_specialization,
)
from armnn.optimizer.shapes.specialize import SharedConstants, value_inputs
from armnn.runtime.backends_in_use import BackendEvents, BackendsInUse
from armnn.runtime.closing import Closing
from armnn.runtime.engine import LoadedPlan
from armnn.runtime.planner import MemoryStrategies
from armnn.runtime.request import checked_request
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_tools.debugging.reference import is_real

Arrays = Mapping[str, NDArray[Any]]

COLLECTED_BYTES = 2 * 2**20
"""Weights of a closed part from which on its memory is asked for at once."""

ValueKey = tuple[str, int]
"""The name of the layer that makes a value, and which of its outputs it is."""

Observer = Callable[[ValueKey, "DataType", "NDArray[Any]"], object]
"""Is called with the key of each value that a step has computed, its type and its data."""


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

    def layers(self, network: Network, inputs: Arrays) -> tuple[Network, Network | None]:
        """Return a network's layers as backends get them, and the rest, which waits for their data.

        Raises:
            ArmnnError: It cannot be prepared for these inputs.
        """
        network = network.clone()
        participants = self._participants(self._backends, self.options, network)
        shapes = {layer.name: inputs[layer.name].shape for layer in network.inputs}
        values = _deciding_values(network, inputs)
        try:
            return layers_before_backends(
                network, shapes, participants, self.options, values, may_change=True
            )
        finally:
            network.clear()  # its layers refer to each other, and to the weights

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
        network = network.clone()
        participants = self._participants(backends, options, network)
        self._loads += 1
        events = BackendEvents(self._loads, self._in_use.contexts_of(participants))
        network = prepare_network(network, participants, options)
        infos = {layer.name: layer.output.info for layer in network.inputs}
        weighs = sum(0 if layer.data is None else layer.data.nbytes for layer in network.layers)
        plan = prepare_specialization(
            network,
            {name: inputs[name].shape for name in infos},
            _deciding_values(network, inputs),
            participants,
            options,
            SharedConstants(),
            "",
            may_change=True,
            before_backends=_unseen,
        )
        return LoadedPart(self, plan, infos, weighs, participants, events)

    def _loaded(self, plan: Plan, participants: Participants, part: LoadedPart) -> LoadedPlan:
        allocators = self._creation.custom_allocators
        return LoadedPlan(plan, participants, allocators, self._strategies, watch=part.after_layer)


class LoadedPart:
    """A network, or its first segment, on its backends.

    Attributes:
        inputs: Its inputs by name.
        rows: The report's row of each layer by name.
        observer: Gets the values at the borders of compiled parts, by their keys.
    """

    def __init__(
        self,
        bench: Bench,
        plan: Plan,
        inputs: Mapping[str, TensorInfo],
        weighs: int,
        participants: Participants,
        events: BackendEvents,
    ) -> None:
        self.inputs = inputs
        self.rows: dict[str, ReportRow] = {row.layer: row for row in plan.report}
        self.observer: Observer | None = None
        self._bench = bench
        self._weighs = weighs
        self._inputs = list(plan.inputs)
        self._stands_for = dict(plan.borders)
        self._events = events
        events.before_load()
        self._plan = bench._loaded(plan, participants, self)
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
        """Show the observer the results of a step."""
        if self.observer is None:
            return
        for value, handle in zip(layer.outputs, outputs, strict=True):
            key = self._stands_for.get(value, (layer.name, value.index))
            if key[0] not in self.rows:
                continue  # a copy between memories, or a layer that only the backend knows
            try:
                self.observer(key, value.info.data_type, handle.map())
            finally:
                handle.unmap()

    def close(self) -> None:
        """Free its memory."""
        closing = Closing("a compared network")
        self._events.unload(self._plan.close, closing)
        closing.end()
        del self._plan  # which refers to this object
        self._stands_for.clear()  # it refers to compiled layers
        if self._weighs > COLLECTED_BYTES:
            # Compiled layers refer to each other: without this their programs would stay.
            gc.collect()


def fragment(source: Network, layers: Sequence[Layer]) -> tuple[Network, dict[str, Value]]:
    """Return some layers as a network of their own.

    Args:
        source: Their network.
        layers: In topological order.

    Returns:
        The network, whose outputs are the values that others read, by the name of the value; and
        the value that each of its inputs stands for.

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
        raise GraphError(f"no layer or output reads the layers from {layers[0].name!r} on")
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


def disturbed(infos: Mapping[str, TensorInfo], inputs: Arrays, *, negated: bool = False) -> Arrays:
    """Return inputs with other real values: a stale result shows.

    Args:
        infos: Say which inputs are real values; indices and shapes stay as they are.
        inputs: One array per input.
        negated: Whether all values are the largest one with the other sign, rather than in the
            reverse order.

    Returns:
        Views, which take no memory.
    """
    return {
        name: _disturbed(inputs[name], info, negated) if is_real(info) else inputs[name]
        for name, info in infos.items()
    }


def _deciding_values(network: Network, inputs: Arrays) -> Arrays:
    """Return the data of small inputs that decide about shapes."""
    limits = value_inputs(network)
    return {name: inputs[name] for name, most in limits.items() if inputs[name].size <= most}


def _unseen(_: Network) -> None:
    """Ignore the layers: only the keys of borders are wanted."""


def _disturbed(array: NDArray[Any], info: TensorInfo, negated: bool) -> NDArray[Any]:
    if not negated or not array.size:
        return array[(slice(None, None, -1),) * array.ndim]
    extremes = (each.reduce(array, axis=None) for each in (np.fmin, np.fmax))  # but for NaN
    largest = max(extremes, key=lambda each: abs(float(each)))
    return np.broadcast_to(~largest if info.is_quantized else -largest, array.shape)
