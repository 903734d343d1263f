# SPDX-License-Identifier: MIT
"""Networks with inputs that may show a failure, and simpler ones made of them.

Layers are taken out, weights and inputs sliced together, and numbers and parameters made plain.
Which dimensions belong together follows from what fits: those of one size are cut at once, then two
of them, then each alone. Shape inference refuses what does not fit, before anything is run.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ArmnnError, GraphError
from armnn.graph import Layer, Network, Value
from armnn.layers import Descriptor
from armnn.tensor import TensorInfo
from armnn_tools.debugging.bench import fragment
from armnn_tools.debugging.reference import NOT_COMPUTED

Array = NDArray[Any]
Stored = tuple[Array, TensorInfo]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A network and its inputs.

    Attributes:
        network: All of its layers are as backends get them.
        inputs: One array per input, as stored.
    """

    network: Network
    inputs: Mapping[str, Array]

    @property
    def layers(self) -> list[Layer]:
        """The layers that a backend computes, in topological order."""
        order = self.network.topological_order()
        return [layer for layer in order if layer.type not in NOT_COMPUTED]

    @property
    def sources(self) -> list[Layer]:
        """The Input and Constant layers."""
        return [layer for layer in self.network.layers if layer.type in ("Input", "Constant")]

    def stored(self, source: Layer) -> Stored:
        """Return data and info of an Input or Constant."""
        data = self.inputs[source.name] if source.data is None else source.data
        return data, source.output.info


def part_of(variant: Variant, layers: Sequence[Layer], values: Mapping[Value, Array]) -> Variant:
    """Return some layers of a variant.

    What they read from other layers becomes an input.

    Args:
        variant: Their network.
        layers: In topological order.
        values: The data of what they read from other layers.

    Raises:
        GraphError: Nothing reads what they compute.
    """
    network, sources = fragment(variant.network, layers)
    return Variant(network, {name: values[value] for name, value in sources.items()})


def without_outputs(variant: Variant, outputs: Iterable[Layer]) -> Variant:
    """Return a variant without some of its outputs.

    Layers that only those read go, too.
    """
    gone = {layer.name for layer in outputs}
    network = variant.network.clone()
    for layer in network.outputs:
        if layer.name in gone:
            network.remove(layer)
    network.remove_unused()
    return rebuilt(Variant(network, variant.inputs))


def rebuilt(
    variant: Variant,
    data: Mapping[Layer, Stored] | None = None,
    descriptors: Mapping[Layer, Descriptor] | None = None,
    absent: Iterable[tuple[Layer, int]] = (),
    fixed: Iterable[Layer] = (),
) -> Variant:
    """Return a variant with other data or parameters.

    Shapes are inferred again. Inputs that no layer reads are left out.

    Args:
        variant: The variant, which does not change.
        data: The data of Input and Constant layers, in the place of their own.
        descriptors: The descriptors of layers, in the place of their own.
        absent: Optional inputs that go, as layer and number of the input.
        fixed: Input layers that become constants.

    Raises:
        ArmnnError: The layers do not fit each other.
    """
    data, descriptors = data or {}, descriptors or {}
    gone, constants = {*absent}, {*fixed}
    source, inputs = variant.network, dict[str, "Array"]()
    network = Network(source.name)
    network.quantized_arithmetic = source.quantized_arithmetic
    values: dict[Value, Value] = {}
    for layer in source.topological_order():
        operands = [
            None if value is None or (layer, at) in gone else values[value]
            for at, value in enumerate(layer.inputs)
            if not ((layer, at) in gone and layer.spec.input_slot(at).variadic)
        ]
        if layer.type in ("Input", "Constant"):
            if not any((reader, at) not in gone for reader, at in layer.output.uses):
                continue
            array, info = data.get(layer) or variant.stored(layer)
            if layer.type == "Constant" or layer in constants:
                values[layer.output] = network.add_constant(array, info)
            else:
                values[layer.output] = network.add_input(layer.name, info)
                inputs[layer.name] = array
        elif layer.type == "Output":
            (value,) = operands
            if value is not None:
                network.add_output(layer.name, value)
        else:
            twin = network.add(
                layer.type,
                operands,
                descriptors.get(layer, layer.descriptor),
                name=layer.name,
                outputs=[_open(info) for info in layer.output_infos],
            )
            for old, new in zip(layer.outputs, twin.outputs, strict=True):
                if old.info.is_static and not new.info.is_static:
                    raise GraphError(f"the shape of {new.name!r} cannot be inferred")
                values[old] = new
    return Variant(network, inputs)


def _open(info: TensorInfo) -> TensorInfo:
    """Return an info whose dimensions may be any."""
    return info if info.shape is None else info.with_shape((None,) * len(info.shape))


_MOST_PAIRED = 12
"""Dimensions of one size up to which all pairs are tried."""


class _Dimension(NamedTuple):
    source: Layer
    axis: int


def with_smaller_shapes(variant: Variant) -> Iterator[Variant]:
    """Yield variants with shorter dimensions."""
    by_size: dict[int, list[_Dimension]] = defaultdict(list)
    for source in variant.sources:
        for axis, size in enumerate(variant.stored(source)[0].shape):
            by_size[size].append(_Dimension(source, axis))
    for size in sorted(by_size, reverse=True):
        if size > 1:
            for target in dict.fromkeys((1, 2, size // 2, size - 1)):
                if 0 < target < size:
                    yield from _cut(variant, by_size[size], size, target)


def _cut(
    variant: Variant, dimensions: Sequence[_Dimension], size: int, target: int
) -> Iterator[Variant]:
    groups = [tuple(dimensions)]
    if 2 < len(dimensions) <= _MOST_PAIRED:
        groups += combinations(dimensions, 2)
    groups += [(each,) for each in dimensions if len(dimensions) > 1]
    for group in groups:
        for part in (slice(0, target), slice(size - target, size)):
            data: dict[Layer, Stored] = {}
            for source, axis in group:
                array, info = data.get(source) or variant.stored(source)
                data[source] = _sliced(array, info, axis, part)
            for descriptors in ({}, _with_numbers(variant, size, target)):
                try:
                    yield rebuilt(variant, data, descriptors)
                except (ArmnnError, ValueError, IndexError):
                    continue


def _sliced(array: Any, info: TensorInfo, axis: int, part: slice) -> Stored:
    place = [slice(None)] * array.ndim
    place[axis] = part
    cut = np.ascontiguousarray(array[tuple(place)])
    if info.is_per_axis and info.axis == axis:
        scales, zeros = info.scales[part], info.zero_points[part]
        return cut, TensorInfo(cut.shape, info.data_type, scales, zeros, axis)
    return cut, info.with_shape(cut.shape)


def _with_numbers(variant: Variant, size: int, target: int) -> Mapping[Layer, Descriptor]:
    """Return descriptors that have the size in their lists, changed."""
    found: dict[Layer, Descriptor] = {}
    for layer in variant.layers:
        changed = {}
        for field in dataclasses.fields(layer.descriptor):
            value = getattr(layer.descriptor, field.name)
            if isinstance(value, tuple) and size in value:
                changed[field.name] = tuple(target if each == size else each for each in value)
        if changed:
            found[layer] = dataclasses.replace(layer.descriptor, **changed)
    return found


Move = Callable[[Variant], Iterator[Variant]]
"""Yields simpler variants, each of the variant given; some may not fit together."""


def simplified(variant: Variant, fails: Callable[[Variant], bool]) -> Variant:
    """Return a variant of which no simplification still fails."""
    is_changed = True
    while is_changed:
        is_changed = False
        for move in MOVES:
            found = _moved(variant, move, fails)
            while found is not None:
                variant, is_changed = found, True
                found = _moved(variant, move, fails)
    return variant


def _moved(variant: Variant, move: Move, fails: Callable[[Variant], bool]) -> Variant | None:
    for simpler in move(variant):
        if simpler.network.outputs and fails(simpler):
            return simpler
    return None


def _with_fewer_outputs(variant: Variant) -> Iterator[Variant]:
    outputs = variant.network.outputs
    if len(outputs) > 1:
        for kept in outputs:
            yield without_outputs(variant, [each for each in outputs if each is not kept])
        for dropped in outputs:
            yield without_outputs(variant, [dropped])


def _with_fewer_operands(variant: Variant) -> Iterator[Variant]:
    """Yield variants without an optional input."""
    for layer in variant.layers:
        for at, value in enumerate(layer.inputs):
            slot = layer.spec.input_slot(at)
            if value is not None and (slot.optional or slot.variadic):
                yield from _fitting(variant, absent=[(layer, at)])


def _with_default_parameters(variant: Variant) -> Iterator[Variant]:
    for layer in variant.layers:
        for field in dataclasses.fields(layer.descriptor):
            if getattr(layer.descriptor, field.name) == field.default:
                continue
            if field.default is dataclasses.MISSING:
                continue
            try:
                usual = dataclasses.replace(layer.descriptor, **{field.name: field.default})
            except (ArmnnError, ValueError):
                continue
            yield from _fitting(variant, descriptors={layer: usual})


def _with_constants(variant: Variant) -> Iterator[Variant]:
    """Yield variants with one input less, which is recorded."""
    inputs = variant.network.inputs
    if len(inputs) > 1:
        for layer in reversed(inputs):
            yield from _fitting(variant, fixed=[layer])


def _with_splats(variant: Variant) -> Iterator[Variant]:
    """Yield variants with the same number all over a tensor."""
    for layer in variant.sources:
        array, info = variant.stored(layer)
        if not array.size:
            continue
        first = array.reshape(-1)[0]
        for number in (np.zeros((), array.dtype), np.ones((), array.dtype), first):
            splat = np.full(array.shape, number, array.dtype)
            if np.array_equal(array, splat):
                break  # what comes next is no simpler
            yield from _fitting(variant, data={layer: (splat, info)})


def _with_short_numbers(variant: Variant) -> Iterator[Variant]:
    """Yield variants with inputs of two decimals."""
    for layer in variant.sources:
        array, info = variant.stored(layer)
        if info.data_type.is_float:
            short = np.round(array.astype(np.float64), 2).astype(array.dtype)
            if not np.array_equal(short, array, equal_nan=True):
                yield from _fitting(variant, data={layer: (short, info)})


def _fitting(variant: Variant, **changes: object) -> Iterator[Variant]:
    """Yield a changed variant if its layers fit each other."""
    try:
        yield rebuilt(variant, **changes)  # type: ignore[arg-type]  # those of rebuilt
    except (ArmnnError, ValueError, IndexError):
        return


MOVES: tuple[Move, ...] = (
    _with_fewer_outputs,
    with_smaller_shapes,
    _with_constants,
    _with_fewer_operands,
    _with_default_parameters,
    _with_splats,
    _with_short_numbers,
)
"""In the order in which they are tried: those that save most come first."""
