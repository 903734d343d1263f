# SPDX-License-Identifier: MIT
"""Runs of a model file on another runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class ModelElsewhere:
    """A model as another runtime reads it.

    Attributes:
        name: Of the file, for messages.
        source: The path of the file, or its content.
        outputs: The names of our outputs, in the order of the file's.
        metadata: Our network's.
    """

    name: str
    source: str | bytes
    outputs: Sequence[str]
    metadata: Mapping[str, str]


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
    suffix = RUNTIMES[runtime][0]
    if file.suffix.lower() != suffix:
        raise InvalidArgumentError(
            f"{runtime} cannot run {str(file)!r}: expected a file ending in {suffix}"
        )
    library = installed_runtime(runtime)
    model = ModelElsewhere(str(file), str(file), tuple(loaded.outputs), loaded.metadata)
    return run_model(runtime, library, model, inputs)


def runtime_of(file: Path) -> str:
    """Return the runtime that defines a file's format.

    Raises:
        InvalidArgumentError: None is known.
    """
    suffixes = {each[0]: name for name, each in RUNTIMES.items()}
    found = suffixes.get(file.suffix.lower())
    if found is None:
        raise InvalidArgumentError(
            f"no other runtime reads {str(file)!r}: expected a file ending in "
            f"{' or '.join(suffixes)}"
        )
    return found


def installed_runtime(runtime: str) -> Any:
    """Return a runtime's module.

    Raises:
        NotInstalledError: It is not installed.
    """
    _, module, distribution, _ = RUNTIMES[runtime]
    try:
        return import_module(module)
    except ImportError as error:
        raise NotInstalledError(
            f"{runtime} is not installed, to compare with it: pip install {distribution}"
        ) from error


def run_model(
    runtime: str, library: Any, model: ModelElsewhere, inputs: Arrays
) -> dict[str, NDArray[Any]]:
    """Return the outputs of a model by our names.

    Raises:
        InvalidArgumentError: The runtime keeps a state inside, or has other inputs.
        ExecutionError: It cannot run the model.
    """
    try:
        return RUNTIMES[runtime][3](library, model, inputs)
    except InvalidArgumentError:
        raise
    except Exception as error:
        raise ExecutionError(f"{runtime} cannot run {model.name!r}: {error}") from error


def _run_onnxruntime(
    library: Any, model: ModelElsewhere, inputs: Arrays
) -> dict[str, NDArray[Any]]:
    options = library.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = library.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = library.InferenceSession(model.source, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs() if output.name in model.outputs]
    found = session.run(names, {given.name: inputs[given.name] for given in session.get_inputs()})
    return dict(zip(names, map(np.asarray, found), strict=True))


def _run_litert(library: Any, model: ModelElsewhere, inputs: Arrays) -> dict[str, NDArray[Any]]:
    states = [name for name in inputs if name in model.outputs]
    for name in states:
        _check_first_value(name, inputs[name], model.metadata.get(f"initial {name}", "0"))
    source = "model_path" if isinstance(model.source, str) else "model_content"
    interpreter = library.Interpreter(
        experimental_op_resolver_type=library.OpResolverType.BUILTIN_REF, **{source: model.source}
    )
    given = [array for name, array in inputs.items() if name not in states]
    details = interpreter.get_input_details()
    names = [name for name in model.outputs if name not in states]
    if len(given) != len(details) or len(names) != len(interpreter.get_output_details()):
        raise InvalidArgumentError(
            f"litert cannot be compared with: {model.name!r} has {len(details)} inputs and "
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


Run = Callable[[Any, ModelElsewhere, Arrays], "dict[str, NDArray[Any]]"]

RUNTIMES: dict[str, tuple[str, str, str, Run]] = {
    "onnxruntime": (".onnx", "onnxruntime", "onnxruntime", _run_onnxruntime),
    "litert": (".tflite", "ai_edge_litert.interpreter", "ai-edge-litert", _run_litert),
}
"""Suffix of files, module, distribution and function of each runtime."""
