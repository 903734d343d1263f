# SPDX-License-Identifier: MIT
"""The choice of a backend for each layer.

Backends are asked about the layers; the caller's choice comes first, then a layer's hint, then the
user's order of backends. Parts that are too small, or too little work for the copies at their
borders, go back to the backends around them.
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
    """Backends' answers about a network's layers, each given once.

    A backend that answers for a whole network is asked about all layers when it is first asked
    about one of them. An answer holds as long as the layer has the parameters, the kinds of inputs
    (constant ones: the same values) and the kinds of outputs that the backend saw, whatever
    becomes of the layers around it. After that, the backend is asked about the layer alone.
    """

    def __init__(self, network: Network, layers: Iterable[Layer]) -> None:
        """Ask no backend yet.

        Args:
            network: The network, as backends are to see it.
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
        """Note a backend's earlier answer about an equal layer."""
        self._answers[candidate.id][layer] = _offer_of(layer), answer

    def ask_about(self, layers: Iterable[Layer]) -> None:
        """Ask backends that were not asked before about these layers."""
        self._layers = tuple(layers)


_Offer: TypeAlias = "list[Descriptor | TensorInfo | Value | None]"
"""The facts that an answer depends on: parameters, inputs with those that are constant, outputs."""


def _offer_of(layer: Layer) -> _Offer:
    offer: _Offer = [layer.descriptor]
    # Asked of each layer several times: comprehensions and properties take twice the time.
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

    Layers whose results have only one right value are computed here. Any other layer is computed
    by the first backend that supports it: CpuRef, if it is there, as it defines what is right,
    then the backends of the network.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = tuple(candidates)

    def __call__(
        self, layer: Layer, spare: NDArray[Any] | None = None, /
    ) -> Sequence[NDArray[Any]] | None:
        """Return the outputs' data, None if no backend computes them.

        Args:
            layer: Its inputs are constant or absent, the shapes of its outputs are known.
            spare: The data of an input that nothing else needs; an output may be written there.
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
"""The types that a backend may lack where it has Float32."""

UNASSIGNED = frozenset(("Input", "Output", "Constant", "MemCopy", "MemImport"))
"""Layers that the runtime itself takes care of."""


@dataclass(slots=True, eq=False)
class Assignment:
    """The refusals of backends, by layer; the choice itself is ``layer.backend``.

    A layer that a backend runs in Float32 only is replaced by one in Float32 between conversions.

    Attributes:
        network: The network.
        answers: The backends' answers about the layers.
        candidates: The backends that may be chosen by preference, in order.
        named: The backends that may be chosen by name only.
        preferred: Decides between types of conversions.
        conversions: The conversions that the network has; None as long as it has none.
        refusals: Per layer, the backends that refused it before the chosen one.
        converted: Why a layer computes in Float32.
        successors: The layers in the place of a layer, in running order.
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
        """Return the candidate of that id, if it takes part."""
        for candidate in (*self.candidates, *self.named):
            if candidate.id == backend_id:
                return candidate
        return None

    def converter(self, info: TensorInfo, to: DataType, first: str) -> str | None:
        """Return the backend that converts to a type.

        Args:
            info: The description of the converted tensor.
            to: The type.
            first: The backend that is asked before the others.
        """
        question = probe(self.converting().kind(info, to), info, to)
        order = sorted(self.candidates, key=lambda candidate: candidate.id != first)
        named = [each for each in self.named if each.id == first]
        return next((each.id for each in (*named, *order) if each.supports(question)), None)

    def refuse(self, layer: Layer, backend_id: str, reason: str) -> None:
        """Record a refusal; the backend is not asked again."""
        self.refusals.setdefault(layer, []).append(Refusal(backend_id, reason or "gave no reason"))

    def final(self, layers: Iterable[Layer]) -> Iterator[Layer]:
        """Yield layers, or their replacements."""
        for layer in layers:
            if layer in self.successors:
                yield from self.final(self.successors[layer])
            elif layer not in self._removed:
                yield layer

    def converting(self) -> Conversions:
        """Return the network's conversions, to which more may come."""
        if self.conversions is None:
            self.conversions = Conversions(self.network, self.preferred)
        return self.conversions

    def clean_conversions(self) -> None:
        """Remove conversions that are not needed any more."""
        if self.conversions is not None:
            self._removed.update(dict.fromkeys(self.conversions.clean()))

    def replace(self, layer: Layer, successors: Sequence[Layer], heir: Layer) -> None:
        """Record what stands in a layer's place.

        Args:
            layer: The layer.
            successors: Some of which may be in another's place, too.
            heir: The one to which the layer's refusals apply.
        """
        self.successors[layer] = tuple(each for each in successors if each not in self._placed)
        self._placed.update(dict.fromkeys(successors))
        if layer in self.refusals:
            self.refusals[heir] = self.refusals.pop(layer)

    def refused_by(self, layer: Layer) -> tuple[str, ...]:
        """Return the ids of the backends that refused a layer."""
        return tuple(refusal.backend for refusal in self.refusals.get(layer, ()))


def check_layer_names(network: Network, layer_backends: Mapping[str, str]) -> None:
    """Check that the caller's choices name layers of the network.

    Raises:
        InvalidArgumentError: One does not; the closest name is suggested.
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
        OptimizationError: No backend runs some layers, or in strict mode the first one that was
            asked does not; the error lists all of them with every backend's reason.
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
    """Return a backend, and why it demands Float32.

    Args:
        layer: The layer.
        assignment: Has the backends' answers, and gets what they refused.
        order: Whom to ask, each once.
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
    """Return whether conversions let a backend run a layer.

    They do if it takes the layer in Float32, and some backend converts.
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

    (Arm NN does so in AssignBackends.) Conversions run on the layer's backend if it converts, else
    on the first one that does.
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
    """Return the backends that the options or the layer's hint name."""
    named = (options.layer_backends.get(layer.name), layer.backend_hint)
    if named == (None, None):  # as of nearly all
        return ()
    order = {each: assignment.by_id(each) for each in named if each is not None}
    for candidate in assignment.candidates:
        order.setdefault(candidate.id, candidate)
    return tuple(order.items())


def _advice(layers: Sequence[Layer], assignment: Assignment) -> str:
    """Return the advice about layers that no backend runs."""
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
"""The most layers with one reason that an error names."""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    if len(names) <= _MOST_NAMES:
        return shown
    return f"{len(names)} layers, {shown} and {len(names) - _MOST_NAMES} more"


def hand_back_islands(network: Network, assignment: Assignment, min_part: int) -> int:
    """Hand parts of few layers to a backend beside them.

    A part is an island if a neighboring part's backend runs all of its layers, too: its borders
    then go away. The smallest part goes first, as parts that it joins grow. A part with a layer
    that was placed by name stays.

    Args:
        network: Its layers are assigned to backends.
        assignment: Gets the reasons.
        min_part: The number of layers from which on a part stays.

    Returns:
        How many parts were handed back.
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
    """Hand parts of a device to a host's backend beside them if that is less work than copying.

    It is about backends with memory of their own that state what a copy takes
    (:attr:`armnn.backends.Capability.COPY_LATENCY_BYTES`): their part moves if its layers are less
    work for the host than the copies that this saves. Work is counted as the bytes that are copied
    in the same time: those of the results, as memory limits most layers on a host as it does a
    copy, and one for each :data:`_PRODUCTS_PER_BYTE` multiply-adds. A part stays if a layer of it
    was placed by name, if no host's backend beside it runs all of its layers, or if a size is not
    known.

    Args:
        network: Its layers are assigned to backends.
        assignment: Gets the reasons.

    Returns:
        How many parts were handed back.
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
"""Multiply-adds that a host makes in the time that a byte takes to a device or back.

One core of a server makes 10 to 40 in a nanosecond, in which 5 to 20 bytes cross; more cores make
more, so that parts of a device rather stay than go.
"""


def _too_light(
    layers: Sequence[Layer], everyone: Mapping[str, Candidate], latency: int
) -> str | None:
    """Return why a host is to run a device's part, None if it is not, or not known."""
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
    """Return in how many kinds of memory a value is read, other than that which it is made in."""

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
    """Return the first of some backends that is beside a part and runs all of its layers."""
    if any(layer.backend_hint == layer.backend for layer in layers):
        return None
    refused = {backend for layer in layers for backend in assignment.refused_by(layer)}
    around = _neighbors(layers) - refused
    for candidate in among:
        if candidate.id in around and all(assignment.answers.of(candidate, e) for e in layers):
            return candidate
    return None


def _neighbors(layers: Sequence[Layer]) -> set[str]:
    """Return the backends of the layers around a part."""
    inside = set(layers)
    producers = {value.producer for layer in layers for value in layer.inputs if value is not None}
    readers = {each for layer in layers for value in layer.outputs for each in value.consumers}
    return {each.backend for each in (producers | readers) - inside if each.backend is not None}
