# SPDX-License-Identifier: MIT
"""Partition of a network into the fewest parts per backend, and what their borders cost.

Each part can be handed to one backend. Layers with the same key (a backend) are put together as
long as no path between two of them leads outside and back: otherwise the part would have to wait
for itself. The result is maximal: no two parts of the same key can be merged without making such a
cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from armnn.graph import Layer, Network, Value
from armnn.optimizer.plan import CARRIERS

Key: TypeAlias = Callable[["Layer"], "Hashable | None"]
"""Says to which group a layer belongs; None for layers that belong to no subgraph."""


def partition(network: Network, key: Key) -> list[tuple[Layer, ...]]:
    """Return the maximal subgraphs of layers with one key.

    Args:
        network: Is not changed.
        key: None leaves a layer out, but a path through it still counts.

    Returns:
        The layers of each subgraph in topological order; subgraphs in the order of their first
        layers. The same network always gives the same result.
    """
    order = [layer for layer in network.topological_order() if layer.data is None]
    inside = [layer for layer in order if key(layer) is not None]
    if _are_one(order, inside, key):
        return [tuple(inside)]
    position = {layer: index for index, layer in enumerate(order)}
    clusters = _clusters_by_level(order, key)
    _merge(clusters)
    subgraphs = [
        tuple(sorted(cluster.layers, key=position.__getitem__))
        for cluster in clusters
        if cluster.key is not None
    ]
    return sorted(subgraphs, key=lambda layers: position[layers[0]])


def _are_one(order: list[Layer], inside: list[Layer], key: Key) -> bool:
    """Return whether layers are one subgraph, as those of most networks are.

    It is so if they have one key and all others are at the ends: no path leads out and back.

    Args:
        order: All layers.
        inside: The layers with a key.
        key: See :func:`partition`.
    """
    if len(set(map(key, inside))) != 1:
        return False
    with_key = dict.fromkeys(inside)
    return all(layer in with_key or not layer.inputs or not layer.is_read for layer in order)


class _Cluster:
    """Layers of one subgraph.

    ``after`` and ``before`` are bit sets of cluster positions.
    """

    __slots__ = ("after", "before", "consumers", "key", "layers")

    def __init__(self, key: Hashable | None) -> None:
        self.key = key
        self.layers: list[Layer] = []
        self.consumers: dict[_Cluster, None] = {}
        self.before = 0
        self.after = 0


def _clusters_by_level(order: list[Layer], key: Key) -> list[_Cluster]:
    """Return clusters of layers with the same key and level.

    The level of a layer is how often the key changes on the way to it, at most. It never falls
    along an edge and rises wherever the key changes, so the clusters form no cycle.
    This finds nearly all of the partition in one walk.
    """
    clusters: dict[tuple[Hashable, int, Layer | None], _Cluster] = {}
    cluster_of: dict[Layer, tuple[_Cluster, int]] = {}
    for layer in order:
        own = key(layer)
        producers = dict.fromkeys(
            value.producer for value in layer.inputs if value is not None and value.constant is None
        )
        level = 0
        for producer in producers:
            cluster, reached = cluster_of[producer]
            level = max(level, reached if cluster.key == own and own is not None else reached + 1)
        place = (own, level, layer if own is None else None)
        cluster = clusters.setdefault(place, _Cluster(own))
        cluster.layers.append(layer)
        cluster_of[layer] = (cluster, level)
        for producer in producers:
            if cluster_of[producer][0] is not cluster:
                cluster_of[producer][0].consumers[cluster] = None
    return list(clusters.values())


def _merge(clusters: list[_Cluster]) -> None:
    """Merge pairs with the same key until any other pair would make a cycle."""
    _reach(clusters)
    changed = True
    while changed:
        changed = False
        for first_index in range(len(clusters)):
            second_index = first_index + 1
            while second_index < len(clusters):
                first, second = clusters[first_index], clusters[second_index]
                if first.key is not None and first.key == second.key and _mergeable(first, second):
                    _absorb(first, second, clusters)
                    _reach(clusters)
                    changed = True
                else:
                    second_index += 1


def _mergeable(first: _Cluster, second: _Cluster) -> bool:
    """Return whether no third cluster is between the two."""
    return not (first.after & second.before or second.after & first.before)


def _absorb(first: _Cluster, second: _Cluster, clusters: list[_Cluster]) -> None:
    clusters.remove(second)
    first.layers += second.layers
    first.consumers.update(second.consumers)
    for cluster in clusters:
        if second in cluster.consumers:
            del cluster.consumers[second]
            cluster.consumers[first] = None
    first.consumers.pop(first, None)


def _reach(clusters: list[_Cluster]) -> None:
    """Compute the clusters before and after each cluster."""
    bit = {cluster: 1 << index for index, cluster in enumerate(clusters)}
    for cluster in clusters:
        cluster.before = cluster.after = 0
    order = _topological(clusters)
    for cluster in order:
        for consumer in cluster.consumers:
            consumer.before |= cluster.before | bit[cluster]
    for cluster in reversed(order):
        for consumer in cluster.consumers:
            cluster.after |= consumer.after | bit[consumer]


def _topological(clusters: list[_Cluster]) -> list[_Cluster]:
    waiting = dict.fromkeys(clusters, 0)
    for cluster in clusters:
        for consumer in cluster.consumers:
            waiting[consumer] += 1
    order = [cluster for cluster, count in waiting.items() if count == 0]
    for cluster in order:
        for consumer in cluster.consumers:
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                order.append(consumer)
    return order


@dataclass(frozen=True, slots=True)
class Border:
    """A tensor that a part reads from another part, or an input of the network that is copied.

    Attributes:
        tensor: The name of the layer that makes it; ":" and a number follow except for output 0.
        source: The id of the backend that makes it; "" for an input of the network.
        bytes: Its size, None where only a run knows it.
        copied: Whether it is copied; otherwise both backends use the same memory.
    """

    tensor: str
    source: str
    bytes: int | None
    copied: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the border as data for JSON."""
        return {
            "tensor": self.tensor,
            "source": self.source,
            "bytes": self.bytes,
            "copied": self.copied,
        }


@dataclass(frozen=True, slots=True)
class Part:
    """Layers that one backend runs together, with their borders.

    Attributes:
        name: The name of its first layer.
        backend: The id of the backend.
        layers: How many layers it has.
        specialisation: The shapes of the inputs for which this holds; "" if they are fixed.
        borders: The values that it reads from other parts.
    """

    name: str
    backend: str
    layers: int
    specialisation: str
    borders: tuple[Border, ...]

    @property
    def border_bytes(self) -> int:
        """The known bytes that it reads from other parts."""
        return sum(border.bytes or 0 for border in self.borders)

    @property
    def copied_bytes(self) -> int:
        """The bytes of them that are copied."""
        return sum(border.bytes or 0 for border in self.borders if border.copied)

    def as_dict(self) -> dict[str, Any]:
        """Return the part as data for JSON."""
        return {
            "name": self.name,
            "backend": self.backend,
            "layers": self.layers,
            "specialisation": self.specialisation,
            "borders": [border.as_dict() for border in self.borders],
        }


def parts_of(
    network: Network, origins: Mapping[Layer, tuple[str, ...]], label: str
) -> tuple[Part, ...]:
    """Return the parts of a network whose tensors have places.

    Args:
        network: Every layer that computes knows its backend.
        origins: The names of the layers that a layer was compiled from, in running order.
        label: Names the specialization; "" if there is only one.
    """

    def backend(layer: Layer) -> str | None:
        return None if layer.type in CARRIERS else layer.backend

    groups = partition(network, backend)
    part_of = {layer: number for number, group in enumerate(groups) for layer in group}
    borders: list[dict[tuple[Value, bool], None]] = [{} for _ in groups]
    for layer in (*network.inputs, *part_of):
        number = part_of.get(layer)
        for value in layer.outputs:
            for reader, copied in _readers(value):
                other = part_of.get(reader, number)
                if other is not None and other != number and (copied or number is not None):
                    borders[other][value, copied] = None
    found = []
    for group, crossing in zip(groups, borders, strict=True):
        names = [name for layer in group for name in origins.get(layer, (layer.name,))]
        rows = tuple(_border(value, copied) for value, copied in crossing)
        found.append(Part(names[0], group[0].backend or "", len(names), label, rows))
    return tuple(found)


def _readers(value: Value, copied: bool = False) -> Iterator[tuple[Layer, bool]]:
    """Yield a value's readers, also behind carriers."""
    for reader in value.consumers:
        if reader.type in CARRIERS:
            yield from _readers(reader.output, copied or reader.type == "MemCopy")
        else:
            yield reader, copied


def _border(value: Value, copied: bool) -> Border:
    name = value.producer.name + (f":{value.index}" if value.index else "")
    size = value.info.size_bytes if value.info.is_static else None
    return Border(name, value.producer.backend or "", size, copied)
