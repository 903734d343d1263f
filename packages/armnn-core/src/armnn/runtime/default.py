# SPDX-License-Identifier: MIT
"""The module-level functions, in the runtime that they share."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Unpack

from armnn.backends import ProfilingSink
from armnn.backends.options import CreationOptions
from armnn.parsing import ParserOptions
from armnn.runtime.calls.inputs import InputShapes
from armnn.runtime.calls.properties import NetworkProperties
from armnn.runtime.loaded_network import LoadedNetwork
from armnn.runtime.request import BackendOptions
from armnn.runtime.runtime import Runtime, shared_runtime

if TYPE_CHECKING:
    from armnn.graph import Network
    from armnn.optimizer import OptimizedNetwork, OptimizerKeywords, OptimizerOptions


def default_runtime() -> Runtime:
    """Return the runtime of the module-level functions.

    It uses the backends of installed packages and the paths that the environment names.
    """
    return shared_runtime(CreationOptions())


def optimize(
    network: Network,
    backends: Sequence[str] | None = None,
    *,
    options: OptimizerOptions | None = None,
    backend_options: BackendOptions | None = None,
    profiler: ProfilingSink | None = None,
    cache_dir: str | PathLike[str] | None = None,
    **keywords: Unpack[OptimizerKeywords],
) -> OptimizedNetwork:
    """Call :meth:`Runtime.optimize` of the default runtime."""
    return default_runtime().optimize(
        network,
        backends,
        options=options,
        backend_options=backend_options,
        profiler=profiler,
        cache_dir=cache_dir,
        **keywords,
    )


def load_model(
    model: str | PathLike[str] | Network,
    backends: Sequence[str] | None = None,
    *,
    options: OptimizerOptions | None = None,
    backend_options: BackendOptions | None = None,
    shapes: Sequence[InputShapes] = (),
    quantize: bool = False,
    profiler: ProfilingSink | None = None,
    cache_dir: str | PathLike[str] | None = None,
    parser_options: ParserOptions | None = None,
    properties: NetworkProperties | None = None,
    **keywords: Unpack[OptimizerKeywords],
) -> LoadedNetwork:
    """Call :meth:`Runtime.load_model` of the default runtime."""
    return default_runtime().load_model(
        model,
        backends,
        options=options,
        backend_options=backend_options,
        shapes=shapes,
        quantize=quantize,
        profiler=profiler,
        cache_dir=cache_dir,
        parser_options=parser_options,
        properties=properties,
        **keywords,
    )
