# SPDX-License-Identifier: MIT
"""An interpreter's delegates, put into effect."""

from __future__ import annotations

import json
import logging
import sys
import weakref
from pathlib import Path

from armnn import CreationOptions, OptimizedNetwork, OptimizerOptions
from armnn.backends import OptionValue
from armnn.graph import Network
from armnn.graph.dot import to_dot
from armnn.profiling import Recorder, arm_nn_profile
from armnn.runtime import LoadedNetwork, Runtime, default_runtime
from armnn_compat.litert.delegates import Delegate
from armnn_compat.threads import taken_options


class Preparation:
    """Prepares and loads networks as a delegate says.

    Attributes:
        runtime: The runtime: its own one if the delegate names a directory of backends.
        profiler: Gets the events of runs, None if none are recorded.

    Args:
        owner: When it is gone, its profile is printed, and a runtime of its own closed.
        delegate: What was asked for.
        threads: How many threads a layer may use unless the delegate says so; 0 for all.
    """

    def __init__(self, owner: object, delegate: Delegate, threads: int) -> None:
        self._delegate = delegate
        wanted: dict[str, OptionValue] = {}
        chosen = threads if delegate.threads is None else delegate.threads
        if chosen > 0:
            wanted["NumberOfThreads"] = chosen
        if delegate.fast_math is not None:
            wanted["FastMathEnabled"] = delegate.fast_math
        self._wanted = wanted
        if delegate.log_level:
            logging.getLogger("armnn").setLevel(delegate.log_level)
        self.profiler = Recorder() if delegate.profiles else None
        self._last: list[Network] = []
        if self.profiler is not None:
            weakref.finalize(
                owner, _print_profile, self.profiler, self._last, events=delegate.profiles_events
            )
        self.runtime = default_runtime()
        if delegate.dynamic_backends_path:
            options = CreationOptions(dynamic_backends_path=delegate.dynamic_backends_path)
            self.runtime = Runtime(options)
            weakref.finalize(owner, self.runtime.close).atexit = False

    def optimize(self, network: Network) -> OptimizedNetwork:
        """Return a network prepared for the delegate's backends.

        Raises:
            BackendError: A backend that the delegate names cannot be used.
            OSError: The drawing cannot be written.
        """
        ids = list(self._delegate.backends) or None
        backends = self.runtime.registry.find_usable(ids)
        optimized = self.runtime.optimize(
            network,
            ids,
            options=OptimizerOptions(**self._delegate.optimizer),
            backend_options=taken_options(backends, self._wanted),
        )
        self._last[:] = [optimized.network]
        if self._delegate.dot_file:
            Path(self._delegate.dot_file).write_text(to_dot(optimized.network), encoding="utf-8")
        return optimized

    def load(self, optimized: OptimizedNetwork) -> LoadedNetwork:
        """Return a loaded network."""
        return self.runtime.load_network(optimized)


def _print_profile(recorder: Recorder, networks: list[Network], *, events: bool) -> None:
    """Print the profile, as Arm NN's delegate does."""
    recorded = recorder.events if events else ()
    profile = arm_nn_profile(recorded, networks[0] if networks else None)
    sys.stdout.write(json.dumps(profile, indent="\t") + "\n")
