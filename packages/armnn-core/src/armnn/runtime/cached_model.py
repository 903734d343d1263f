# SPDX-License-Identifier: MIT
"""Models that are loaded without being parsed and optimised again, from what the cache has of them.

Whatever is missing there, or does not fit any more, is prepared anew from the model's file.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from armnn.__about__ import __version__
from armnn._digest import file_sha256
from armnn.errors import ModelFileError
from armnn.optimizer import OptimizedNetwork, check_layer_names, phase
from armnn.parsing import parse, parser_version
from armnn.storage.folder import CacheFolder
from armnn.storage.model import ModelFacts, ModelStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from armnn.backends import ProfilingSink
    from armnn.graph import Network
    from armnn.optimizer import OptimizerOptions, Participants, Prepared
    from armnn.optimizer.sharing import SharedConstants
    from armnn.runtime.backends_in_use import BackendsInUse
    from armnn.storage.source import ModelSource
    from armnn.tensor import TensorInfo


def open_model(
    file: Path,
    source: ModelSource,
    options: OptimizerOptions,
    backends: BackendsInUse,
    profiler: ProfilingSink | None,
) -> OptimizedNetwork | StoredNetwork:
    """Return a model, taken from the cache that its source names or made and stored there.

    Args:
        file: The model's file.
        source: What the file was when it was asked for, and the arguments of ``load_model``.
        options: The caller's decisions.
        backends: Those of the runtime.
        profiler: Where the phases are recorded, if anywhere.

    Raises:
        ModelFileError: The file cannot be read or understood, or changes meanwhile.
    """
    wishes = source.arguments
    cache = CacheFolder(wishes["cache_dir"], profiler)
    asked = (wishes["backends"], wishes["backend_options"] or {}, options, profiler, cache)
    participants = backends.participants(None, *asked)
    store = ModelStore(cache, _dependencies(file, source, backends.described(participants)))
    facts = store.facts()
    if facts is not None:
        participants.compute_as(facts.quantized_arithmetic)

    def make() -> OptimizedNetwork:
        """Parse the model late, for shapes that the cache does not have."""
        if file_sha256(file) != source.sha256:
            raise ModelFileError(
                f"the model {str(file)!r} has changed since it was loaded: load it again"
            )
        return OptimizedNetwork(parse(file), participants, options, may_change=True)

    if facts is not None:
        return StoredNetwork(store, facts, participants, options, make)
    with phase(profiler, "parse"):
        network = parse(file)
    check_layer_names(network, options.layer_backends)
    if not _is_storable(network):
        participants = backends.participants(network, *asked)
        return OptimizedNetwork(network, participants, options, may_change=True)
    participants.compute_as(network.quantized_arithmetic)
    made = OptimizedNetwork(network, participants, options, may_change=True)
    facts = ModelFacts.of(made, network.quantized_arithmetic)
    store.keep_facts(facts)
    return StoredNetwork(store, facts, participants, options, lambda: made)


def _dependencies(file: Path, source: ModelSource, backends: Sequence[str]) -> dict[str, Any]:
    """Return all that the preparation of a model depends on, as JSON can hold it."""
    named = ("backends", "backend_options", "layer_backends", "strict")
    return {
        "model": source.sha256,
        "suffix": file.suffix,
        "core": __version__,
        "parser": parser_version(file.suffix),
        "participants": list(backends),
        **{name: repr(source.arguments[name]) for name in named},
    }


def _is_storable(network: Network) -> bool:
    """Whether the file alone says what the network is, once its shapes are known."""
    return network.is_self_contained and all(layer.backend_hint is None for layer in network.layers)


class StoredNetwork:
    """A model as :class:`OptimizedNetwork` shows it, parsed only when the cache lacks something.

    Attributes:
        facts: What is known of the model.
        participants: The backends that take part.
        options: The caller's decisions.
    """

    def __init__(
        self,
        store: ModelStore,
        facts: ModelFacts,
        participants: Participants,
        options: OptimizerOptions,
        make: Callable[[], OptimizedNetwork],
    ) -> None:
        """Stand for a model.

        Args:
            store: What the cache has of it.
            facts: What is known of it.
            participants: The backends that take part.
            options: The caller's decisions.
            make: Parses and optimises it; is called once, if ever.
        """
        self.facts = facts
        self.participants = participants
        self.options = options
        self._store = store
        self._make = make
        self._made: OptimizedNetwork | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """See :class:`OptimizedNetwork`; so for all that follows."""
        return self.facts.name

    @property
    def metadata(self) -> dict[str, str]:
        return dict(self.facts.metadata)

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        return dict(self.facts.inputs)

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        return dict(self.facts.outputs)

    @property
    def value_inputs(self) -> dict[str, int]:
        return dict(self.facts.value_inputs)

    @property
    def is_static(self) -> bool:
        return self.facts.is_static

    @property
    def constants(self) -> SharedConstants:
        return self._optimized().constants

    def specialise(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Prepared:
        prepared = self._store.prepared(shapes, values, self.facts, self.participants)
        if prepared is None:
            prepared = self._optimized().specialise(shapes, values)
            self._store.keep(shapes, values, prepared)
        return prepared

    def _optimized(self) -> OptimizedNetwork:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made
