# SPDX-License-Identifier: MIT
"""Each runtime's loading and running, with inputs and outputs.

A loader takes the file, the inputs in the order of the model, the number of threads and a folder
for what it may keep from load to load (None: it keeps nothing). It returns what runs the model
once and returns its outputs in the order of the model.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Feed: TypeAlias = "Mapping[str, NDArray[Any]]"
Run: TypeAlias = "Callable[[], list[NDArray[Any]]]"
Loader: TypeAlias = "Callable[[Path, Feed, int, Path | None], Run]"

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before LiteRT is imported: it is talkative


def _cpuacc(*, fast_math: bool) -> Loader:
    def load(path: Path, feed: Feed, threads: int, cache: Path | None) -> Run:
        return load_armnn(path, feed, threads, cache, fast_math=fast_math)[0]

    return load


def load_armnn(
    path: Path, feed: Feed, threads: int, cache: Path | None, *, fast_math: bool
) -> tuple[Run, Any]:
    """Load CpuAcc, with CpuRef for refused layers.

    It returns the loaded network as well.
    """
    import armnn

    loaded = armnn.load_model(
        path,
        backends=["CpuAcc", "CpuRef"],
        backend_options={"CpuAcc": {"NumberOfThreads": threads, "FastMathEnabled": fast_math}},
        cache_dir=cache,
    )
    if not set(loaded.inputs) & set(loaded.outputs):
        return lambda: list(loaded.run(feed).values()), loaded

    # The call keeps the states, as LiteRT does, and begins with what the file says.
    given = {name: np.array(array) for name, array in feed.items()}
    call = loaded.bind(given)

    def run() -> list[NDArray[Any]]:
        for name, array in feed.items():
            given[name][...] = array
        return list(call().values())

    return run, loaded


def load_onnxruntime(path: Path, feed: Feed, threads: int, cache: Path | None) -> Run:
    """Load onnxruntime's CPU provider; the optimized model is kept."""
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    source = path
    if cache is not None:
        kept = cache / "optimized.onnx"
        if kept.exists():
            source = kept
            options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        else:
            options.optimized_model_filepath = str(kept)
    session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return lambda: list(session.run(None, feed))


def _openvino(properties: Mapping[str, Any]) -> Loader:
    def load(path: Path, feed: Feed, threads: int, cache: Path | None) -> Run:
        openvino = importlib.import_module("openvino")
        core = openvino.Core()
        if cache is not None:
            core.set_property({"CACHE_DIR": str(cache)})
        model = core.read_model(path)
        names = {
            port: _openvino_input(port, feed, place) for place, port in enumerate(model.inputs)
        }
        if any(port.get_partial_shape().is_dynamic for port in model.inputs):
            model.reshape({port: list(feed[name].shape) for port, name in names.items()})
        chosen = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, **properties}
        request = core.compile_model(model, "CPU", chosen).create_infer_request()
        arrays = [feed[name] for name in names.values()]

        def run() -> list[NDArray[Any]]:
            return list(request.infer(arrays, share_inputs=True).values())

        return run

    return load


def _openvino_input(port: Any, feed: Feed, place: int) -> str:
    """Return the input of a port by name or place.

    Signatures rename; the place counts then.
    """
    named = [name for name in feed if name in port.get_names()]
    return named[0] if named else list(feed)[place]


def load_litert(path: Path, feed: Feed, threads: int, cache: Path | None) -> Run:
    """Load LiteRT's interpreter with XNNPACK; it keeps nothing.

    Raises:
        ValueError: A cache is asked for.
    """
    if cache is not None:
        raise ValueError("LiteRT's Python interpreter has no cache")
    litert = importlib.import_module("ai_edge_litert.interpreter")
    interpreter = litert.Interpreter(model_path=str(path), num_threads=threads)
    interpreter.allocate_tensors()
    # By position: our names are those of the signature, these are those of the tensors.
    places = [given["index"] for given in interpreter.get_input_details()]
    pairs = list(zip(places, feed.values(), strict=True))
    made = [entry["index"] for entry in interpreter.get_output_details()]

    def run() -> list[NDArray[Any]]:
        for place, array in pairs:
            interpreter.set_tensor(place, array)
        interpreter.invoke()
        return [interpreter.get_tensor(place) for place in made]

    return run


GPU_DEVICE = "BENCHMARK_GPU_DEVICE"
"""The environment variable with the index of GpuAcc's device."""


def load_gpuacc(path: Path, feed: Feed, threads: int, cache: Path | None) -> Run:  # noqa: ARG001  # all loaders have these
    """Load GpuAcc on the device of that index, with CpuRef for refused layers."""
    import armnn

    options = {"GpuAcc": {"Device": int(os.environ[GPU_DEVICE])}}
    runtime = armnn.Runtime(armnn.CreationOptions(backend_options=options))
    loaded = runtime.load_model(path, backends=["GpuAcc", "CpuRef"], cache_dir=cache)
    return lambda: list(loaded.run(feed).values())


def load_tinygrad(path: Path, feed: Feed, threads: int, cache: Path | None) -> Run:  # noqa: ARG001  # all loaders have these
    """Load tinygrad with OpenCL as its device; a run is recorded once and replayed.

    Raises:
        ValueError: A cache is asked for.
    """
    if cache is not None:
        raise ValueError("tinygrad keeps its kernels where it likes")
    os.environ["DEV"] = "CL"  # it is read when tinygrad is imported
    tinygrad = importlib.import_module("tinygrad")
    runner = importlib.import_module("tinygrad.nn.onnx").OnnxRunner(path)
    replayed = tinygrad.TinyJit(
        lambda **inputs: [each.realize() for each in runner(inputs).values()]
    )

    def run() -> list[NDArray[Any]]:
        inputs = {name: tinygrad.Tensor(array).realize() for name, array in feed.items()}
        return [each.numpy() for each in replayed(**inputs)]

    for _ in range(2):  # it compiles in the first run, and records the second one
        run()
    return run


EXACT = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
"""Else OpenVINO may compute in bfloat16, and quantize what comes to int8 weights."""

OURS = "CpuAcc"
WITH_FAST_MATH = "CpuAcc, fast math"
AT_ITS_DEFAULTS = "OpenVINO, defaults"
LOADERS: dict[str, Loader] = {
    OURS: _cpuacc(fast_math=False),
    WITH_FAST_MATH: _cpuacc(fast_math=True),
    "onnxruntime": load_onnxruntime,
    "OpenVINO": _openvino(EXACT),
    AT_ITS_DEFAULTS: _openvino({}),
    "LiteRT": load_litert,
}
"""By the name in the tables."""

GPU_LOADERS: dict[str, Loader] = {"GpuAcc": load_gpuacc, "tinygrad": load_tinygrad}
"""The runtimes on a GPU, which other benchmarks leave out."""

CACHING = (OURS, "onnxruntime", "OpenVINO")
"""The runtimes that can keep something from load to load."""

MODULES = {
    OURS: "armnn_backend_neon.backend",
    WITH_FAST_MATH: "armnn_backend_neon.backend",
    "onnxruntime": "onnxruntime",
    "LiteRT": "ai_edge_litert.interpreter",
}
"""The module that is imported for a runtime; openvino for those not listed."""


def runtimes_for(path: Path) -> list[str]:
    """Return the runtimes that read the format of a file."""
    foreign = "LiteRT" if path.suffix == ".onnx" else "onnxruntime"
    return [name for name in LOADERS if name != foreign]
