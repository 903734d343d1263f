# SPDX-License-Identifier: MIT
"""Regions of a network in layouts that backends wish.

A region is transposed as a whole where that saves more than the transposes around it cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from armnn.backends import Support
from armnn.graph import Layer, Network, Value
from armnn.graph.statistics import multiply_adds_of
from armnn.layers import Descriptor
from armnn.layers.joining import ConcatDescriptor
from armnn.layers.normalization import LogSoftmaxDescriptor, SoftmaxDescriptor
from armnn.layers.reduction import MeanDescriptor, ReduceDescriptor
from armnn.layers.reshaping import PadDescriptor, ReshapeDescriptor, TransposeDescriptor
from armnn.optimizer.assignment.assign import UNASSIGNED, Assignment, NetworkAnswers
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Candidate
from armnn.optimizer.passes._edits import awaits_parameters, first_input
from armnn.optimizer.passes.permutes import axis_order, inverse
from armnn.tensor import TensorInfo
from armnn.types import DataLayout

Order: TypeAlias = tuple[int, ...]
"""The old axis at each new place."""

Constants: TypeAlias = "dict[Value, tuple[NDArray[Any], TensorInfo]]"
"""Transposed constants with their infos, by the values that they were made of."""

_POINTWISE = (
    *("Activation", "ElementwiseUnary", "Floor", "FakeQuantization", "IsNaN", "IsInf"),
    *("Addition", "Subtraction", "Multiplication", "Division", "Maximum", "Minimum"),
    *("ElementwiseBinary", "Comparison", "LogicalBinary", "Where", "Prelu"),
    *("Quantize", "Dequantize", "Cast"),
)
"""Layers that compute each element alone, with operands that broadcast."""

_WITH_IMAGE_WEIGHTS = ("Convolution2d", "TransposeConvolution2d")
"""Layers whose weights have the axes of an image in its layout."""

_WITHOUT_EFFECT = ("StridedSlice", "BatchMatMul")
"""Layers whose data_layout does not say where the axes of an image are."""


@dataclass(frozen=True, slots=True)
class Transposed:
    """The form of a layer with its tensors transposed.

    Attributes:
        descriptor: Its parameters.
        inputs: The positions of the inputs that are transposed.
        output: Whether its outputs are transposed.
    """

    descriptor: Descriptor
    inputs: frozenset[int]
    output: bool = True


def order_to(layout: DataLayout) -> Order:
    """Return the order that leads to a layout."""
    rank = len(layout.name)
    if layout.channel_axis == 1:
        return (0, rank - 1, *range(1, rank - 1))
    return (0, *range(2, rank), 1)


def transposed(layer: Layer, layout: DataLayout) -> Transposed | None:
    """Return the form of a layer in a layout.

    The layer is in the opposite layout, or in none. None if it has no such form: its type is not
    known here, its tensors are not images, or shapes are not known.
    """
    order = order_to(layout)
    infos = [info for info in (*layer.input_infos, *layer.output_infos) if info is not None]
    if not all(info.is_static for info in infos) or awaits_parameters(layer):
        return None
    first = layer.input_infos[0] if layer.inputs else None
    if first is None or first.rank != len(order):
        return None
    if layer.type in _POINTWISE:
        return _pointwise(layer, len(order))
    special = _BY_DESCRIPTOR.get(type(layer.descriptor))
    if special is not None:
        return special(layer, order)
    named = {field.name for field in fields(layer.descriptor)}
    if "data_layout" in named and layer.type not in _WITHOUT_EFFECT:
        return _image(layer, order, layout)
    return None


def _transposed_info(info: TensorInfo, order: Order) -> TensorInfo:
    """Return a tensor's info with its axes in an order."""
    shape = info.static_shape
    axis = None if info.axis is None else order.index(info.axis)
    moved = [shape[old] for old in order]
    return TensorInfo(moved, info.data_type, info.scales, info.zero_points, axis)


def _transposed_constant(value: Value, order: Order) -> tuple[NDArray[Any], TensorInfo]:
    """Return a constant with its axes in an order.

    Axes that it lacks are put before its first one, as broadcasting does.
    """
    data, info = np.asarray(value.constant), value.info
    if info.static_shape and len(info.static_shape) < len(order):
        missing = len(order) - len(info.static_shape)
        axis = None if info.axis is None else info.axis + missing
        shape = (1,) * missing + info.static_shape
        info = TensorInfo(shape, info.data_type, info.scales, info.zero_points, axis)
    wide = data.reshape(info.static_shape)
    return np.ascontiguousarray(wide.transpose(order)), _transposed_info(info, order)


def _keeps_elements(shape: Sequence[int], order: Order) -> bool:
    """Return whether a permutation leaves the elements in place."""
    moved = [axis for axis in order if shape[axis] != 1]
    return moved == sorted(moved)


def _add_form(
    network: Network,
    layer: Layer,
    form: Transposed,
    order: Order,
    inputs: Sequence[Value | None],
    name: str,
) -> Layer:
    """Add a layer's form to a network."""
    infos = layer.output_infos
    outputs = [_transposed_info(info, order) for info in infos] if form.output else infos
    new = network.add(layer.type, inputs, form.descriptor, name=name, outputs=outputs)
    new.backend_hint, new.origin = layer.backend_hint, layer.origin
    return new


def twin_of(
    layer: Layer, form: Transposed, order: Order, scratch: Network, constants: Constants
) -> Layer:
    """Add a layer's form to a network for questions.

    Args:
        layer: The layer, which stays where it is.
        form: Its form in the order.
        order: The order.
        scratch: Gets the form, and inputs of its own for it.
        constants: Gets the transposed constants, by their values.
    """
    inputs: list[Value | None] = []
    for index, value in enumerate(layer.inputs):
        moves = index in form.inputs
        if value is None:
            inputs.append(None)
        elif value.constant is None:
            info = _transposed_info(value.info, order) if moves else value.info
            inputs.append(scratch.add_input(f"{index} of {layer.name}", info))
        elif moves:
            if value not in constants:
                constants[value] = _transposed_constant(value, order)
            inputs.append(scratch.add_constant(*constants[value]))
        else:
            inputs.append(scratch.add_constant(value.constant, value.info))
    return _add_form(scratch, layer, form, order, inputs, layer.name)


def _undoes(layer: Layer, order: Order) -> bool:
    """Return whether a layer undoes a permutation, and nothing else."""
    own = axis_order(layer)
    if own is None or own != inverse(order):
        return False
    return first_input(layer).info.is_type_space_match(layer.output.info)


def _add_transpose(network: Network, value: Value, order: Order, name: str | None = None) -> Layer:
    """Add a Transpose, or a Reshape if elements stay."""
    info = _transposed_info(value.info, order)
    kind, descriptor = "Transpose", cast("Descriptor", TransposeDescriptor(dim_mappings=order))
    if _keeps_elements(value.info.static_shape, order):
        kind, descriptor = "Reshape", ReshapeDescriptor(target_shape=info.static_shape)
    return network.add(kind, [value], descriptor, name=name, outputs=[info])


def _image(layer: Layer, order: Order, layout: DataLayout) -> Transposed | None:
    descriptor = cast("Any", layer.descriptor)
    if order_to(descriptor.data_layout) == order or len(descriptor.data_layout.name) != len(order):
        return None
    changes: dict[str, Any] = {"data_layout": layout}
    if getattr(descriptor, "output_shape", ()):
        changes["output_shape"] = tuple(descriptor.output_shape[old] for old in order)
    inputs = {0, 1} if layer.type in _WITH_IMAGE_WEIGHTS else {0}
    return Transposed(replace(descriptor, **changes), frozenset(inputs))


def _pointwise(layer: Layer, rank: int) -> Transposed | None:
    positions = []
    for index, value in enumerate(layer.inputs):
        if value is None or (value.info.num_elements == 1 and value.info.rank != rank):
            continue
        if value.info.rank != rank and value.constant is None:
            return None
        positions.append(index)
    if any(info.rank != rank for info in layer.output_infos):
        return None
    return Transposed(layer.descriptor, frozenset(positions))


def _along_axis(layer: Layer, order: Order) -> Transposed:
    descriptor = cast("ConcatDescriptor | SoftmaxDescriptor", layer.descriptor)
    axis = order.index(descriptor.axis % len(order))
    return Transposed(replace(descriptor, axis=axis), frozenset(range(len(layer.inputs))))


def _padded(layer: Layer, order: Order) -> Transposed | None:
    descriptor = cast("PadDescriptor", layer.descriptor)
    if len(descriptor.pad_list) != len(order):
        return None
    pads = tuple(descriptor.pad_list[old] for old in order)
    return Transposed(replace(descriptor, pad_list=pads), frozenset({0}))


def _reduced(layer: Layer, order: Order) -> Transposed | None:
    """Return a reduction whose other axes keep their order."""
    descriptor = cast("MeanDescriptor | ReduceDescriptor", layer.descriptor)
    old = {axis % len(order) for axis in descriptor.axis} or set(range(len(order)))
    left = [axis for axis in order if axis not in old]
    if not descriptor.keep_dims and left != sorted(left):
        return None
    axes = tuple(sorted(order.index(axis) for axis in old))
    return Transposed(replace(descriptor, axis=axes), frozenset({0}), descriptor.keep_dims)


_BY_DESCRIPTOR: dict[type, Callable[[Layer, Order], Transposed | None]] = {
    ConcatDescriptor: _along_axis,
    SoftmaxDescriptor: _along_axis,
    LogSoftmaxDescriptor: _along_axis,
    PadDescriptor: _padded,
    MeanDescriptor: _reduced,
    ReduceDescriptor: _reduced,
}


class Region:
    """The layers that a backend gets in its layout.

    Attributes:
        seeds: The layers about which it has the wish.
        layers: The layers that change, in topological order.
    """

    def __init__(
        self,
        forms: Mapping[Layer, Transposed],
        seeds: Sequence[Layer],
        layout: DataLayout,
        candidate: Candidate,
        assignment: Assignment,
    ) -> None:
        """Ask the backend about the layers connected with seeds.

        Args:
            forms: The forms of the network's layers in the layout, in topological order.
            seeds: The layers about which the backend has the wish.
            layout: The layout.
            candidate: The backend.
            assignment: Has all backends, and gets the answers.
        """
        self._forms, self._layout, self._order = forms, layout, order_to(layout)
        self._candidate, self._assignment = candidate, assignment
        self.layers: dict[Layer, None] = dict.fromkeys(forms)
        near = _reached(seeds, self._joined)
        self.layers = {layer: None for layer in forms if layer in near}
        self._constants: dict[Value, tuple[NDArray[Any], TensorInfo]] = {}
        self._answers: dict[Layer, Support] = {}
        self._transposes: dict[tuple[TensorInfo, Order], tuple[Candidate, Support] | None] = {}
        self._ask()
        self.layers = {layer: None for layer in self.layers if self._answers[layer]}
        self.seeds = {layer for layer in seeds if layer in self.layers}

    def shrink(self) -> None:
        """Leave layers that save no transposes, and components without seeds."""
        others = [layer for layer in self.layers if layer not in self.seeds]
        changed = True
        while changed:
            changed = False
            for layer in reversed(others):
                if layer not in self.layers:
                    continue
                values = dict.fromkeys(_values_around([layer]))
                inside = sum(map(self.border, values))
                self.leave([layer])
                if sum(map(self.border, values)) > inside:
                    self.layers[layer] = None
                else:
                    changed = True
        self.layers = {layer: None for layer in self._forms if layer in self.layers}
        for component in self.components():
            if self.seeds.isdisjoint(component):
                self.leave(component)

    def leave(self, layers: Sequence[Layer]) -> None:
        """Let layers stay in the layout that they have."""
        for layer in layers:
            del self.layers[layer]

    def components(self) -> list[list[Layer]]:
        """Return the connected components, each in topological order."""
        components: list[list[Layer]] = []
        seen: set[Layer] = set()
        for layer in self.layers:
            if layer not in seen:
                component = _reached([layer], self._joined)
                seen |= component
                components.append([each for each in self.layers if each in component])
        return components

    def border(self, value: Value) -> float:
        """Return how many elements are transposed where a value crosses.

        Infinity if no backend transposes it; 0 if it stays inside or outside, is constant, or was
        transposed the other way before.
        """
        if value.constant is not None:
            return 0
        made = self._is_made(value)
        readers = [use for use in value.uses if self._takes(*use) is not made]
        if made:
            readers = [use for use in readers if not _undoes(use[0], inverse(self._order))]
        elif _undoes(value.producer, self._order):
            readers = []
        if not readers:
            return 0
        order = inverse(self._order) if made else self._order
        info = _transposed_info(value.info, self._order) if made else value.info
        if self._transposes.get((info, order)) is None:
            return math.inf
        return 0 if _keeps_elements(info.static_shape, order) else value.info.num_elements

    def apply(self, network: Network) -> int:
        """Put the layers into the layout; return how many.

        Transposes that the model has at the borders are taken out where they undo those that would
        come.
        """
        moved: dict[Value, Value] = {}
        successors: dict[Layer, Layer] = {}
        for layer in self.layers:
            inputs = [
                self._read(network, layer, index, moved) for index in range(len(layer.inputs))
            ]
            name = network.unique_name(layer.name)
            new = _add_form(network, layer, self._forms[layer], self._order, inputs, name)
            for old, made in zip(layer.outputs, new.outputs, strict=True):
                if self._forms[layer].output:
                    moved[old] = made
                else:
                    network.replace_uses(old, made)
            self._assign(layer, new)
            successors[layer] = new
        for layer in self.layers:
            for value in layer.outputs:
                if value in moved:
                    self._hand_out(network, value, moved[value])
        for layer in reversed(self.layers):
            name = layer.name
            network.remove(layer)
            network.rename(successors[layer], name)
        return len(self.layers)

    def _joined(self, layer: Layer) -> Iterator[Layer]:
        """Yield the region's layers that share a moved value."""
        form = self._forms[layer]
        for index in form.inputs:
            value = layer.inputs[index]
            if value is not None and self._is_made(value):
                yield value.producer
        for value in layer.outputs if form.output else ():
            yield from (reader for reader, index in value.uses if self._takes(reader, index))

    def _is_made(self, value: Value) -> bool:
        """Return whether a value is made in the layout."""
        return value.producer in self.layers and self._forms[value.producer].output

    def _takes(self, reader: Layer, index: int) -> bool:
        """Return whether an input is read in the layout."""
        return reader in self.layers and index in self._forms[reader].inputs

    def _ask(self) -> None:
        """Ask the backend about all layers and transposes at once."""
        scratch = Network()
        twins = {
            layer: twin_of(layer, self._forms[layer], self._order, scratch, self._constants)
            for layer in self.layers
        }
        for value in dict.fromkeys(_values_around(list(self.layers))):
            if value.constant is None and value.info.rank == len(self._order):
                info = _transposed_info(value.info, self._order)
                self._transposes[value.info, self._order] = None
                self._transposes[info, inverse(self._order)] = None
        probes = {
            (info, order): _add_transpose(
                scratch, scratch.add_input(f"tensor {number}", info), order
            )
            for number, (info, order) in enumerate(self._transposes)
        }
        answers = NetworkAnswers(scratch, (*twins.values(), *probes.values()))
        self._answers = {layer: answers.of(self._candidate, t) for layer, t in twins.items()}
        for key, probe in probes.items():
            self._transposes[key] = self._transposer(probe, answers)

    def _transposer(
        self, probe: Layer, answers: NetworkAnswers
    ) -> tuple[Candidate, Support] | None:
        """Return the first backend that transposes, the region's first."""
        own = answers.of(self._candidate, probe)
        if own:
            return self._candidate, own
        for other in self._assignment.candidates:
            if other is not self._candidate and (answer := other.supports(probe)):
                return other, answer
        return None

    def _read(
        self, network: Network, layer: Layer, index: int, moved: dict[Value, Value]
    ) -> Value | None:
        """Return the value that a layer reads, in the layout."""
        value = layer.inputs[index]
        if value is None or index not in self._forms[layer].inputs:
            return value
        if value not in moved:
            moved[value] = self._brought(network, value, f"{index}-{layer.name}")
        return moved[value]

    def _brought(self, network: Network, value: Value, place: str) -> Value:
        """Return a value from outside in the layout."""
        if value.constant is not None:
            name = network.unique_name(value.producer.name)
            return network.add_constant(*self._constants[value], name=name)
        if _undoes(value.producer, self._order):
            return first_input(value.producer)
        return self._transpose(network, value, self._order, f"to_{self._layout.name}-{place}")

    def _hand_out(self, network: Network, value: Value, made: Value) -> None:
        """Let readers outside read a value as it was."""
        back = inverse(self._order)
        for reader in value.consumers:
            if reader not in self.layers and _undoes(reader, back):
                network.replace_uses(reader.output, made)
                network.remove(reader)
        if all(reader in self.layers for reader in value.consumers):
            return
        name = f"from_{self._layout.name}-{value.index}-{value.producer.name}"
        network.replace_uses(value, self._transpose(network, made, back, name))

    def _transpose(self, network: Network, value: Value, order: Order, name: str) -> Value:
        made = _add_transpose(network, value, order, network.unique_name(f"transpose_{name}"))
        found = self._transposes[value.info, order]
        if found is not None:
            candidate, answer = found
            made.backend = candidate.id
            if candidate is self._candidate:  # others are asked about the network, with this layer
                self._assignment.answers.adopt(candidate, made, answer)
        return made.output

    def _assign(self, layer: Layer, new: Layer) -> None:
        """Assign a new layer; note the backends that refused the old one."""
        assignment = self._assignment
        for other in assignment.candidates:
            if other is self._candidate:
                break
            if layer.backend_hint is None:
                assignment.refuse(new, other.id, assignment.answers.of(other, layer).reason)
        new.backend = self._candidate.id
        assignment.answers.adopt(self._candidate, new, self._answers[layer])
        assignment.converted[new] = (
            f"computes in {self._layout.name}, as {self._candidate.id} wishes"
        )


def _values_around(layers: Sequence[Layer]) -> Iterator[Value]:
    """Yield the inputs and outputs of layers."""
    for layer in layers:
        yield from (value for value in layer.inputs if value is not None)
        yield from layer.outputs


def crossing(value: Value, on_backend: Collection[Layer]) -> int:
    """Return a value's elements if it crosses a backend's border."""
    if value.constant is not None or not value.info.is_static:
        return 0
    ends = [layer for layer in (value.producer, *value.consumers) if not layer.spec.no_kernel]
    inside = {layer in on_backend for layer in ends}
    return value.info.num_elements if len(inside) == 2 else 0


def _reached(start: Sequence[Layer], joined: Callable[[Layer], Iterable[Layer]]) -> set[Layer]:
    """Return the layers that can be reached over shared values."""
    found, waiting = set(start), list(start)
    while waiting:
        new = [layer for layer in joined(waiting.pop()) if layer not in found]
        found.update(new)
        waiting += new
    return found


def choose_layouts(network: Network, assignment: Assignment, options: OptimizerOptions) -> int:
    """Put regions into the layouts that backends wish.

    A region is transposed if its layers that a wish is about add up more products than the
    transposes at its borders, and the tensors that then come from other backends, have elements;
    so a backend without wishes changes nothing. Each backend is asked about the network, as it
    is for the assignment, and once more about all layers that may change.

    Args:
        network: Is changed in place.
        assignment: Has the backends, and gets what they refused.
        options: With ``strict`` only the first backend's wishes count; a region has at least
            ``min_part`` layers.

    Returns:
        How many layers changed their layout.
    """
    waiting, changed = kernels_of(network), 0
    for candidate in assignment.candidates[:1] if options.strict else assignment.candidates:
        mine = [each for each in waiting if _may_get(each, candidate)]
        given = {each: assignment.answers.of(candidate, each) for each in mine}
        wishes = dict.fromkeys(answer.layout for answer in given.values())
        before = changed
        for layout in wishes:
            if layout is not None:
                changed += _transpose(network, candidate, given, layout, assignment, options)
        if changed > before:
            network.remove_unused()
            assignment.answers.ask_about(kernels_of(network))
        waiting = [each for each in waiting if each in network and not given.get(each)]
        if not waiting:
            break
    return changed


def kernels_of(network: Network) -> list[Layer]:
    """Return the layers that backends are asked about, in topological order."""
    return [
        layer
        for layer in network.topological_order()
        if layer.type not in UNASSIGNED and layer.call is None
    ]


def _may_get(layer: Layer, candidate: Candidate) -> bool:
    return layer.backend is None and layer.backend_hint in (None, candidate.id)


def _transpose(
    network: Network,
    candidate: Candidate,
    given: Mapping[Layer, Support],
    layout: DataLayout,
    assignment: Assignment,
    options: OptimizerOptions,
) -> int:
    """Transpose the regions of one backend that gain by it."""
    forms = {
        layer: form
        for layer, answer in given.items()
        if layer in network and (answer or answer.layout is layout)
        if (form := transposed(layer, layout)) is not None
    }
    seeds = [layer for layer in forms if given[layer].layout is layout]
    if not seeds:
        return 0
    region = Region(forms, seeds, layout, candidate, assignment)
    region.shrink()
    for component in region.components():
        if len(component) < (options.min_part or 1) or not _gains(component, region, given):
            region.leave(component)
    return region.apply(network)


def _gains(component: Sequence[Layer], region: Region, given: Mapping[Layer, Support]) -> bool:
    work = sum(multiply_adds_of(layer) or 0 for layer in component if layer in region.seeds)
    on_backend = {layer for layer, answer in given.items() if answer}
    values = dict.fromkeys(_values_around(component))
    before = sum(crossing(value, on_backend) for value in values)
    after = sum(crossing(value, on_backend | set(component)) for value in values)
    return work > sum(map(region.border, values)) + after - before
