# SPDX-License-Identifier: MIT
"""Caches: inputs of which an output is a copy with some rows replaced, in place if possible.

Such a pair is a state that fills up where the rows follow each other: each run writes its own
behind those of earlier runs (TensorScatter), and layers read as many as there are
(CachedAttention). An input tells a run where its rows go: by the place of the first one, or by
something from which that place is computed, such as a mask with 1 for each row that counts. How it
is computed does not matter here: the ways to tell it (:data:`~armnn.optimizer.plan.Count`) are
tried on the layers between the input and the place, and the one that leads to the place is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ArmnnError
from armnn.graph import Layer, Network, Value
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.plan import Cache, Count, Counter, in_place_outputs, write_count
from armnn.optimizer.shapes.specialize import specialize
from armnn.tensor import TensorInfo

_PASSED_ON: Final = ("BroadcastTo", "Cast", "Reshape")
"""The layers through which a number goes as it is."""

_PLACES: Final = "position_ids"
"""The usual name of an input with the place of each new row, by which keys and queries turn."""

_SMALL: Final = 1 << 16
"""The most elements of a tensor that is computed to find caches."""

_SIZES: Final = (3, 5, 7, 11, 13, 17, 19, 23)
"""The sizes that open dimensions are taken as, one for each name."""

_CAPACITIES: Final = (211, 223, 227, 229)
"""The assumed sizes of the dimensions of inputs that may be caches, which the others fit into."""


def caches_of(network: Network, evaluate: Evaluate) -> dict[str, Cache]:
    """Return the caches of a network, by input.

    The memory of each may be that of its output: no other layer reads the input. Where operators
    wait for shapes, the network is looked at with assumed sizes of open dimensions.

    Args:
        network: It is not changed.
        evaluate: Computes a layer whose inputs are constant.
    """
    sizes: dict[str, int] = {}
    if _waits(network):
        sizes = _assumed_sizes(network)
        try:
            network = _settled(network, sizes, evaluate)
        except ArmnnError:
            return {}  # a run says what is wrong with the shapes that it has
    return dict(_Finder(network, sizes, evaluate).caches())


def _waits(network: Network) -> bool:
    """Return whether values computed from shapes could reveal more about caches."""
    return any(
        reader.type == "StandIn" or not _input_of(reader.input("positions"))
        for reader in _candidates(network).values()
    )


def _candidates(network: Network) -> dict[str, Layer]:
    """Return, by input, the only layer that reads it, where that may write an output into it."""
    made = {value.producer for layer in network.outputs for value in layer.inputs if value}
    found: dict[str, Layer] = {}
    for layer in network.inputs:
        readers = [reader for reader, _ in layer.output.uses]
        is_one = len(readers) == 1 and readers[0] in made
        if is_one and readers[0].type in ("StandIn", "TensorScatter"):
            found[layer.name] = readers[0]
    return found


def _assumed_sizes(network: Network) -> dict[str, int]:
    """Return a size for each name of an open dimension, no two alike, nor like a known one."""
    known = {dim for layer in network.inputs for dim in layer.output.info.shape or ()}
    free = iter([size for size in _SIZES if size not in known])
    large = iter([size for size in _CAPACITIES if size not in known])
    candidates = _candidates(network)
    opened: dict[str, bool] = {}  # whether only caches have it, behind their first axis
    for layer in network.inputs:
        for axis, dim in enumerate(layer.output.info.shape or ()):
            if isinstance(dim, str):
                opened[dim] = opened.get(dim, True) and layer.name in candidates and axis > 0
    sizes = {dim: next(large if is_large else free, None) for dim, is_large in opened.items()}
    return {dim: size for dim, size in sizes.items() if size is not None}


def _settled(network: Network, sizes: Mapping[str, int], evaluate: Evaluate) -> Network:
    """Return a copy of a network for assumed sizes; larger constants are not computed."""

    def evaluate_small(layer: Layer, *spare: Any) -> Sequence[NDArray[Any]] | None:
        is_small = all(info.num_elements <= _SMALL for info in layer.output_infos)
        return evaluate(layer, *spare) if is_small else None

    shapes = {layer.name: _with_sizes(layer.output.info, sizes) for layer in network.inputs}
    return specialize(network, shapes, {}, evaluate_small)


def _with_sizes(info: TensorInfo, sizes: Mapping[str, int]) -> tuple[Any, ...] | None:
    if info.shape is None:
        return None
    return tuple([sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in info.shape])


class _Finder:
    """Looks for the caches of one network.

    Args:
        network: Its shapes are known, or no operator waits for them.
        sizes: The sizes that its open dimensions were taken as, by name.
        evaluate: Computes a layer whose inputs are constant.
    """

    def __init__(self, network: Network, sizes: Mapping[str, int], evaluate: Evaluate) -> None:
        self._network = network
        self._names = {size: name for name, size in sizes.items()}
        self._evaluate = evaluate
        self._found: dict[Value, Counter | None] = {}

    def caches(self) -> Iterator[tuple[str, Cache]]:
        """Yield each cache, by input."""
        in_place = in_place_outputs(self._network)
        for port in self._network.outputs:
            (made,) = port.inputs
            if made is not None and port.name in in_place:
                yield in_place[port.name], self._cache(port.name, made)

    def _cache(self, output: str, made: Value) -> Cache:
        """Return the cache that is written into an output."""
        layer, rank = made.producer, made.info.rank
        if rank is None or layer.type != "TensorScatter":
            return Cache(output, 0, None)
        axis = layer.descriptor.axis % rank  # type: ignore[attr-defined]  # of a TensorScatter
        updates, place = layer.input("updates"), layer.input("positions")
        shape = None if updates is None else updates.info.shape
        rows = None if shape is None else shape[axis]
        if rows is None or place is None or layer.descriptor.circular:  # type: ignore[attr-defined]  # as above
            return Cache(output, axis, self._rows(rows, ()))
        capacity = (made.info.shape or ())[axis]
        first = self._counter(place, "first", capacity, rows)
        if first is None:
            return Cache(output, axis, self._rows(rows, ()))
        counters = [first]
        for reader in made.consumers:
            if any(slot.name == "lengths" for slot in reader.spec.inputs):
                lengths = reader.input("lengths")
                counters.append(self._counter(lengths, "count", capacity, rows) or first)
        counters += self._counters_beside(rows)
        by_input = {counter.input: counter for counter in reversed(counters)}
        kept = tuple(reversed(by_input.values()))
        return Cache(output, axis, self._rows(rows, [each.input for each in kept]), kept)

    def _rows(self, rows: object, counters: Sequence[str]) -> int | tuple[str, int] | None:
        """Return how many rows a run writes, or the input and the axis that say so."""
        name = self._names.get(rows, rows) if isinstance(rows, int) else rows
        if not isinstance(name, str):
            return name if isinstance(name, int) else None
        wanted = next((size for size, each in self._names.items() if each == name), name)
        for each in self._network.inputs:
            for place, dim in enumerate(each.output.info.shape or ()):
                if dim == wanted and each.name not in counters:
                    return each.name, place
        return None

    def _counters_beside(self, rows: object) -> Iterator[Counter]:
        """Yield the inputs that count rows by their name, or whose value nothing reads."""
        for layer in self._network.inputs:
            info = layer.output.info
            shape = info.shape or ()
            if not info.data_type.is_integer:
                continue
            if layer.name == _PLACES and shape and shape[-1] == rows:
                yield Counter(layer.name, "places")
            elif not layer.output.uses and info.is_static and info.num_elements == 1:
                yield Counter(layer.name, "count")

    def _counter(
        self, value: Value | None, kind: Count, capacity: object, rows: object
    ) -> Counter | None:
        """Return the input that a number of rows is computed from, and how it must tell it."""
        if value is None:
            return None
        if value not in self._found:
            name = _input_of(value)
            self._found[value] = (
                Counter(name, kind) if name else self._tried(value, kind, capacity, rows)
            )
        return self._found[value]

    def _tried(self, value: Value, kind: Count, capacity: object, rows: object) -> Counter | None:
        layers = _layers_before(value)
        inputs = [layer for layer in layers if layer.type == "Input"]
        if len(inputs) != 1 or not isinstance(capacity, int) or not isinstance(rows, int):
            return None
        (layer,) = inputs
        info = layer.output.info
        if not info.data_type.is_integer or not info.is_static or rows > capacity:
            return None
        number = Network("rows")
        order = [each for each in self._network.topological_order() if each in layers]
        number.add_output("rows", number.insert_copies(order, {})[value])
        for tried in get_args(Count):
            if self._leads(number, layer.name, info, tried, kind, capacity, rows):
                return Counter(layer.name, tried)
        return None

    def _leads(
        self,
        number: Network,
        name: str,
        info: TensorInfo,
        tried: Count,
        kind: Count,
        capacity: int,
        rows: int,
    ) -> bool:
        """Return whether a number is computed rightly if an input has one of the forms."""
        shape = list(info.static_shape)
        last = {"mask": capacity, "places": rows}.get(tried)
        if last is not None:
            if not shape or (shape[-1] != last and shape[-1] not in self._names):
                return False
            shape[-1] = last
        for valid in {0, (capacity - rows) // 2, capacity - rows}:
            given = np.zeros(shape, info.data_type.numpy_dtype)
            expected = np.zeros(1, np.int64)
            write_count(tried, given, valid, rows)
            write_count(kind, expected, valid, rows)
            try:
                made = specialize(number, {name: given.shape}, {name: given}, self._evaluate)
            except ArmnnError:
                return False
            found = made.outputs[0].inputs[0]
            data = None if found is None else found.constant
            if data is None or not np.all(data == expected):
                return False
        return True


def _layers_before(value: Value) -> set[Layer]:
    """Return the layers that a value is computed by."""
    found, pending = {value.producer}, [value.producer]
    while pending:
        for each in pending.pop().inputs:
            if each is not None and each.producer not in found:
                found.add(each.producer)
                pending.append(each.producer)
    return found


def _input_of(value: Value | None) -> str:
    """Return the input that a number is copied from, "" for none."""
    while value is not None and value.producer.type in _PASSED_ON:
        value = value.producer.inputs[0]
    if value is None or value.producer.type != "Input" or not value.info.data_type.is_integer:
        return ""
    return value.producer.name
