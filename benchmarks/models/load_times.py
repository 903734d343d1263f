# SPDX-License-Identifier: MIT
"""Times to load a model in a fresh process.

    python -m benchmarks.models.load_times model.onnx other.onnx model.tflite [--rounds 7] [--json]

Three tables are printed: beside other runtimes with their imports, our stages, and beside the
others without imports. Each round starts processes in turns: each imports NumPy, then the runtime,
loads the model and runs it once on zeros, at one thread. Open dimensions are 1 at first, else 64.

With imports and stages: one process per runtime, CpuAcc cold and from its cache, which two loads
filled before. Stages are wall time, those of the process that took least. Without imports: one more
process per runtime, which has loaded another model before: each other one of the command line of
the same format in turn, or those of ``--before``. Other times are processor time, and wall time
where it is named, the least of all rounds, so that a busy machine matters less. Python's byte code
is kept for the children, as an installer keeps it: without it each would compile all sources.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.models.runtime_process import memory_mb
from tools import ROOT

PEERS: Final = {".onnx": ("onnxruntime", "OpenVINO"), ".tflite": ("LiteRT", "OpenVINO")}
COLD, CACHED = "CpuAcc", "CpuAcc cached"
OURS: Final = (COLD, CACHED)
OPEN_DIMENSION: Final = 64
OTHER: Final = "other"
"""The time of a process that is in none of our stages."""

Row: TypeAlias = "dict[str, Any]"
"""The figures of a runtime for a model: ``import_ms`` and ``load_ms`` (processor time, with the
first run), ``wall_ms`` of both, ``peak_mb``; ``import_free_ms`` is ``load_ms`` where another model
was loaded before. Of ours also ``stages``, in milliseconds, whose sum is ``wall_ms``."""

Results: TypeAlias = "Mapping[str, Mapping[str, Row]]"
"""The row of each runtime, by the name of the model."""


@dataclass(frozen=True, slots=True)
class Model:
    """A file and what it is run on.

    Attributes:
        path: The file.
        shapes: Shape and NumPy's type of each input.
    """

    path: str
    shapes: Mapping[str, tuple[Sequence[int], str]]


@dataclass(frozen=True, slots=True)
class Task:
    """What a process does.

    Attributes:
        runtime: Its name.
        model: What is measured.
        cache: The folder of CpuAcc's cache, if it has one.
        before: What is loaded and run first, so that nothing is left to import.
    """

    runtime: str
    model: Model
    cache: str | None = None
    before: Model | None = None


def child(task: Task) -> Row:
    """Load and run a model once; return times and memory."""
    import time

    import numpy as np

    from benchmarks.models.runtimes import LOADERS, MODULES, load_armnn

    module = "armnn" if task.runtime == COLD else MODULES.get(task.runtime, "openvino")
    cache = None if task.cache is None else Path(task.cache)

    def load(model: Model) -> Any:
        """Load and run it; return our network."""
        feed = {name: np.zeros(shape, dtype) for name, (shape, dtype) in model.shapes.items()}
        if task.runtime == COLD:
            run, network = load_armnn(Path(model.path), feed, 1, cache, fast_math=False)
        else:
            run, network = LOADERS[task.runtime](Path(model.path), feed, 1, None), None
        run()
        return network

    if task.before is not None:
        load(task.before)
    began, begin = time.perf_counter(), time.process_time()
    __import__(module)
    imported = time.process_time()
    network = load(task.model)
    end = time.process_time()
    wall = (time.perf_counter() - began) * 1e3
    row = {"import_ms": (imported - begin) * 1e3, "load_ms": (end - imported) * 1e3}
    row |= {"wall_ms": wall, "peak_mb": memory_mb("VmHWM")}
    if network is None:
        return row
    times = {name: each * 1e3 for name, each in network.load_times.items()}
    times[OTHER] = wall - times.pop("total")
    return {**row, "stages": times}


def model_of(path: Path) -> Model:
    """Return a model with the shapes of its inputs."""
    import armnn

    found = {}
    with armnn.Runtime() as runtime:
        for name, info in runtime.load_model(path, ["CpuAcc", "CpuRef"]).inputs.items():
            shape = [
                each if isinstance(each, int) else OPEN_DIMENSION if place else 1
                for place, each in enumerate(info.shape or ())
            ]
            found[name] = (shape, info.data_type.numpy_dtype.name)
    return Model(str(path.resolve()), found)


def measured(model: Model, before: Sequence[Model], rounds: int) -> dict[str, Row]:
    """Return the least figures of each runtime for a model.

    Args:
        model: The model.
        before: What is loaded before it in turns, where imports do not count; may be empty.
        rounds: How often each is measured.
    """
    best: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        cache, code = Path(folder) / "cache", Path(folder) / "code"
        cache.mkdir(mode=0o700)
        for each in (model, model, *before):
            _ask(Task(COLD, each, str(cache)), code)
        names = [*OURS, *PEERS[Path(model.path).suffix]]
        for number in range(rounds):
            for name in tuple(names):
                task = Task(COLD if name in OURS else name, model)
                if name == CACHED:
                    task = replace(task, cache=str(cache))
                try:
                    row = _ask(task, code)
                    if before:
                        task = replace(task, before=before[number % len(before)])
                        row["import_free_ms"] = _ask(task, code)["load_ms"]
                except subprocess.CalledProcessError:
                    if name in OURS:
                        raise
                    names.remove(name)  # a peer may refuse a model, as OpenVINO does some
                    continue
                best[name] = least(best.get(name, row), row)
    return best


def least(kept: Row, row: Row) -> Row:
    """Return the lesser figures; stages are of one process."""
    both = {name: min(kept[name], row[name]) for name in row if name != "stages"}
    if "stages" in row:
        both["stages"] = min(kept, row, key=lambda each: float(each["wall_ms"]))["stages"]
    return both


def _ask(task: Task, code: Path) -> Row:
    command = [sys.executable, "-m", "benchmarks.models.load_times", "--child"]
    # The threads of NumPy's BLAS wait busily after their start, which counts as processor time.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPYCACHEPREFIX": str(code)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [*command, json.dumps(asdict(task))],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def tables(results: Results) -> str:
    """Return the results as Markdown tables."""
    makers: dict[str, Callable[[Results], list[str]]] = {
        "With imports": with_imports,
        "Stages": stages,
        "Without imports": without_imports,
    }
    parts = ((title, make(results)) for title, make in makers.items())
    return "\n\n".join("\n".join([f"{title}:", "", *lines]) for title, lines in parts if lines)


def with_imports(results: Results) -> list[str]:
    """Return the lines of the table of all runtimes."""
    lines = [
        "| model | runtime | import | load and first run | both | wall | peak memory |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for model, rows in results.items():
        for runtime, row in rows.items():
            both = row["import_ms"] + row["load_ms"]
            lines.append(
                f"| {model} | {runtime} | {row['import_ms']:.1f} ms | {row['load_ms']:.1f} ms "
                f"| {both:.1f} ms | {row['wall_ms']:.1f} ms | {row['peak_mb']:.0f} MB |"
            )
    return lines


def stages(results: Results) -> list[str]:
    """Return the lines of the table of our stages."""
    ours = [
        (model, runtime, row)
        for model, rows in results.items()
        for runtime, row in rows.items()
        if "stages" in row
    ]
    names = max((list(row["stages"]) for *_, row in ours), key=len)  # not all have a first run
    lines = [
        f"| model, ms | runtime | {' | '.join(names)} | wall |",
        f"|---|---|{'---:|' * (len(names) + 1)}",
    ]
    for model, runtime, row in ours:
        cells = (f"{row['stages'][name]:.1f}" if name in row["stages"] else "-" for name in names)
        lines.append(f"| {model} | {runtime} | {' | '.join(cells)} | {row['wall_ms']:.1f} |")
    return lines


def without_imports(results: Results) -> list[str]:
    """Return the lines of the table beside the fastest peer.

    It has the models that were measured behind others, and is empty without one.
    """
    rows = []
    for model, found in results.items():
        times = {
            name: row["import_free_ms"] for name, row in found.items() if "import_free_ms" in row
        }
        peers = times.keys() - set(OURS)
        if peers:
            peer = min(peers, key=times.__getitem__)
            rows.append(
                f"| {model} | {times[COLD]:.1f} ms | {times[CACHED]:.1f} ms "
                f"| {peer} | {times[peer]:.1f} ms | {times[COLD] / times[peer]:.2f} |"
            )
    if not rows:
        return []
    heading = "| model | CpuAcc | CpuAcc cached | peer | its time | CpuAcc / peer |"
    return [heading, "|---|---:|---:|---|---:|---:|", *rows]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the models of the command line; return 0."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=Path, help="model files")
    parser.add_argument(
        "--before",
        nargs="+",
        type=Path,
        default=[],
        metavar="MODEL",
        help="model files that are loaded before, where imports do not count",
    )
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(child(_task(json.loads(options.child)))))
        return 0
    models = {path: model_of(path) for path in (*options.models, *options.before)}
    results = {}
    for path in options.models:
        others = options.before or options.models
        before = [models[each] for each in others if each != path and each.suffix == path.suffix]
        results[path.name] = measured(models[path], before, options.rounds)
    print(json.dumps(results) if options.json else tables(results))
    return 0


def _task(given: dict[str, Any]) -> Task:
    """Return a task that came as JSON."""
    before = None if given["before"] is None else Model(**given["before"])
    return Task(given["runtime"], Model(**given["model"]), given["cache"], before)


if __name__ == "__main__":
    sys.exit(main())
