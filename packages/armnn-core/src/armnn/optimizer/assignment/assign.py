# SPDX-License-Identifier: MIT
"""The choice of a backend for each layer.

A layer is assigned to the first backend that supports it: the caller's choice is asked first, then
the layer's hint, then the other backends in the user's order. Afterwards, parts that have too few
layers, or less work than the copies at their borders, are handed back to a neighboring backend.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import closest
from armnn.backends import HOST_FACTORY_ID, ArrayHandle, Support
from armnn.errors import BackendError, InvalidArgumentError, OptimizationError
from armnn.graph import Layer, Network, Value
from armnn.graph.statistics import multiply_adds_of
from armnn.installing import BACKENDS, CPU_REF
from armnn.layers import Descriptor
from armnn.optimizer.assignment.conversions import Conversions, Preferred, probe
from armnn.optimizer.assignment.partition import partition
from armnn.optimizer.assignment.report import Refusal
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Candidate
from armnn.optimizer.symbolic.arithmetic import plain_outputs
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_api.processes.channel import text_of


class NetworkAnswers:
    """The answers of backends about the layers of a network, kept so that each is asked for once.

    A backend that answers for a whole network is asked about all layers at the first question. An
    answer stays valid as long as the layer has the same parameters, the same descriptions of
    inputs and outputs and the same constants, even if layers around it change. After a change of
    these, the backend is asked about this layer alone.
    """

    def __init__(self, network: Network, layers: Iterable[Layer]) -> None:
        """Ask no backend yet.

        Args:
            network: The network that backends are asked about.
            layers: The layers that need a backend.
        """
        self._network = network
        self._layers = tuple(layers)
        self._answers: dict[str, dict[Layer, tuple[_Offer, Support]]] = {}

    def of(self, candidate: Candidate, layer: Layer) -> Support:
        """Return the answer of a backend about a layer.

        Raises:
            BackendError: The backend failed instead of answering.
        """
        answers_of_backend = self._answers.get(candidate.id)
        if answers_of_backend is None:
            answers = candidate.query(self._network, self._layers)
            answers_of_backend = self._answers[candidate.id] = {
                each: (_offer_of(each), answer) for each, answer in answers.items()
            }
        offer, known = _offer_of(layer), answers_of_backend.get(layer)
        if known is not None and known[0] == offer:
            return known[1]
        answer = candidate.supports(layer)
        answers_of_backend[layer] = offer, answer
        return answer

    def adopt(self, candidate: Candidate, layer: Layer, answer: Support) -> None:
        """Use a backend's answer about an equal layer as its answer about this layer."""
        self._answers[candidate.id][layer] = _offer_of(layer), answer

    def ask_about(self, layers: Iterable[Layer]) -> None:
        """Set the layers about which a backend will be asked at the first question."""
        self._layers = tuple(layers)


_Offer: TypeAlias = "list[Descriptor | TensorInfo | Value | None]"
"""What an answer depends on: parameters, descriptions of inputs, constants, and outputs."""


def _offer_of(layer: Layer) -> _Offer:
    offer: _Offer = [layer.descriptor]
    # It is called several times for each layer: loops take half the time of comprehensions here.
    for value in layer.inputs:
        if value is None:
            offer.append(None)
            continue
        offer.append(value.info)
        if value.producer.data is not None:
            offer.append(value)
    for made in layer.outputs:
        offer.append(made.info)
    return offer


class Evaluator:
    """Computes layers with constant inputs during preparation.

    Layers whose results do not depend on rounding are computed here. Any other layer is computed by
    the first backend that supports it: CpuRef if it is installed, as it is the reference, then the
    backends of the network.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = tuple(candidates)

    def __call__(
        self, layer: Layer, spare: NDArray[Any] | None = None, /
    ) -> Sequence[NDArray[Any]] | None:
        """Return the data of the outputs, None if no backend computes them.

        Args:
            layer: The layer. Its inputs are constant or absent, the shapes of its outputs known.
            spare: The data of an input that no other layer reads; it may be overwritten by an
                output.
        """
        found = plain_outputs(layer, spare)
        if found is not None:
            return found
        for candidate in self._candidates:
            if candidate.supports(layer):
                return _compute(candidate, layer)
        return None


def _compute(candidate: Candidate, layer: Layer) -> Sequence[NDArray[Any]]:
    inputs = [
        None if value is None else ArrayHandle(value.info, np.asarray(value.constant))
        for value in layer.inputs
    ]
    arrays = [np.empty(i.static_shape, i.data_type.numpy_dtype) for i in layer.output_infos]
    outputs = [
        ArrayHandle(info, array) for info, array in zip(layer.output_infos, arrays, strict=True)
    ]
    step = candidate.bind(candidate.workload(layer), layer, inputs, outputs)
    try:
        step()
    except Exception as error:
        raise BackendError(
            f"backend {candidate.id!r} failed to compute the constant layer {layer.name!r} "
            f"({layer.type}): {text_of(error)}"
        ) from error
    return arrays


_HALVES = (DataType.FLOAT16, DataType.BFLOAT16)
"""The types of layers that may run in Float32 instead, between conversions."""

UNASSIGNED = frozenset(("Input", "Output", "Constant", "MemCopy", "MemImport"))
"""The types of layers that need no backend, as the runtime implements them."""


@dataclass(slots=True, eq=False)
class Assignment:
    """The state of the assignment of a network; ``layer.backend`` is the chosen backend.

    A layer that a backend runs in Float32 only is replaced by one in Float32 between conversions.

    Attributes:
        network: The network.
        answers: The backends' answers about the layers.
        candidates: The backends that may be chosen for any layer, in the order of preference.
        named: The backends that may be chosen only for layers that name them.
        preferred: Decides between types of conversions.
        conversions: The conversion layers of the network; None as long as it has none.
        refusals: By layer, the refusals of the backends that were asked before the chosen one.
        converted: By layer, the reason why it computes in Float32.
        successors: By replaced layer, the layers that replace it, in running order.
    """

    network: Network
    answers: NetworkAnswers
    candidates: tuple[Candidate, ...]
    named: tuple[Candidate, ...]
    preferred: Preferred
    conversions: Conversions | None = None
    refusals: dict[Layer, list[Refusal]] = field(default_factory=dict)
    converted: dict[Layer, str] = field(default_factory=dict)
    successors: dict[Layer, tuple[Layer, ...]] = field(default_factory=dict)
    _placed: dict[Layer, None] = field(default_factory=dict)
    _removed: dict[Layer, None] = field(default_factory=dict)

    def by_id(self, backend_id: str) -> Candidate | None:
        """Return the candidate with an id, None if no candidate has it."""
        for candidate in (*self.candidates, *self.named):
            if candidate.id == backend_id:
                return candidate
        return None

    def converter(self, info: TensorInfo, to: DataType, first: str) -> str | None:
        """Return the id of a backend that converts a tensor to a type, None if there is none.

        Args:
            info: The description of the tensor before the conversion.
            to: The type.
            first: The id of the backend that is asked first.
        """
        question = probe(self.converting().kind(info, to), info, to)
        order = sorted(self.candidates, key=lambda candidate: candidate.id != first)
        named = [each for each in self.named if each.id == first]
        return next((each.id for each in (*named, *order) if each.supports(question)), None)

    def refuse(self, layer: Layer, backend_id: str, reason: str) -> None:
        """Record a refusal; the backend is not asked again."""
        self.refusals.setdefault(layer, []).append(Refusal(backend_id, reason or "gave no reason"))

    def final(self, layers: Iterable[Layer]) -> Iterator[Layer]:
        """Yield the layers, with replaced layers as their successors, without removed layers."""
        for layer in layers:
            if layer in self.successors:
                yield from self.final(self.successors[layer])
            elif layer not in self._removed:
                yield layer

    def converting(self) -> Conversions:
        """Return the conversion layers of the network; the object is made if there is none."""
        if self.conversions is None:
            self.conversions = Conversions(self.network, self.preferred)
        return self.conversions

    def clean_conversions(self) -> None:
        """Remove conversion layers that are no longer needed."""
        if self.conversions is not None:
            self._removed.update(dict.fromkeys(self.conversions.clean()))

    def replace(self, layer: Layer, successors: Sequence[Layer], heir: Layer) -> None:
        """Record the layers that replace a layer.

        Args:
            layer: The replaced layer.
            successors: The layers that replace it. Some of them may replace another layer, too.
            heir: The successor to which the refusals of the replaced layer apply.
        """
        self.successors[layer] = tuple(each for each in successors if each not in self._placed)
        self._placed.update(dict.fromkeys(successors))
        if layer in self.refusals:
            self.refusals[heir] = self.refusals.pop(layer)

    def refused_by(self, layer: Layer) -> tuple[str, ...]:
        """Return the ids of the backends that refused a layer."""
        return tuple(refusal.backend for refusal in self.refusals.get(layer, ()))


def check_layer_names(network: Network, layer_backends: Mapping[str, str]) -> None:
    """Check that the layers for which the caller chose a backend are in the network.

    Raises:
        InvalidArgumentError: The network has no layer of a name; a similar name is suggested.
    """
    names = [layer.name for layer in network.layers if layer.type not in UNASSIGNED]
    for name in layer_backends:
        if name not in names:
            meant = closest(name, names, 0.6)
            hint = f"did you mean {meant!r}?" if meant else "armnn inspect lists the layers"
            raise InvalidArgumentError(
                f"a backend was chosen for layer {name!r}, which {network.title} "
                f"does not have; {hint}"
            )


def assign_backends(
    layers: Iterable[Layer], assignment: Assignment, options: OptimizerOptions
) -> None:
    """Set ``layer.backend`` for each layer without one.

    Raises:
        OptimizationError: No backend runs some layers; or, in strict mode, the backend that was
            asked first does not run some layers. The error lists these layers with the reason of
            each backend.
    """
    unsupported: list[Layer] = []
    fallbacks: list[Layer] = []
    usual = tuple({each.id: each for each in assignment.candidates}.items())
    for layer in layers:
        if layer.type in UNASSIGNED or layer.backend is not None:
            continue
        chosen = _choose(layer, assignment, _named(layer, assignment, options) or usual)
        if chosen is None:
            unsupported.append(layer)
            continue
        layer.backend, reason = chosen
        if options.strict and layer in assignment.refusals:
            fallbacks.append(layer)
        if reason:
            _convert_layer(layer, assignment, reason)
    assignment.clean_conversions()
    if unsupported:
        asked = [candidate.id for candidate in assignment.candidates]
        raise OptimizationError(
            f"no backend of [{', '.join(asked)}] runs {len(unsupported)} layer(s) of "
            f"{assignment.network.title}:\n"
            f"{_list_refusals(unsupported, assignment)}\n"
            f"{_advice(unsupported, assignment)}"
        )
    if fallbacks:
        raise OptimizationError(
            f"strict mode: {len(fallbacks)} layer(s) of {assignment.network.title} do not run on "
            "the backend that was asked first:\n"
            f"{_list_refusals(fallbacks, assignment)}\n"
            "Choose another backend for them (layer_backends=), or leave strict=True out to let "
            "them fall back."
        )


def _choose(
    layer: Layer, assignment: Assignment, order: Sequence[tuple[str, Candidate | None]]
) -> tuple[str, str] | None:
    """Return the id of the backend for a layer, and the reason why it runs in Float32, or "".

    Args:
        layer: The layer.
        assignment: The assignment, which records the refusals.
        order: The backends to ask, by id; None for an unknown id.
    """
    refused = assignment.refused_by(layer)
    for backend_id, candidate in order:
        if backend_id in refused:
            continue
        if candidate is None:
            known = [each.id for each in (*assignment.candidates, *assignment.named)]
            meant = closest(backend_id, known)
            hint = f"; did you mean {meant!r}?" if meant else ""
            reason = f"is not one of the backends of this runtime{hint}"
            assignment.refuse(layer, backend_id, reason)
            continue
        answer = assignment.answers.of(candidate, layer)
        if answer:
            return backend_id, ""
        if _runs_converted(layer, candidate, assignment):
            return backend_id, answer.reason or "gave no reason"
        assignment.refuse(layer, backend_id, answer.reason)
    return None


def _runs_converted(layer: Layer, candidate: Candidate, assignment: Assignment) -> bool:
    """Return whether a backend runs a layer in Float32, between conversions.

    The backend must support the layer in Float32, and some backend each of the conversions.
    """
    types = {info.data_type for info in (*layer.input_infos, *layer.output_infos) if info}
    if types.isdisjoint(_HALVES):
        return False
    twin = assignment.converting().twin(layer, _HALVES, DataType.FLOAT32)
    if twin is None or not candidate.supports(twin):
        return False
    computed = [value.info for value in layer.inputs if value and value.constant is None]
    ways = [(info, DataType.FLOAT32) for info in computed]
    ways += [(info.with_data_type(DataType.FLOAT32), info.data_type) for info in layer.output_infos]
    needed = dict.fromkeys(way for way in ways if {way[0].data_type, way[1]} & {*_HALVES})
    return all(assignment.converter(info, to, candidate.id) is not None for info, to in needed)


def _convert_layer(layer: Layer, assignment: Assignment, reason: str) -> None:
    """Let a layer compute in Float32 between conversions.

    (Arm NN does so in AssignBackends.) A conversion runs on the layer's backend if that supports
    it, else on the first backend that does.
    """
    backend = layer.backend or ""
    new = assignment.converting().compute_in(layer, _HALVES, DataType.FLOAT32)
    if new is None:
        return
    before, after = assignment.converting().around(new)
    for each in (*before, *after):
        if each.backend is None:
            (info,) = each.input_infos
            to = each.output.info.data_type
            each.backend = None if info is None else assignment.converter(info, to, backend)
    halves = dict.fromkeys(
        info.data_type.arm_name for info in layer.output_infos if info.data_type in _HALVES
    )
    types = " and ".join(halves) or "16 bits"
    assignment.converted[new] = f"computes in Float32: {backend} refuses {types}: {reason}"
    assignment.replace(layer, (*before, new, *after), new)


def _named(
    layer: Layer, assignment: Assignment, options: OptimizerOptions
) -> Sequence[tuple[str, Candidate | None]]:
    """Return the backends to ask if the options or the layer's hint name one, else none.

    The named backends come first, then the others in the order of preference.
    """
    named = (options.layer_backends.get(layer.name), layer.backend_hint)
    if named == (None, None):  # the usual case
        return ()
    order = {each: assignment.by_id(each) for each in named if each is not None}
    for candidate in assignment.candidates:
        order.setdefault(candidate.id, candidate)
    return tuple(order.items())


def _advice(layers: Sequence[Layer], assignment: Assignment) -> str:
    """Return the last line of the error about layers that no backend runs: what to do now."""
    if all(CPU_REF in assignment.refused_by(layer) for layer in layers):
        return (
            f"{CPU_REF}, which runs every type of layer, refused them as well: change in the "
            "model what the reasons name."
        )
    return (
        f"Add {CPU_REF} to the backends ({BACKENDS[CPU_REF]} brings it): it runs every type of "
        "layer."
    )


def _list_refusals(layers: Sequence[Layer], assignment: Assignment) -> str:
    """Return a line for each reason, with the layers that have it."""
    alike: dict[str, list[str]] = {}
    for layer in layers:
        refusals = assignment.refusals.get(layer, ())
        reasons = "; ".join(f"{each.backend}: {each.reason}" for each in refusals)
        alike.setdefault(reasons, []).append(f"{layer.name!r} ({layer.title})")
    return "\n".join(f"- {_listed(names)}: {reasons}" for reasons, names in alike.items())


_MOST_NAMES = 3
"""The most layers that an error names for one reason."""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    if len(names) <= _MOST_NAMES:
        return shown
    return f"{len(names)} layers, {shown} and {len(names) - _MOST_NAMES} more"


def hand_back_islands(network: Network, assignment: Assignment, min_part: int) -> int:
    """Hand parts with few layers back to the backend of a neighboring part.

    A part is a connected group of layers on one backend. A small part is handed back if the backend
    of a neighboring part runs all of its layers, so that no tensor crosses a border there. The
    smallest part is handed back first, as the part that it joins grows. A part with a layer that
    was placed by name stays.

    Args:
        network: The network, whose layers are assigned to backends.
        assignment: The assignment, which records the reasons.
        min_part: The number of layers from which on a part stays.

    Returns:
        The number of parts that were handed back.
    """
    changes = 0
    while _hand_back_smallest(network, assignment, min_part):
        changes += 1
    return changes


def _hand_back_smallest(network: Network, assignment: Assignment, min_part: int) -> bool:
    parts = partition(network, lambda layer: layer.backend)
    for layers in sorted(parts, key=len):
        if len(layers) >= min_part:
            return False
        taker = _taker(layers, assignment, assignment.candidates)
        if taker is None:
            continue
        reason = f"its part has {_count_of(layers)}, fewer than min_part={min_part}"
        _hand_back(layers, taker, reason, assignment)
        return True
    return False


def hand_back_light_parts(network: Network, assignment: Assignment) -> int:
    """Hand parts on a device back to a neighboring host backend if copies would take longer.

    It concerns backends that state the latency of a copy to or from their memory
    (:attr:`armnn.backends.Capability.COPY_LATENCY_BYTES`). A part on such a backend is handed back
    if its layers are less work for the host than the copies that this saves. Work is measured in
    bytes that are copied in the same time. That of layers is the bytes of their outputs, as memory
    bandwidth limits most layers on a host, and one byte for each :data:`_PRODUCTS_PER_BYTE`
    multiply-adds. A part stays if a layer of it was placed by name, if no neighboring backend in
    host memory runs all of its layers, or if a size is not known.

    Args:
        network: The network, whose layers are assigned to backends.
        assignment: The assignment, which records the reasons.

    Returns:
        The number of parts that were handed back.
    """
    everyone = {each.id: each for each in (*assignment.candidates, *assignment.named)}
    used = dict.fromkeys(layer.backend for layer in network.layers if layer.backend is not None)
    latencies = {each: everyone[each].copy_latency_bytes for each in used if each in everyone}
    if len(latencies) < 2 or not any(latencies.values()):
        return 0
    hosts = [each for each in assignment.candidates if each.memory == HOST_FACTORY_ID]
    changes, before = 0, -1
    while before < changes:
        before = changes
        for layers in partition(network, lambda layer: layer.backend):
            latency = latencies.get(layers[0].backend or "", 0)
            taker = _taker(layers, assignment, hosts) if latency else None
            if taker is None:
                continue
            reason = _too_light(layers, everyone, latency)
            if reason:
                _hand_back(layers, taker, reason, assignment)
                changes += 1
    return changes


_PRODUCTS_PER_BYTE = 4
"""The number of multiply-adds that a host computes in the time in which a byte is copied.

In a nanosecond, one core of a server computes 10 to 40 multiply-adds, and 5 to 20 bytes are copied
to or from a device. Several cores compute more: the low number favors that parts stay on a device.
"""


def _too_light(
    layers: Sequence[Layer], everyone: Mapping[str, Candidate], latency: int
) -> str | None:
    """Return the reason why the host should run a part, None if it should not or may not."""
    inside = set(layers)
    made = [info for layer in layers for info in layer.output_infos]
    values = dict.fromkeys(
        value
        for layer in layers
        for value in (*layer.inputs, *layer.outputs)
        if value is not None and value.constant is None
    )
    crossing = [value.info for value in values]
    products = [multiply_adds_of(layer) for layer in layers]
    if not all(info.is_static for info in (*made, *crossing)) or None in products:
        return None
    count, copies, size, saved = sum(each or 0 for each in products), 0, 0, 0
    for value in values:
        more = _copies(value, everyone, frozenset()) - _copies(value, everyone, inside)
        copies += more
        size += more * value.info.size_bytes
        saved += more * max(value.info.size_bytes, latency)
    results = sum(info.size_bytes for info in made)
    if results + count // _PRODUCTS_PER_BYTE >= saved:
        return None
    return (
        f"its part ({_count_of(layers)}, {count} multiply-adds, {results} bytes of results) is "
        f"less work than the {copies} copies ({size} bytes) that moving it saves"
    )


def _copies(value: Value, everyone: Mapping[str, Candidate], on_host: Collection[Layer]) -> int:
    """Return the number of copies of a value: the kinds of memory in which only readers use it.

    Args:
        value: The value.
        everyone: The backends, by id.
        on_host: Layers that are taken to run in host memory, whatever their backends.
    """

    def kind(layer: Layer, index: int, is_read: bool) -> str:
        candidate = None if layer in on_host else everyone.get(layer.backend or "")
        if candidate is None or index in candidate.places_on_host(layer)[not is_read]:
            return HOST_FACTORY_ID
        return candidate.memory

    home = kind(value.producer, value.index, False)
    return len({kind(reader, index, True) for reader, index in value.uses} - {home})


def _hand_back(
    layers: Sequence[Layer], taker: Candidate, reason: str, assignment: Assignment
) -> None:
    for layer in layers:
        assignment.refuse(layer, layer.backend or "", reason)
        layer.backend = taker.id


def _count_of(layers: Sequence[Layer]) -> str:
    return "1 layer" if len(layers) == 1 else f"{len(layers)} layers"


def _taker(
    layers: Sequence[Layer], assignment: Assignment, among: Iterable[Candidate]
) -> Candidate | None:
    """Return the first backend that has a neighboring part and runs all layers of this part."""
    if any(layer.backend_hint == layer.backend for layer in layers):
        return None
    refused = {backend for layer in layers for backend in assignment.refused_by(layer)}
    around = _neighbors(layers) - refused
    for candidate in among:
        if candidate.id in around and all(assignment.answers.of(candidate, e) for e in layers):
            return candidate
    return None


def _neighbors(layers: Sequence[Layer]) -> set[str]:
    """Return the ids of the backends of the layers around a part."""
    inside = set(layers)
    producers = {value.producer for layer in layers for value in layer.inputs if value is not None}
    readers = {each for layer in layers for value in layer.outputs for each in value.consumers}
    return {each.backend for each in (producers | readers) - inside if each.backend is not None}
