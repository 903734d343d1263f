# SPDX-License-Identifier: MIT
"""The work of a child process that is measured: this runtime, or another one.

Another runtime loads a model and makes callers. A caller runs the model once; calls of different
callers may overlap. None of these packages is a dependency: a runtime that is not installed is a
fault of the measurement that names it.
"""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.backends import CreationOptions
from armnn.errors import InvalidArgumentError
from armnn.optimizer import OptimizerOptions
from armnn.parsing import parse
from armnn.runtime import Runtime
from armnn_backend_api.processes import Channel, one_line
from armnn_tools.modules import run_modules
from armnn_tools.threads import with_threads

Arrays: TypeAlias = "Sequence[NDArray[Any]]"
"""One array per input, in the order of the model."""
Caller: TypeAlias = "Callable[[], object]"
MakeCaller: TypeAlias = "Callable[[], Caller]"
Loader: TypeAlias = "Callable[[Path, Arrays, int], MakeCaller]"
"""Gets the file, the inputs and the number of threads of a call; 0 means the runtime's choice."""


def _onnxruntime(path: Path, arrays: Arrays, threads: int) -> MakeCaller:
    runtime = _module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    feeds = dict(zip(names, arrays, strict=True))
    return lambda: lambda: session.run(None, feeds)


def _openvino(path: Path, arrays: Arrays, threads: int) -> MakeCaller:
    core = _module("openvino").Core()
    config = {"PERFORMANCE_HINT": "LATENCY"}
    if threads:
        config["INFERENCE_NUM_THREADS"] = str(threads)
    compiled = core.compile_model(path, "CPU", config)

    def caller() -> Caller:
        request = compiled.create_infer_request()
        return lambda: request.infer(list(arrays), share_inputs=True, share_outputs=True)

    return caller


def _litert(path: Path, arrays: Arrays, threads: int) -> MakeCaller:
    module = _module("ai_edge_litert.interpreter", "ai-edge-litert")

    def caller() -> Caller:
        interpreter = module.Interpreter(str(path), num_threads=threads or None)
        places = [each["index"] for each in interpreter.get_input_details()]
        for place, array in zip(places, arrays, strict=True):
            interpreter.resize_tensor_input(place, array.shape)
        interpreter.allocate_tensors()
        outputs = [each["index"] for each in interpreter.get_output_details()]

        def call() -> list[Any]:
            for place, array in zip(places, arrays, strict=True):
                interpreter.set_tensor(place, array)
            interpreter.invoke()
            return [interpreter.get_tensor(place) for place in outputs]

        return call

    return caller


PEERS: Final[dict[str, Loader]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "litert": _litert,
}
"""The other runtimes by the names that users give them."""


def _module(name: str, distribution: str = "") -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InvalidArgumentError(
            f"{name.partition('.')[0]} cannot be imported ({error}): install it with "
            f"'pip install {distribution or name}', or leave it out of --against"
        ) from error


_MOST_LATENCIES: Final = 20_000
"""The most times of one turn; more are thinned out evenly, so that replies are bounded."""


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
    run_modules(request.get("modules", ()))
    # Late, as other runtimes are: the time of a load includes what it imports.
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
        backends = runtime.registry.find_usable(request["backends"])
        options["model_options"] = with_threads(backends, threads, options["model_options"])
    shapes = {name: array.shape for name, array in feeds.items()}
    loaded = runtime.load_model(
        network, request["backends"], options=OptimizerOptions(**options), shapes=[shapes]
    )
    return lambda: lambda: loaded.run(feeds)


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
