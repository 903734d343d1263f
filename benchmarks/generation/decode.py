# SPDX-License-Identifier: MIT
"""Tokens per second of a decoder beside onnxruntime-genai, and the bandwidth that this takes.

    python -m benchmarks.generation.decode FOLDER [--threads 1] [--prompt 512] [--tokens 64]

FOLDER is one of onnxruntime-genai: a ``genai_config.json`` beside the model. Each runtime has a
process of its own; they take turns, each of which is a prompt of random tokens and some more,
of which each is the likeliest one. Beside them a loop in C (it needs gcc) reads memory as fast as
it can: a step has to read all weights and the caches, so that it cannot be faster.
``--clock cpu`` measures processor time, which other processes disturb less; threads add up in it.
Memory is the resident memory over that before the load, when the runtime is imported: with the
tokenizer and pages of mapped files. ``--file`` names what armnn loads, as a prepared model.

``--peers`` names the runtimes beside armnn. "openvino" reads the ONNX file, with caches that each
step copies; what its front end refuses is printed. "llama.cpp" (the wheel xllamacpp) runs the GGUF
file that the folder of :mod:`tools.models.smollm` is made of, by its own timings of wall clock.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Step = Callable[[NDArray[np.int64]], int]
"""Takes the next tokens of a sequence; returns the likeliest one after them."""

Start = Callable[[], Step]
"""Begins a new sequence."""

Turn = Callable[[NDArray[np.int64], int], tuple[float, list[float]]]
"""Computes a prompt and so many tokens after it; returns the seconds of each."""

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
READ = """
#include <stddef.h>
#include <stdint.h>
uint64_t read_all(const uint64_t *p, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum += p[i];
  return sum;
}
"""
FIRST_WORDS = 10_000  # that the vocabulary of any decoder has
READ_BYTES = 128 << 20  # of each thread: more than caches hold


def load_armnn(folder: Path, threads: int, _capacity: int, file: str | None) -> Start:
    """Return a function that starts a new sequence on CpuAcc, as ``armnn generate`` does."""
    import armnn_generate  # late: a process loads one runtime

    options = {"CpuAcc": {"NumberOfThreads": threads}}
    loaded = armnn_generate.load(folder, ["CpuAcc"], file=file, backend_options=options)
    cache = loaded.model.new_cache()

    def start() -> Step:
        cache.rewind(0)
        return lambda tokens: int(cache.append(tokens[0].tolist()).argmax())

    return start


def load_genai(folder: Path, threads: int, capacity: int) -> Start:
    """Return a function that starts a new sequence on onnxruntime-genai."""
    import onnxruntime_genai as genai  # late: as above, and this one is optional

    given = genai.Config(str(folder))
    options = {"model": {"decoder": {"session_options": {"intra_op_num_threads": threads}}}}
    given.overlay(json.dumps(options))
    model = genai.Model(given)

    def start() -> Step:
        parameters = genai.GeneratorParams(model)
        parameters.set_search_options(max_length=capacity, do_sample=False)
        generator = genai.Generator(model, parameters)
        first = True

        def step(tokens: NDArray[np.int64]) -> int:
            nonlocal first
            if first:
                generator.append_tokens(tokens[0].astype(np.int32))
            first = False
            generator.generate_next_token()
            return int(generator.get_next_tokens()[0])

        return step

    return start


def decoder_of(folder: Path) -> dict[str, Any]:
    """Return the decoder section of the folder's genai_config.json."""
    text = (folder / "genai_config.json").read_text(encoding="utf-8")
    decoder: dict[str, Any] = json.loads(text)["model"]["decoder"]
    return decoder


def load_openvino(folder: Path, threads: int, _capacity: int) -> Start:
    """Return a function that starts a new sequence on OpenVINO."""
    import openvino  # late: as above, and this one is optional

    core = openvino.Core()
    found = core.read_model(folder / decoder_of(folder)["filename"])
    model = core.compile_model(found, "CPU", {"INFERENCE_NUM_THREADS": threads})
    request = model.create_infer_request()
    shapes = {
        each.any_name: [dim.get_length() if dim.is_static else 1 for dim in each.partial_shape]
        for each in model.inputs
    }

    def start() -> Step:
        caches = {
            name: np.zeros((1, shape[1], 0, shape[3]), np.float32)
            for name, shape in shapes.items()
            if len(shape) == 4
        }
        total = 0

        def step(tokens: NDArray[np.int64]) -> int:
            nonlocal total
            total += tokens.shape[1]
            feeds = {"input_ids": tokens, "attention_mask": np.ones((1, total), np.int64)}
            made = request.infer({**feeds, **caches})
            for name in caches:
                caches[name] = made[name.replace("past_key_values", "present")].copy()
            return int(made["logits"][0, -1].argmax())

        return step

    return start


def load_llama(_folder: Path, threads: int, capacity: int) -> Turn:
    """Return a function that takes a turn on llama.cpp."""
    import xllamacpp  # late: as above, and this one is optional

    from tools.models.fetch import default_cache
    from tools.models.smollm import fetch_gguf

    given = xllamacpp.CommonParams()
    given.model.path = str(fetch_gguf(default_cache()))
    given.n_ctx = -(-capacity // 256) * 256
    given.n_gpu_layers = 0
    given.n_parallel = 1
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(given)

    def turn(prompt: NDArray[np.int64], count: int) -> tuple[float, list[float]]:
        asked = {
            "prompt": prompt[0].tolist(),
            "max_tokens": count + 1,  # the first one is the prompt's
            "temperature": 0,
            "ignore_eos": True,
            "cache_prompt": False,
        }
        timings = server.handle_completions(asked)["timings"]
        return timings["prompt_ms"] / 1e3, [timings["predicted_per_token_ms"] / 1e3] * count

    return turn


STARTS = {"onnxruntime-genai": load_genai, "openvino": load_openvino}
LLAMA = "llama.cpp"
PEERS = ("onnxruntime-genai", "openvino", LLAMA)
MODULES = {
    "armnn": "armnn_generate.generator",
    "onnxruntime-genai": "onnxruntime_genai",
    "openvino": "openvino",
    LLAMA: "xllamacpp",
}


def load_turns(given: argparse.Namespace) -> Turn:
    """Return a function that takes a turn on a runtime."""
    name, now = given.runtime, CLOCKS[given.clock]
    where = given.folder, given.threads[0], given.prompt + given.tokens + 1
    if name == LLAMA:
        return load_llama(*where)
    start = load_armnn(*where, given.file) if name == "armnn" else STARTS[name](*where)

    def turn(prompt: NDArray[np.int64], count: int) -> tuple[float, list[float]]:
        step = start()
        times, token = [now()], step(prompt)
        for _ in range(count):
            times.append(now())
            token = step(np.array([[token]]))
        times.append(now())
        first, *others = np.diff(times).tolist()
        return first, others

    return turn


def answer_turns(given: argparse.Namespace) -> None:
    """Load a runtime, then measure a turn for each line on stdin: the child's side."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a runtime prints must not come between the answers
    import_module(MODULES[given.runtime])
    (before, _), began = resident_bytes(), time.perf_counter()
    turn = load_turns(given)
    print(json.dumps({"load": time.perf_counter() - began}), file=answers, flush=True)
    numbers = np.random.default_rng(0)
    prompt = numbers.integers(0, FIRST_WORDS, (1, given.prompt))
    for _ in sys.stdin:
        first, tokens = turn(prompt, given.tokens)
        now, most = (each - before for each in resident_bytes())
        found = {"prompt": first, "tokens": tokens, "memory": now, "peak": most}
        print(json.dumps(found), file=answers, flush=True)


def resident_bytes() -> tuple[int, int]:
    """Return the resident memory of this process, now and at most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    rows = dict(line.split(":", 1) for line in lines)
    now, most = (int(rows[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM"))
    return now, most


class RuntimeProcess:
    """A runtime in a process of its own: the parent's side."""

    def __init__(self, runtime: str, threads: int, given: argparse.Namespace) -> None:
        options = {"prompt": given.prompt, "tokens": given.tokens, "clock": given.clock}
        flags = [f"--{name}={value}" for name, value in options.items()]
        flags += [f"--file={given.file}"] if given.file else []
        command = [sys.executable, "-m", __spec__.name, given.folder, f"--threads={threads}"]
        self._process = subprocess.Popen(
            [*command, f"--runtime={runtime}", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.load = self._answer()["load"]
        self.turns: list[dict[str, Any]] = []

    def take_turn(self) -> None:
        """Measure a prompt and the tokens after it."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.turns.append(self._answer())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._process.args!r} ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


class Reader:
    """Reads memory as fast as a loop in C does."""

    def __init__(self, folder: Path, threads: int, clock: Callable[[], float]) -> None:
        source, library = folder / "read.c", folder / "read.so"
        source.write_text(READ, encoding="utf-8")
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, "-o", library, source], check=True)
        self._read = ctypes.CDLL(str(library)).read_all
        self._read.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self._memory = [np.ones(READ_BYTES // 8, np.uint64) for _ in range(threads)]
        self._clock = clock

    def take_turn(self) -> float:
        """Return the bytes per second of all threads, the median of some rounds."""
        return statistics.median(self._round() for _ in range(9))

    def _round(self) -> float:
        def read(memory: NDArray[np.uint64]) -> None:
            self._read(memory.ctypes.data, memory.size)

        readers = [threading.Thread(target=read, args=(each,)) for each in self._memory]
        began = self._clock()
        for each in readers:
            each.start()
        for each in readers:
            each.join()
        return len(readers) * READ_BYTES / (self._clock() - began)


def bytes_of_weights(model: Path) -> tuple[int, int]:
    """Return the bytes of all weights, and of those that a step reads.

    These are all but tables of which it takes a row.
    """
    import onnx  # late: the runtimes' processes do without
    from onnx import helper

    graph = onnx.load(model, load_external_data=False).graph
    rows = {node.input[0] for node in graph.node if node.op_type.startswith("Gather")}
    for node in graph.node:
        if node.op_type == "GroupQueryAttention":
            rows.update(node.input[7:9])  # the angles
    rows -= {name for node in graph.node if "MatMul" in node.op_type for name in node.input}
    sizes = {
        each.name: math.prod(each.dims) * helper.tensor_dtype_to_np_dtype(each.data_type).itemsize
        for each in graph.initializer
    }
    return sum(sizes.values()), sum(size for name, size in sizes.items() if name not in rows)


def bytes_of_cache(decoder: dict[str, Any], tokens: float) -> float:
    """Return the bytes of the keys and values of some tokens, in Float32."""
    heads: int = decoder["num_hidden_layers"] * decoder["num_key_value_heads"]
    size: int = decoder["head_size"]
    return 2 * 4 * heads * size * tokens


def compare(given: argparse.Namespace, threads: int) -> None:
    """Measure the runtimes in turns, and print a table."""
    decoder = decoder_of(given.folder)
    all_weights, weights = bytes_of_weights(given.folder / decoder["filename"])
    cache = bytes_of_cache(decoder, given.prompt + given.tokens / 2)
    whole_cache = bytes_of_cache(decoder, given.prompt + given.tokens)
    runtimes = {name: RuntimeProcess(name, threads, given) for name in ("armnn", *given.peers)}
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(Path(folder), threads, CLOCKS[given.clock])
        for turn in range(given.turns + 1):
            for runtime in runtimes.values():
                runtime.take_turn()
                if turn == 0:
                    runtime.turns.clear()  # it plans and packs
            rates.append(reader.take_turn())
    rate = statistics.median(rates[1:])
    print(
        f"threads {threads}, prompt {given.prompt}, tokens {given.tokens}, clock {given.clock}; "
        f"a token reads {weights / 1e6:.1f} MB of weights and {cache / 1e6:.1f} MB of caches; "
        f"memory is read at {rate / 1e9:.1f} GB/s"
    )
    print(
        f"{'':18} load s  prompt/s  tokens/s  ms/token (least)  share of bandwidth  "
        "memory/weights (peak)"
    )
    for name, runtime in runtimes.items():
        prompt = statistics.median(each["prompt"] for each in runtime.turns)
        token = statistics.median(statistics.median(each["tokens"]) for each in runtime.turns)
        least = min(min(each["tokens"]) for each in runtime.turns)
        used = (weights + cache) / token / rate
        memory, peak = (
            max(each[name] for each in runtime.turns) / (all_weights + whole_cache)
            for name in ("memory", "peak")
        )
        print(
            f"{name:18} {runtime.load:6.2f} {given.prompt / prompt:9.1f} {1 / token:9.1f} "
            f"{token * 1e3:8.2f} ({least * 1e3:.2f}) {used:17.0%} {memory:15.2f} ({peak:.2f})"
        )
    ours, *peers = runtimes
    for peer in peers:
        both = list(zip(runtimes[ours].turns, runtimes[peer].turns, strict=True))
        prompt = statistics.median(b["prompt"] / a["prompt"] for a, b in both)
        token = statistics.median(
            statistics.median(b["tokens"]) / statistics.median(a["tokens"]) for a, b in both
        )
        print(
            f"{ours} beside {peer}, medians of the turns: "
            f"prompt {prompt:.2f}, tokens {token:.2f} times as fast"
        )
    for runtime in runtimes.values():
        runtime.close()


def main() -> None:
    """Compare the runtimes, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="of onnxruntime-genai, with genai_config.json")
    parser.add_argument("--file", help="what armnn loads, below the folder")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--prompt", type=int, default=512, help="tokens of it")
    parser.add_argument("--tokens", type=int, default=64, help="that follow")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS[:1])
    parser.add_argument("--runtime", choices=("armnn", *PEERS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.clock != "wall" and LLAMA in given.peers:
        parser.error(f"{LLAMA} tells wall clock only: leave --clock out")
    if given.runtime:
        answer_turns(given)
        return
    for threads in given.threads:
        compare(given, threads)


if __name__ == "__main__":
    main()
