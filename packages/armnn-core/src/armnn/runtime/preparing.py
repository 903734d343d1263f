# SPDX-License-Identifier: MIT
"""What loading needs beside the network: backends, cache, memory, sink."""

from __future__ import annotations

from os.path import splitext
from typing import TYPE_CHECKING, Final

from armnn._dataclasses import replace
from armnn._load_times import phase
from armnn.backends.options import DEFAULT_STRATEGY

if TYPE_CHECKING:
    from armnn.backends import CreationOptions, ProfilingSink
    from armnn.graph import Network
    from armnn.optimizer import OptimizerOptions
    from armnn.parsing import ParserOptions
    from armnn.runtime.backends_in_use import BackendsInUse
    from armnn.runtime.memory.strategies import MemoryStrategies
    from armnn.runtime.plans.observed import TensorSink
    from armnn.runtime.request import OptimizationRequest
    from armnn.storage.folder import CacheFolder

PREPARED: Final = ".armnn-prepared"
"""The suffix of models that :meth:`armnn.Runtime.compile_network` wrote."""


def with_backends(
    request: OptimizationRequest,
    model: str | Network,
    backends: BackendsInUse,
    creation_options: CreationOptions,
    profiler: ProfilingSink | None,
    parser_options: ParserOptions | None = None,
) -> OptimizationRequest:
    """Return a request with backends in place of "auto".

    Args:
        request: How a caller wants the model prepared.
        model: Its file, or the network.
        backends: Those of the runtime.
        creation_options: Those of the runtime.
        profiler: Where the phase is recorded, if anywhere.
        parser_options: Those of the file.

    Raises:
        PlacementError: See :func:`armnn.verdicts.auto.choose`.
    """
    if not request.is_automatic:
        return request
    if isinstance(model, str) and splitext(model)[1] == PREPARED:
        return replace(request, backends=None)  # they were chosen when it was written
    from pathlib import Path

    from armnn.verdicts.auto import choose  # late: few networks are placed by verdicts

    with phase(profiler, "choose backends"):
        registry = backends.registry
        file = Path(model) if isinstance(model, str) else model
        found = choose(file, request.options, registry, creation_options, parser_options)
    return replace(request, backends=found.backends, options=found.options, choice=found.text)


def tensor_sink(options: OptimizerOptions) -> TensorSink | None:
    """Return what gets intermediate tensors, if they are shown."""
    if not options.shows_tensors:
        return None
    from armnn.runtime.plans.observed import TensorSink  # late: few networks are debugged

    return TensorSink(options)


def cache_folder(
    request: OptimizationRequest, profiler: ProfilingSink | None
) -> CacheFolder | None:
    """Return the cache of a request, if it has one."""
    if request.cache_dir is None:
        return None
    from armnn.storage.folder import CacheFolder  # late: few networks have a cache

    return CacheFolder(request.cache_dir, profiler)


def memory_strategies(options: CreationOptions) -> MemoryStrategies | None:
    """Return the memory strategies, None for the default.

    Raises:
        InvalidArgumentError: There is none of a name, or one cannot be imported.
    """
    if options.memory_strategy == DEFAULT_STRATEGY and not options.memory_strategies:
        return None
    from armnn.runtime.memory.strategies import MemoryStrategies  # late: few runtimes name one

    return MemoryStrategies(options.memory_strategy, options.memory_strategies)
