# SPDX-License-Identifier: MIT
"""Runs of a model file on another runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._arguments import file_path
from armnn.errors import ExecutionError, InvalidArgumentError, NotInstalledError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.runtime import LoadedNetwork

Arrays = Mapping[str, "NDArray[Any]"]


def run_elsewhere(
    runtime: str, path: str | os.PathLike[str], loaded: LoadedNetwork, inputs: Arrays
) -> dict[str, NDArray[Any]]:
    """Return what another runtime computes of a model file.

    onnxruntime computes without its optimisations, and LiteRT with its reference kernels: both
    define what a model means, which their fast kernels approximate.

    Args:
        runtime: "onnxruntime" or "litert".
        path: The file that the network was loaded from.
        loaded: The network, for the names of its outputs.
        inputs: One array per input, as stored.

    Raises:
        InvalidArgumentError: The runtime is not known, reads other files, or keeps a state inside.
        NotInstalledError: The runtime is not installed.
        ExecutionError: It cannot run the model.
    """
    file = Path(file_path(path, "the path of the model"))
    if runtime not in RUNTIMES:
        raise InvalidArgumentError(
            f"the runtime to compare with is {runtime!r}: expected one of {', '.join(RUNTIMES)}"
        )
    suffix, module, distribution, run = RUNTIMES[runtime]
    if file.suffix.lower() != suffix:
        raise InvalidArgumentError(
            f"{runtime} cannot run {str(file)!r}: expected a file ending in {suffix}"
        )
    try:
        library = import_module(module)
    except ImportError as error:
        raise NotInstalledError(
            f"{runtime} is not installed, to compare with it: pip install {distribution}"
        ) from error
    try:
        return run(library, file, loaded, inputs)
    except InvalidArgumentError:
        raise
    except Exception as error:
        raise ExecutionError(f"{runtime} cannot run {str(file)!r}: {error}") from error


def _run_onnxruntime(
    library: Any, file: Path, loaded: LoadedNetwork, inputs: Arrays
) -> dict[str, NDArray[Any]]:
    options = library.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = library.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = library.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs() if output.name in loaded.outputs]
    found = session.run(names, {given.name: inputs[given.name] for given in session.get_inputs()})
    return dict(zip(names, map(np.asarray, found), strict=True))


def _run_litert(
    library: Any, file: Path, loaded: LoadedNetwork, inputs: Arrays
) -> dict[str, NDArray[Any]]:
    states = [name for name in inputs if name in loaded.outputs]
    for name in states:
        _check_first_value(name, inputs[name], loaded.metadata.get(f"initial {name}", "0"))
    interpreter = library.Interpreter(
        model_path=str(file), experimental_op_resolver_type=library.OpResolverType.BUILTIN_REF
    )
    given = [array for name, array in inputs.items() if name not in states]
    details = interpreter.get_input_details()
    names = [name for name in loaded.outputs if name not in states]
    if len(given) != len(details) or len(names) != len(interpreter.get_output_details()):
        raise InvalidArgumentError(
            f"litert cannot be compared with: {str(file)!r} has {len(details)} inputs and "
            f"{len(interpreter.get_output_details())} outputs there, {len(given)} and "
            f"{len(names)} here; choose neither signature nor subgraph"
        )
    for detail, array in zip(details, given, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, given, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    made = interpreter.get_output_details()
    arrays = (np.array(interpreter.get_tensor(detail["index"])) for detail in made)
    return dict(zip(names, arrays, strict=True))


def _check_first_value(name: str, array: NDArray[Any], first: str) -> None:
    """Raise InvalidArgumentError unless a state is as a run begins."""
    if not np.all(array == np.asarray(float(first)).astype(array.dtype)):
        raise InvalidArgumentError(
            f"litert keeps the state {name!r} inside and begins with {first}: give it that value "
            f"here too, to compare the first run"
        )


Run = Callable[[Any, Path, "LoadedNetwork", Arrays], "dict[str, NDArray[Any]]"]

RUNTIMES: dict[str, tuple[str, str, str, Run]] = {
    "onnxruntime": (".onnx", "onnxruntime", "onnxruntime", _run_onnxruntime),
    "litert": (".tflite", "ai_edge_litert.interpreter", "ai-edge-litert", _run_litert),
}
"""Suffix of files, module, distribution and function of each runtime."""
