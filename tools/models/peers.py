# SPDX-License-Identifier: MIT
"""Runs a model on CpuRef, its oracle and its yardsticks.

The oracle computes a model as its format means it: onnxruntime and LiteRT's reference kernels; for
quantized ONNX models onnxruntime without its optimizations, which compute them in other steps. The
yardsticks are the same runtimes' optimized kernels.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    import armnn
    from tools.models.catalog import Model

Array: TypeAlias = "NDArray[Any]"
Outputs: TypeAlias = "list[list[Array]]"
"""For each feed the outputs, in the order of the model."""

Feeds: TypeAlias = "Sequence[Mapping[str, Array]]"

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before LiteRT is imported: it is talkative


def make_feeds(model: Model, inputs: Mapping[str, armnn.TensorInfo], count: int) -> Feeds:
    """Return inputs as the catalog declares them.

    Noise is from seeds 0, 1, 2 and so on.

    Args:
        model: What the catalog says.
        inputs: The inputs of the model in our order, without those that hand on a state.
        count: How many are wanted.
    """
    return [
        {name: _noise(model, name, info, random) for name, info in inputs.items()}
        for random in map(np.random.default_rng, range(count))
    ]


def _noise(model: Model, name: str, info: armnn.TensorInfo, random: np.random.Generator) -> Array:
    feed, dtype = model.feed(name), info.data_type.numpy_dtype
    shape = feed.shape
    if shape is None:
        shape = tuple(1 if dim is None else int(dim) for dim in info.shape or ())
    if feed.value is not None:
        return np.full(shape, feed.value, dtype)
    if dtype.kind == "f":
        high = 1.0 if feed.high is None else feed.high
        noise: Array = feed.low + (high - feed.low) * random.random(shape, np.float32)
        return noise.astype(dtype)
    if feed.high is None:
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return random.integers(int(feed.low), int(feed.high), shape).astype(dtype)


def states_of(loaded: armnn.LoadedNetwork) -> dict[str, Array]:
    """Return the variables between runs, with initial values."""
    states = {}
    for name, info in loaded.inputs.items():
        if name in loaded.outputs:
            first = float(loaded.metadata.get(f"initial {name}", "0"))
            states[name] = np.full(info.static_shape, first, info.data_type.numpy_dtype)
    return states


def run_ours(loaded: armnn.LoadedNetwork, feeds: Feeds) -> Outputs:
    """Return armnn's outputs, one feed after the other."""
    states, made = states_of(loaded), []
    for feed in feeds:
        results = loaded.run({**feed, **states})
        states = {name: results[name] for name in states}
        made.append([results[name] for name in loaded.outputs if name not in states])
    return made


def oracle(path: Path, content: bytes, feeds: Feeds, *, quantized: bool) -> Outputs:
    """Return the outputs of the format's own runtime."""
    if path.suffix == ".onnx":
        return _onnxruntime("ORT_DISABLE_ALL" if quantized else "ORT_ENABLE_ALL")(content, feeds)
    return _litert("BUILTIN_REF")(content, feeds)


def yardsticks(path: Path) -> dict[str, Callable[[bytes, Feeds], Outputs]]:
    """Return the format's optimized kernels, by name."""
    if path.suffix == ".onnx":
        return {"onnxruntime, optimized": _onnxruntime("ORT_ENABLE_ALL")}
    return {
        "LiteRT's optimized kernels": _litert("BUILTIN_WITHOUT_DEFAULT_DELEGATES"),
        "XNNPACK in LiteRT": _litert("AUTO"),
    }


def _onnxruntime(level: str) -> Callable[[bytes, Feeds], Outputs]:
    def run(content: bytes, feeds: Feeds) -> Outputs:
        runtime = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        return [[np.asarray(array) for array in session.run(None, dict(feed))] for feed in feeds]

    return run


def _litert(kernels: str) -> Callable[[bytes, Feeds], Outputs]:
    def run(content: bytes, feeds: Feeds) -> Outputs:
        litert = importlib.import_module("ai_edge_litert.interpreter")
        interpreter = litert.Interpreter(
            model_content=content,
            experimental_op_resolver_type=getattr(litert.OpResolverType, kernels),
        )
        interpreter.allocate_tensors()
        runs = []
        for feed in feeds:
            # By position: our names are those of the signature, these are those of the tensors.
            for given, array in zip(interpreter.get_input_details(), feed.values(), strict=True):
                interpreter.set_tensor(given["index"], array)
            interpreter.invoke()
            made = interpreter.get_output_details()
            runs.append([np.array(interpreter.get_tensor(entry["index"])) for entry in made])
        return runs

    return run
