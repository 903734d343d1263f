# SPDX-License-Identifier: MIT
"""The kinds of memory of tensors, and the layers that copy them.

The strategy is Arm NN's (``SelectTensorHandleStrategy``), with another measure: of the kinds of
memory that its producer offers, a tensor is in the one that it leaves least often. A reader of
another kind gets an import of the memory if both sides can do that, else a copy, which all readers
of that kind share. A reader that prefers another kind but takes this one, too, would bring the
tensor there in each run itself: a single one does, but two get a copy, so that it crosses once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from armnn.backends import HOST_FACTORY_ID, TensorHandleFactories
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.plan import owner_of
from armnn.types import MemorySource

if TYPE_CHECKING:
    from armnn.graph import Layer, Network, Value

HOST: Sequence[str] = (HOST_FACTORY_ID,)

_VENDORS_OWN: Final = 12
"""DLPack's type of devices that it does not know (``kDLExtDev``)."""

Preferences: TypeAlias = "Callable[[Layer, int], Sequence[str]]"
"""The factories of an input or output of a layer, by its place."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryAssignment:
    """The memory of each of a network's tensors.

    Attributes:
        factories: The id of the tensor-handle factory of each value that layers make; constants
            are not in it, each reader gets them in its own kind of memory.
        preferences: The factories that the backend of a layer works with for an input, the best
            first.
    """

    factories: Mapping[Value, str]
    preferences: Preferences

    def factory_of_constant(self, layer: Layer, index: int) -> str:
        """Return the id of the factory of a constant that a layer reads."""
        preferences = self.preferences(layer, index)
        return HOST_FACTORY_ID if HOST_FACTORY_ID in preferences else preferences[0]


def place_tensors(
    network: Network,
    preferences_of_backend: Mapping[str, Sequence[str]],
    registered: TensorHandleFactories,
    options: OptimizerOptions,
    host_sources: Mapping[str, MemorySource],
    places_on_host: Callable[[Layer], tuple[Collection[int], Collection[int]]] | None = None,
) -> MemoryAssignment:
    """Choose each value's memory and insert MemImport and MemCopy.

    Args:
        network: Its layers are assigned to backends.
        preferences_of_backend: The factory ids that each backend works with; none means the host.
        registered: The factories by id; the host's is not among them.
        options: Whether inputs and outputs prefer memory that imports or exports.
        host_sources: The source of the host memory of a backend's tensors, by backend id, where an
            allocator of the user's gives another one than plain memory.
        places_on_host: The inputs and the outputs of a layer that are in host memory in any case.
    """

    def imports(factory: str) -> bool:
        return factory not in registered or bool(registered[factory].import_sources)

    def exports(factory: str) -> bool:
        return factory not in registered or bool(registered[factory].export_sources)

    def crosses(layer: Layer, value: Value) -> Sequence[Callable[[str], bool]]:
        """Return the conditions on the memory of a crossing tensor."""
        read = any(reader.type == "Output" for reader, _ in value.uses)
        wishes = [imports] if options.import_enabled and layer.type == "Input" else []
        return wishes + ([exports] if options.export_enabled and read else [])

    @functools.cache
    def on_host(layer: Layer) -> tuple[Collection[int], Collection[int]]:
        return ((), ()) if places_on_host is None else places_on_host(layer)

    def read_in(layer: Layer, index: int) -> Sequence[str]:
        if index in on_host(layer)[0]:
            return HOST
        return preferences_of_backend.get(layer.backend or "", ()) or HOST

    def made_in(layer: Layer, index: int) -> Sequence[str]:
        if index in on_host(layer)[1]:
            return HOST
        return preferences_of_backend.get(layer.backend or "", ()) or HOST

    factories: dict[Value, str] = {}
    for layer in network.topological_order():
        if layer.data is not None:
            continue
        for value in layer.outputs:
            factories[value] = _choose(value, read_in, made_in, crosses(layer, value))
            source = host_sources.get(owner_of(value), MemorySource.MALLOC)
            _carry(network, value, factories, read_in, registered, source)
    return MemoryAssignment(factories, read_in)


def _readers(value: Value) -> list[tuple[Layer, int]]:
    """Return a value's readers without Output layers.

    The runtime maps whatever those read.
    """
    return [(layer, index) for layer, index in value.uses if layer.type != "Output"]


def _choose(
    value: Value,
    read_in: Preferences,
    made_in: Preferences,
    wishes: Sequence[Callable[[str], bool]],
) -> str:
    """Return the factory of the memory that a value leaves least often.

    Factories that fulfil every wish come first, then those that fewest readers refuse. An input is
    from the host, another value in the memory that its backend prefers.
    """
    wanted = [read_in(layer, index) for layer, index in _readers(value)]
    is_input = value.producer.type == "Input"
    offered = made_in(value.producer, value.index)
    home = HOST_FACTORY_ID if is_input else offered[0]

    def crossings(factory: str) -> tuple[int, int]:
        elsewhere = {each[0] for each in wanted} - {factory}
        refusals = sum(factory not in each for each in wanted)
        return len(elsewhere) + (factory != home), refusals

    if is_input:
        # The runtime fills it through map(), so it may be wherever its readers like it best.
        offers = list(dict.fromkeys(f for each in wanted for f in each)) or HOST
    else:
        offers = offered
    offers = [each for each in offers if all(wish(each) for wish in wishes)] or offers
    return min(offers, key=crossings)


def _carry(
    network: Network,
    value: Value,
    factories: dict[Value, str],
    read_in: Preferences,
    registered: TensorHandleFactories,
    host_source: MemorySource,
) -> None:
    """Insert one import or copy per other kind of memory."""
    carried: dict[str, Value] = {}
    readers = _readers(value)
    preferring: dict[str, dict[Layer, None]] = {}
    for layer, index in readers:
        preferring.setdefault(read_in(layer, index)[0], {})[layer] = None
    for layer, index in readers:
        wanted = read_in(layer, index)
        target = wanted[0]
        is_alone = len(preferring[target]) == 1 or not value.info.is_static
        if factories[value] == target or (is_alone and factories[value] in wanted):
            continue
        if target not in carried:
            can_import = _can_import(factories[value], target, registered, host_source)
            kind = "MemImport" if can_import else "MemCopy"
            source = value.producer
            name = f"[ {source.name} ({value.index}) -> {layer.name} ({index}) ]"
            carrier = network.add(kind, [value], name=network.unique_name(name))
            carrier.backend = layer.backend or source.backend  # the runtime itself runs Debug
            carried[target] = carrier.output
            factories[carrier.output] = target
        network.replace_input(layer, index, carried[target])


def _can_import(
    source: str, target: str, registered: TensorHandleFactories, host_source: MemorySource
) -> bool:
    """Return whether tensors of one factory may use memory of another.

    They may on a kind of memory that the other one exports, and on a device that both import from,
    except devices that vendors number as they like. Where an import fails, the tensor is copied.
    """
    importer = registered.import_factory(target)
    if importer is None:
        return False
    if source not in registered:
        return host_source in importer.import_sources
    exporter = registered[source]
    common = exporter.import_devices & importer.import_devices
    is_common = any(kind != _VENDORS_OWN for kind, _ in common)
    return is_common or bool(exporter.export_sources & importer.import_sources)
