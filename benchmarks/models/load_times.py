# SPDX-License-Identifier: MIT
"""Times to load a model in a fresh process.

    python -m benchmarks.models.load_times model.onnx squeezenet face_mesh [--rounds 7] [--json]

A model is a file, or the name of a public one, which is fetched and gets the shapes and constants
that the catalogue has for its inputs.
Three tables are printed: beside other runtimes with their imports, our stages, and beside the
others without imports. Each round starts processes in turns: each imports NumPy, then the runtime,
loads the model and runs it once on zeros, at one thread. Open dimensions of files are 1 at first,
else 64. A model that fails is named at the end, and its file has no row.

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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.models.load_time_tables import CACHED, COLD, OTHER, OURS, Row, tables
from benchmarks.models.runtime_process import memory_mb
from tools import ROOT

PEERS: Final = {".onnx": ("onnxruntime", "OpenVINO"), ".tflite": ("LiteRT", "OpenVINO")}
OPEN_DIMENSION: Final = 64


@dataclass(frozen=True, slots=True)
class Model:
    """A file and what it is run on.

    Attributes:
        path: The file.
        inputs: Shape, NumPy's type and the number of each input.
    """

    path: str
    inputs: Mapping[str, tuple[Sequence[int], str, float]]

    @property
    def suffix(self) -> str:
        """The format."""
        return Path(self.path).suffix


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
        feed = {
            name: np.full(shape, value, dtype)
            for name, (shape, dtype, value) in model.inputs.items()
        }
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


def model_of(named: str) -> Model:
    """Return a file, or a public model, with its inputs."""
    # Not in the processes that are measured, which import what they need.
    import armnn
    from tools.models.catalogue import Feed
    from tools.models.fetch import MODELS, default_cache, fetch

    public = MODELS.get(named)
    path = Path(named) if public is None else fetch(named, default_cache())
    found = {}
    with armnn.Runtime() as runtime:
        for name, info in runtime.load_model(path, ["CpuAcc", "CpuRef"]).inputs.items():
            feed = Feed() if public is None else public.feed(name)
            shape = feed.shape
            if shape is None:
                shape = tuple(
                    each if isinstance(each, int) else OPEN_DIMENSION if place else 1
                    for place, each in enumerate(info.shape or ())
                )
            found[name] = (shape, info.data_type.numpy_dtype.name, feed.value or 0.0)
    return Model(str(path.resolve()), found)


def measured(model: Model, before: Sequence[Model], rounds: int) -> dict[str, Row]:
    """Return the least figures of each runtime for a model.

    Args:
        model: The model.
        before: What is loaded before it in turns, where imports do not count; may be empty.
        rounds: How often each is measured.
    """
    best: dict[str, Row] = {}
    before = before[:rounds]
    with tempfile.TemporaryDirectory() as folder:
        cache, code = Path(folder) / "cache", Path(folder) / "code"
        cache.mkdir(mode=0o700)
        for each in (model, model, *before):
            _ask(Task(COLD, each, str(cache)), code)
        names = [*OURS, *PEERS[model.suffix]]
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the models named; return 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="files, or names of public models")
    parser.add_argument(
        "--before",
        nargs="+",
        default=[],
        metavar="MODEL",
        help="models that are loaded before, where imports do not count",
    )
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(child(_task(json.loads(options.child)))))
        return 0
    from armnn.errors import ArmnnError

    models: dict[str, Model] = {}
    results: dict[str, dict[str, Row]] = {}
    failed: list[str] = []
    for name in dict.fromkeys((*options.models, *options.before)):
        try:
            models[name] = model_of(name)
        except ArmnnError as error:
            failed.append(f"{name}: {error}")
    for name in options.models:
        if name not in models:
            continue
        model, others = models[name], options.before or options.models
        print(f"{len(results) + 1} of {len(options.models)}: {name}", file=sys.stderr)
        before = [
            models[each]
            for each in others
            if each != name and each in models and models[each].suffix == model.suffix
        ]
        try:
            results[Path(model.path).name] = measured(model, before, options.rounds)
        except subprocess.CalledProcessError as error:
            failed.append(f"{name}: {error.stderr.strip().splitlines()[-1]}")
    print(json.dumps(results) if options.json else tables(results))
    for line in failed:
        print(line, file=sys.stderr)
    return int(bool(failed))


def _task(given: dict[str, Any]) -> Task:
    """Return a task that came as JSON."""
    before = None if given["before"] is None else Model(**given["before"])
    return Task(given["runtime"], Model(**given["model"]), given["cache"], before)


if __name__ == "__main__":
    sys.exit(main())
