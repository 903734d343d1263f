# SPDX-License-Identifier: MIT
"""Loading a model from a cache instead of parsing it.

An entry that is missing, or does not fit any more, is made anew from the model's file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os.path import splitext
from typing import TYPE_CHECKING, Any

from armnn.__about__ import __version__
from armnn._files import file_sha256
from armnn._load_times import phase
from armnn.backends import ProfilingSink
from armnn.backends.cache import StaleEntryError
from armnn.errors import ModelFileError
from armnn.parsing import parse, parser_version
from armnn.runtime.backends_in_use import BackendsInUse
from armnn.runtime.request import LoadRequest, parsed
from armnn.storage.folder import CacheFolder
from armnn.storage.model import ModelFacts, ModelStore, StoredNetwork
from armnn.storage.programs import ModelPrograms
from armnn.storage.stamps import stamp_of

if TYPE_CHECKING:
    from armnn.graph import Network
    from armnn.optimizer import OptimizedNetwork


def open_model(
    file: str,
    origin: LoadRequest,
    cache: CacheFolder,
    backends: BackendsInUse,
    profiler: ProfilingSink | None,
) -> OptimizedNetwork | StoredNetwork:
    """Return a model, from a cache or stored there.

    Args:
        file: The model's file.
        origin: How the caller wants it loaded.
        cache: The cache.
        backends: Those of the runtime.
        profiler: Where the phases are recorded, if anywhere.

    Raises:
        ModelFileError: The file cannot be read or understood, or changes meanwhile, as may files
            beside it.
    """
    source, request, options = origin.source, origin.request, origin.request.options
    stamp, digest = stamp_of(file), cache.digests.of(file)
    source.known_sha256[:] = [digest]
    programs = ModelPrograms(cache)
    participants = backends.participants(None, request, profiler, programs)
    described = backends.described(participants)
    store = ModelStore(file, cache, _dependencies(file, digest, origin, described), programs)
    facts = store.facts()
    if facts is not None:
        participants.compute_as(facts.quantized_arithmetic)

    def make() -> OptimizedNetwork:
        """Parse the model, for shapes that the cache lacks."""
        if file_sha256(file) != digest:
            raise ModelFileError(
                f"the model {file!r} has changed since it was loaded: load it again"
            )
        from armnn.optimizer import OptimizedNetwork  # late, as all that the cache spares

        network = parse(file, parser_options=origin.parser_options)
        made = OptimizedNetwork(network, participants, options, may_change=True)
        with _unchanged(file):
            store.files_of(made.network.external_files)
        return made

    if facts is not None:
        source.digests.update(store.files)
        return StoredNetwork(store, facts, participants, options, make)
    from armnn.optimizer import OptimizedNetwork, check_layer_names

    with phase(profiler, "parse"):
        network, again = parsed(file, request, origin.parser_options)
    source.read.update(network.external_files)
    if stamp_of(file) != stamp:
        raise ModelFileError(f"the model {file!r} changed while it was loaded: load it again")
    check_layer_names(network, options.layer_backends)
    if not _is_storable(network):
        participants = backends.participants(network, request, profiler, cache)
        return OptimizedNetwork(network, participants, options, may_change=True, again=again)
    participants.compute_as(network.quantized_arithmetic)
    made = OptimizedNetwork(network, participants, options, may_change=True, again=again)
    facts = ModelFacts.of(made, network.quantized_arithmetic)
    if not facts.is_static:
        if not origin.shapes:
            made.check_backends()
        with _unchanged(file):
            store.keep_facts(facts, made.network.external_files)
    return StoredNetwork(store, facts, participants, options, lambda: made)


def _dependencies(
    file: str, digest: str, origin: LoadRequest, backends: Sequence[str]
) -> dict[str, Any]:
    """Return what the preparation of a model depends on."""
    suffix = splitext(file)[1]
    return {
        "model": digest,
        "suffix": suffix,
        "core": __version__,
        "parser": parser_version(suffix),
        "participants": list(backends),
        "parser options": dict(origin.parser_options),
        "request": origin.request.cache_key,
    }


def _is_storable(network: Network) -> bool:
    """Return whether files and shapes determine the network."""
    from armnn.graph.network import UNNAMED  # late: a load from the cache has no network

    are_named = UNNAMED not in network.external_files
    return are_named and all(layer.backend_hint is None for layer in network.layers)


@contextmanager
def _unchanged(file: str) -> Iterator[None]:
    """Raise ModelFileError where a file beside a model has changed."""
    try:
        yield
    except StaleEntryError as error:
        raise ModelFileError(
            f"the model {file!r} has changed since it was loaded: {error}; load it again"
        ) from error
