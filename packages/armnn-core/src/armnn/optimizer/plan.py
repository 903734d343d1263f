# SPDX-License-Identifier: MIT
"""The plan of a network for one set of input shapes: what runs, in which order, on which tensors.

A plan needs no graph. If backends compiled all layers, it is built from the rows of a stored file,
or from another plan for new shapes. The graph is made when something asks for it, such as the
report: importing the modules of graphs and layers takes longer than loading a program.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # a prepared load imports no graph, and of the optimizer only this
    from armnn.graph import Layer, Network, Value
    from armnn.graph.aliases import Aliases
    from armnn.optimizer.assignment.boundaries import MemoryAssignment
    from armnn.optimizer.assignment.report import Report
    from armnn.tensor import TensorInfo
    from armnn.types import QuantizedArithmetic


CARRIERS: Final = ("MemCopy", "MemImport")
"""The layers that bring a tensor into another kind of memory; the runtime itself runs them."""


Count: TypeAlias = Literal["first", "last", "count", "mask", "places"]
"""What an input tells a run about the rows of its caches; see :func:`write_count`."""


def write_count(kind: Count, array: NDArray[Any], valid: int, rows: int) -> None:
    """Write the facts of a run about the rows of a cache into an input.

    Args:
        kind: "first": the index of the first row that the run writes. "last": that of its last row.
            "places": the index of each of its rows, along the last axis. "count": how many rows are
            valid after the run. "mask": along the last axis, 1 for each row that is valid after the
            run, 0 for the rest of the capacity.
        array: The input.
        valid: How many rows earlier runs wrote.
        rows: How many rows the run writes.
    """
    if kind == "mask":
        array[..., : valid + rows] = 1
        array[..., valid + rows :] = 0
    elif kind == "places":
        array[...] = np.arange(valid, valid + rows)
    else:
        array[...] = valid + {"first": 0, "last": rows - 1, "count": rows}[kind]


class Counter(NamedTuple):
    """An input that tells a run which rows of a cache it writes; ``kind`` says in which form."""

    input: str
    kind: Count


class Cache(NamedTuple):
    """An input that differs in some rows only from an output, as keys and values of earlier tokens.

    Attributes:
        output: The output.
        axis: The axis of the rows.
        rows: How many rows a run writes: a number, or the name of an input and the axis of it that
            has as many elements. None if that is not known.
        counters: The inputs that tell a run where its rows go and how many there are. There are
            none where the cache does not fill up, but is only written in place.
    """

    output: str
    axis: int
    rows: int | tuple[str, int] | None
    counters: tuple[Counter, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class NetworkFacts:
    """The facts of a network for all input shapes.

    Attributes:
        name: Its name.
        metadata: The metadata of the model's file.
        inputs: The inputs by name; dimensions may be unknown.
        outputs: The outputs by name.
        value_inputs: The inputs whose values decide about shapes, with the number of elements that
            each may have.
        is_static: Whether there is one set of input shapes only, and no value decides about shapes.
        quantized_arithmetic: How quantized layers round.
        aliases: Second names of inputs and outputs.
        caches: The inputs of which an output is a copy with some rows replaced.
    """

    name: str
    metadata: Mapping[str, str]
    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    value_inputs: Mapping[str, int]
    is_static: bool
    quantized_arithmetic: QuantizedArithmetic
    aliases: Aliases
    caches: Mapping[str, Cache] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """The tensor that an inserted Debug layer shows.

    It is the ``compiled`` of the Debug layer, which the runtime itself runs.

    Attributes:
        layer: The name of the layer that makes the tensor.
        slot: Which of its outputs it is.
    """

    layer: str
    slot: int


@dataclass(slots=True, eq=False)
class PlannedTensor:
    """A tensor of a plan, in one kind of memory.

    Attributes:
        name: For messages: that of the layer that makes it, with a number among several outputs.
        info: Its shape, data type and quantization.
        factory: The id of the factory of its tensor handles.
        owner: The id of the backend that makes it, or reads it first where none does; "" for the
            host.
        constant: Its data, if that does not depend on the inputs.
    """

    name: str
    info: TensorInfo
    factory: str
    owner: str = ""
    constant: NDArray[Any] | None = None


@dataclass(slots=True, eq=False)
class PlannedLayer:
    """A layer of a plan: a program, a layer of the network, or a copy between memories.

    Attributes:
        name: Its name.
        type: The name of the layer type, or of the operator that a compiled part came from; see
            ``title`` of :class:`armnn.graph.Layer`.
        backend: The id of the backend that runs it; "" for the runtime itself.
        inputs: The tensors that it reads; None for an input that is left out.
        outputs: The tensors that it writes.
        compiled: The program that stands in its place, or the Observation of a Debug layer.
        layer: The layer of the network, where the plan was made from one.
    """

    name: str
    type: str
    backend: str
    inputs: tuple[PlannedTensor | None, ...]
    outputs: tuple[PlannedTensor, ...]
    compiled: object = None
    layer: Layer | None = None


@dataclass(slots=True, eq=False)
class Plan:
    """A network, or its first segment, ready to be loaded.

    Attributes:
        name: The network's name.
        inputs: The inputs of the network by name.
        outputs: Its outputs by name; None for an output that no layer of the plan makes.
        layers: The layers to run, in this order.
        make_report: Returns which layer runs where, and why.
        make_network: Makes the graph; it is called once at most.
        rest: The segments that wait for outputs of this one; None if it is the last.
        crossing: The outputs that ``rest`` reads.
        has_refusals: Whether a backend refused a layer that another one runs. It is set where plans
            for other shapes are made from this one.
        is_derived: Whether it was made from the plan of other shapes, or read from a file, and so
            freed no weights of the network.
        in_place: By output, the input whose memory it may have: the layer that makes the output
            writes only the elements that change, and no other layer reads the input.
        borders: By value at the border of a compiled part, the original layer and the index of the
            output that the value stands for; empty unless they were asked for.
    """

    name: str
    inputs: dict[str, PlannedTensor]
    outputs: dict[str, PlannedTensor | None]
    layers: list[PlannedLayer]
    make_report: Callable[[], Report]
    make_network: Callable[[], Network]
    rest: Network | None = None
    crossing: tuple[str, ...] = ()
    has_refusals: bool = False
    is_derived: bool = False
    in_place: Mapping[str, str] = field(default_factory=dict)
    borders: Mapping[Value, tuple[str, int]] = field(default_factory=dict)
    _network: Network | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def report(self) -> Report:
        """The backend of each layer, and why."""
        return self.make_report()

    @property
    def network(self) -> Network:
        """The graph, each layer with its backend."""
        with self._lock:
            if self._network is None:
                self._network = self.make_network()
            return self._network

    def clear(self) -> None:
        """Remove all layers, so that their memory is freed at once."""
        self.layers.clear()
        for graph in (self._network, self.rest):
            if graph is not None:
                graph.clear()


def in_place_outputs(network: Network) -> dict[str, str]:
    """Return the outputs that may be in the memory of an input, each with that input.

    Args:
        network: The network before parts of it are compiled.
    """
    found: dict[str, str] = {}
    for layer in network.outputs:
        (made,) = layer.inputs
        slot = "" if made is None else made.producer.spec.in_place
        if made is None or not slot or made.index:
            continue
        given = made.producer.input(slot)
        is_only_read = given is not None and len(given.uses) == 1
        if given is not None and is_only_read and given.producer.type == "Input":
            found[layer.name] = given.producer.name
    return found


def plan_of(
    network: Network,
    memory: MemoryAssignment,
    make_report: Callable[[], Report],
    rest: Network | None = None,
    crossing: tuple[str, ...] = (),
) -> Plan:
    """Return the plan of a graph.

    Args:
        network: Every layer knows its backend.
        memory: The memory of its tensors.
        make_report: See :class:`Plan`.
        rest: See :class:`Plan`.
        crossing: See :class:`Plan`.
    """
    tensors: dict[Value, PlannedTensor] = {}
    constants: dict[tuple[Value, str], PlannedTensor] = {}

    def read(layer: Layer, index: int) -> PlannedTensor | None:
        value = layer.inputs[index]
        if value is None or value.constant is None:
            return None if value is None else tensors[value]
        factory = memory.factory_of_constant(layer, index)
        if (value, factory) not in constants:
            owner, data = layer.backend or "", value.constant
            constants[value, factory] = PlannedTensor(value.name, value.info, factory, owner, data)
        return constants[value, factory]

    plan = Plan(network.name, {}, {}, [], make_report, lambda: network, rest, crossing)
    plan._network = network
    for layer in network.topological_order():
        if layer.data is not None or layer.type == "Output":
            continue
        for value in layer.outputs:
            factory = memory.factories[value]
            tensors[value] = PlannedTensor(value.name, value.info, factory, owner_of(value))
        if layer.type == "Input":
            continue
        plan.layers.append(
            PlannedLayer(
                layer.name,
                layer.title,
                layer.backend or "",
                tuple([read(layer, index) for index in range(len(layer.inputs))]),
                tuple([tensors[value] for value in layer.outputs]),
                layer.compiled,
                layer,
            )
        )
    plan.inputs.update({layer.name: tensors[layer.output] for layer in network.inputs})
    plan.outputs.update({each.name: read(each, 0) for each in network.outputs})
    return plan


def owner_of(value: Value) -> str:
    """Return the backend of a value's producer or first reader, "" if it has none."""
    if value.producer.backend is not None:
        return value.producer.backend
    return next((reader.backend for reader, _ in value.uses if reader.backend is not None), "")
