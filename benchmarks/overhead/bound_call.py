# SPDX-License-Identifier: MIT
"""Models of microseconds: a bound call and ``run`` beside LiteRT.

A turn writes one frame into the input, runs the model and has its outputs as arrays; states stay
in the model. Each round measures every way once, in the same order; figures are medians, and
ratios are medians of the ratios round by round::

    python -m benchmarks.overhead.bound_call [MODEL ...] [--rounds 200] [--json]

All run on one thread, in one process. The outputs of some frames are compared first.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import armnn
from tools.models.fetch import default_cache, fetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before LiteRT is imported: it is talkative

MODELS = (
    "wake_word_alexa_int8",
    "wake_word_jarvis_int8",
    "wake_word_nabu_int8",
    "magic_wand_int8",
    "autoencoder_int8",
    "autoencoder_fp32",
    "ad_fc_int8",
)
FRAMES = 16
CALLS = 50  # short rounds, so that one of them has the processor for itself

Turn = Callable[["NDArray[Any]"], "list[NDArray[Any]]"]


def bound(model: armnn.LoadedNetwork) -> Turn:
    """Return a turn of a bound call."""
    ((name, info),) = _inputs(model).items()
    x = np.zeros(_shape(info), info.data_type.numpy_dtype)
    call = model.bind({name: x})
    outputs = list(call.outputs.values())

    def turn(frame: NDArray[Any]) -> list[NDArray[Any]]:
        x[...] = frame
        call()
        return outputs

    return turn


def run(model: armnn.LoadedNetwork) -> Turn:
    """Return a turn of ``run``, which gets the states."""
    (name,) = _inputs(model)
    states = {
        each: np.full(info.static_shape, model.metadata.get(f"initial {each}", 0)).astype(
            info.data_type.numpy_dtype
        )
        for each, info in model.inputs.items()
        if each in model.outputs
    }

    def turn(frame: NDArray[Any]) -> list[NDArray[Any]]:
        made = model.run({name: frame, **states})
        for each in states:
            states[each] = made.pop(each)
        return list(made.values())

    return turn


def litert(path: Path) -> Turn:
    """Return a turn of LiteRT, which keeps the states."""
    module = importlib.import_module("ai_edge_litert.interpreter")
    interpreter = module.Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    (place,) = (given["index"] for given in interpreter.get_input_details())
    made = [entry["index"] for entry in interpreter.get_output_details()]

    def turn(frame: NDArray[Any]) -> list[NDArray[Any]]:
        interpreter.set_tensor(place, frame)
        interpreter.invoke()
        return [interpreter.get_tensor(each) for each in made]

    return turn


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Return medians in microseconds and ratios to LiteRT."""
    path = fetch(name, default_cache())
    options = {"CpuAcc": {"NumberOfThreads": 1}}
    model = armnn.load_model(path, backends=["CpuAcc", "CpuRef"], backend_options=options)
    turns = {"bound": bound(model), "run": run(model), "LiteRT": litert(path)}
    frames = _frames(model)
    difference = _difference(turns, frames)
    times: dict[str, list[float]] = {each: [] for each in turns}
    for _ in range(rounds):
        for each, turn in turns.items():
            start = time.perf_counter_ns()
            for number in range(CALLS):
                turn(frames[number % FRAMES])
            times[each].append((time.perf_counter_ns() - start) / CALLS / 1e3)
    base = times["LiteRT"]
    return {
        "model": name,
        **{f"{each}_us": statistics.median(row) for each, row in times.items()},
        **{
            f"{each}_ratio": statistics.median(a / b for a, b in zip(row, base, strict=True))
            for each, row in times.items()
            if each != "LiteRT"
        },
        "difference": difference,
    }


def _inputs(model: armnn.LoadedNetwork) -> dict[str, armnn.TensorInfo]:
    """Return the inputs that are no states."""
    return {name: info for name, info in model.inputs.items() if name not in model.outputs}


def _shape(info: armnn.TensorInfo) -> tuple[int, ...]:
    """Return a shape whose open dimensions, the batch, are 1."""
    return tuple(size if isinstance(size, int) else 1 for size in info.shape or ())


def _frames(model: armnn.LoadedNetwork) -> list[NDArray[Any]]:
    (info,) = _inputs(model).values()
    dtype, generator = info.data_type.numpy_dtype, np.random.default_rng(0)
    if dtype.kind == "f":
        return [generator.uniform(-1, 1, _shape(info)).astype(dtype) for _ in range(FRAMES)]
    return [generator.integers(-100, 100, _shape(info)).astype(dtype) for _ in range(FRAMES)]


def _difference(turns: dict[str, Turn], frames: list[NDArray[Any]]) -> float:
    """Return the largest difference of any output from LiteRT's.

    A stored integer counts as its number.
    """
    worst = 0.0
    for frame in frames:
        rows = {
            each: [np.array(a, np.float64) for a in turn(frame)] for each, turn in turns.items()
        }
        for each in ("bound", "run"):
            for ours, theirs in zip(rows[each], rows["LiteRT"], strict=True):
                worst = max(worst, float(np.max(np.abs(ours - theirs), initial=0)))
    return worst


def line(row: dict[str, Any]) -> str:
    """Return a model's results for people."""
    return (
        f"{row['model']:24s} bound {row['bound_us']:6.2f} us x{row['bound_ratio']:.2f}   "
        f"run {row['run_us']:6.2f} us x{row['run_ratio']:.2f}   LiteRT {row['LiteRT_us']:6.2f} us"
        f"   difference {row['difference']:.3g}"
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=MODELS, help="names in the catalog")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = [measure(name, arguments.rounds) for name in arguments.models]
    print(json.dumps(rows, indent=2) if arguments.json else "\n".join(map(line, rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
