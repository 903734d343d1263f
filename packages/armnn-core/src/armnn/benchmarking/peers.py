# SPDX-License-Identifier: MIT
"""Other runtimes, which load a model and make callers.

A caller runs the model once; calls of different callers may overlap. None of these packages is a
dependency: a runtime that is not installed is a fault of the measurement that names it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
