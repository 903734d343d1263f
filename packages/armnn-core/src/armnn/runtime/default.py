# SPDX-License-Identifier: MIT
"""The module-level functions, and the runtimes that they share in a process."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from armnn.backends import CreationOptions
from armnn.runtime.runtime import Runtime

if TYPE_CHECKING:
    from armnn.backends import ProfilingSink
    from armnn.graph import Network
    from armnn.optimizer import OptimizedNetwork
    from armnn.runtime.backends_in_use import BackendOptions
    from armnn.runtime.loaded_network import InputShapes, LoadedNetwork

_lock = threading.Lock()
_runtimes: list[Runtime] = []


def runtime_for(options: CreationOptions) -> Runtime:
    """Return a runtime with these options that the process shares; made anew once it is closed."""
    with _lock:
        _runtimes[:] = [runtime for runtime in _runtimes if not runtime.is_closed]
        for runtime in _runtimes:
            if runtime.options == options:
                return runtime
        _runtimes.append(Runtime(options))
        return _runtimes[-1]


def default_runtime() -> Runtime:
    """Return the runtime of the module-level functions.

    It uses the backends of installed packages and the paths that the environment names.
    """
    return runtime_for(CreationOptions())


def optimize(
    network: Network,
    backends: Sequence[str] | None = None,
    *,
    backend_options: BackendOptions | None = None,
    layer_backends: Mapping[str, str] | None = None,
    strict: bool = False,
    profiler: ProfilingSink | None = None,
    cache_dir: str | PathLike[str] | None = None,
) -> OptimizedNetwork:
    """Prepare a network for its backends in the default runtime; see :meth:`Runtime.optimize`."""
    return default_runtime().optimize(
        network,
        backends,
        backend_options=backend_options,
        layer_backends=layer_backends,
        strict=strict,
        profiler=profiler,
        cache_dir=cache_dir,
    )


def load_model(
    model: str | PathLike[str] | Network,
    backends: Sequence[str] | None = None,
    *,
    backend_options: BackendOptions | None = None,
    layer_backends: Mapping[str, str] | None = None,
    strict: bool = False,
    shapes: Sequence[InputShapes] = (),
    quantize: bool = False,
    profiler: ProfilingSink | None = None,
    cache_dir: str | PathLike[str] | None = None,
) -> LoadedNetwork:
    """Parse, optimise and load a model in the default runtime; see :meth:`Runtime.load_model`."""
    return default_runtime().load_model(
        model,
        backends,
        backend_options=backend_options,
        layer_backends=layer_backends,
        strict=strict,
        shapes=shapes,
        quantize=quantize,
        profiler=profiler,
        cache_dir=cache_dir,
    )
