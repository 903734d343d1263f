# SPDX-License-Identifier: MIT
"""The work of a child process that is measured."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.benchmarking.peers import PEERS
from armnn.errors import ArmnnError
from armnn_backend_api.processes import one_line

if TYPE_CHECKING:
    from armnn.benchmarking.peers import Arrays, Caller, MakeCaller
    from armnn.runtime import Runtime
    from armnn_backend_api.processes import Channel

THREADS: Final = "NumberOfThreads"
"""The option of a backend that bounds the threads of a call."""
_MOST_LATENCIES: Final = 20_000
"""Of one turn: more are thinned out evenly, so that an answer has a bounded size."""


def serve(request: Mapping[str, Any], channel: Channel) -> None:
    """Load the model; measure it when asked."""
    try:
        with np.load(Path(request["inputs"]), allow_pickle=False) as stored:
            arrays = [stored[f"input{number}"] for number in range(len(stored.files))]
        began = time.perf_counter()
        make_caller = _load(request, arrays)
        callers = [make_caller() for _ in range(request["streams"])]
        load_seconds = time.perf_counter() - began
        first = _nanoseconds(callers[0])
        channel.send(load_seconds=load_seconds, first_ns=first)
        with ThreadPoolExecutor(len(callers)) as pool:
            gc.disable()  # a collection in one contender's turn would count against it
            for seconds in channel.requests():
                began = time.perf_counter()
                found = [pool.submit(_latencies, caller, began + seconds) for caller in callers]
                every = sorted(ns for each in found for ns in each.result())
                elapsed = time.perf_counter() - began
                thinned = every[:: -(-len(every) // _MOST_LATENCIES)]
                channel.send(latencies_ns=thinned, runs=len(every), seconds=elapsed)
    except Exception as error:  # whatever a runtime raises is the verdict on it
        channel.send(fault=f"{type(error).__name__}: {one_line(error)}")


def _load(request: Mapping[str, Any], arrays: Arrays) -> MakeCaller:
    path, threads = Path(request["model"]), request["threads"]
    if request["peer"]:
        return PEERS[request["peer"]](path, arrays, threads)
    return _armnn(request, arrays, path, threads)


def _armnn(request: Mapping[str, Any], arrays: Arrays, path: Path, threads: int) -> MakeCaller:
    from armnn.backends import CreationOptions
    from armnn.optimizer import OptimizerOptions
    from armnn.parsing import parse
    from armnn.runtime import Runtime

    network = parse(path, parser_options=request["parser_options"])
    names = [layer.name for layer in network.inputs]
    infos = [layer.output.info for layer in network.inputs]
    feeds = {
        name: array.view(info.data_type.numpy_dtype) if array.dtype.kind == "V" else array
        for name, info, array in zip(names, infos, arrays, strict=True)
    }
    runtime = Runtime(CreationOptions(**request["creation_options"]))
    options = dict(request["options"])
    if threads:
        options["model_options"] = _with_threads(runtime, request, threads)
    shapes = {name: array.shape for name, array in feeds.items()}
    loaded = runtime.load_model(
        network, request["backends"], options=OptimizerOptions(**options), shapes=[shapes]
    )
    return lambda: lambda: loaded.run(feeds)


def _with_threads(
    runtime: Runtime, request: Mapping[str, Any], threads: int
) -> dict[str, dict[str, Any]]:
    """Return the backends' options, with the number of threads."""
    given: dict[str, dict[str, Any]] = dict(request["options"]["model_options"])
    for backend in runtime.registry.find_usable(request["backends"]):
        options = {THREADS: threads, **given.get(backend.id, {})}
        try:
            backend.create_model_context(options)
        except ArmnnError:
            continue  # it has no such option
        given[backend.id] = options
    return given


def _latencies(caller: Caller, until: float) -> list[int]:
    """Return the nanoseconds of calls until a time."""
    found = [_nanoseconds(caller)]
    while time.perf_counter() < until:
        found.append(_nanoseconds(caller))
    return found


def _nanoseconds(caller: Caller) -> int:
    began = time.perf_counter_ns()
    caller()
    return time.perf_counter_ns() - began
