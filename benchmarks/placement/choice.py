# SPDX-License-Identifier: MIT
"""The distance of a measured choice from the best.

Each public model is tuned. Then ``backends="auto"`` with that verdict runs beside every single
backend and every hand order, each in a process of its own, in turns::

    python -m benchmarks.placement.choice [NAME ...] [--record choices.json] [--json]

A row says how much longer than the best of them ``auto`` takes: the median over the rounds of the
ratio of two medians of one round, so that what slows the machine for a while slows both. The noise
is the same ratio of ``auto`` and the order that it chose: one plan in two processes.
The record is kept per model: a session that was stopped goes on where it was.

Candidates are CpuAcc, OpenVino, CpuRef and a synthetic accelerator (0.7 s to compile, 1 ms to
launch a part, a third of the layer types); ``--candidates`` names others, such as Liar, which is
fast and wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from armnn.backends import CreationOptions
from armnn.backends.registry import BackendRegistry
from armnn.optimizer import OptimizerOptions
from armnn.parsing import parse
from armnn.placement import Trial, Verdict, tune, write_verdict
from armnn.verdicts.auto import choose
from armnn.verdicts.transfer import following, transferable, transferable_optimizer
from armnn_backend_api.processes import Bounds, JsonChild, NoReplyError
from fakes.plugins import Plugin, installed
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.peers import make_feeds

CANDIDATES: Final = "CpuAcc,OpenVino,CpuRef,Synthetic"
SYNTHETIC: Final = Plugin(
    "armnn-backend-synthetic",
    entry_points={
        "armnn.backends": {
            "Synthetic": "benchmarks.placement.accelerator:SyntheticBackend",
            "Liar": "benchmarks.placement.accelerator:LiarBackend",
        }
    },
)
ROUNDS: Final = 21
TURN_SECONDS: Final = 0.05
FIRST_SECONDS: Final = 0.15
HOPELESS: Final = 20.0
CLOSE: Final = 2.0
LIFETIME: Final = 900.0
WRONG: Final = "computes "
"""How the fault of a wrong choice begins."""


@dataclass(slots=True)
class Contender:
    """A plan in a process of its own.

    Attributes:
        title: Its backends.
        child: The process.
        times: A median per round, in microseconds.
    """

    title: str
    child: JsonChild
    times: list[float] = field(default_factory=list)

    def turn(self, seconds: float) -> float:
        """Return the median time of runs for some seconds."""
        row = self.child.ask(seconds)
        if "times" not in row:
            raise NoReplyError(str(row.get("fault")))
        return 1e6 * float(row["times"])


def measure(name: str, candidates: Sequence[str], budget: float) -> dict[str, Any]:
    """Return the row of a model."""
    path = fetch(name, default_cache())
    infos = {layer.name: layer.output.info for layer in parse(path).inputs}
    inputs = dict(make_feeds(MODELS[name], infos, 1)[0])
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        began = time.perf_counter()
        verdict = tune(path, candidates, budget=budget, inputs=inputs)
        seconds = time.perf_counter() - began
        file, arrays = Path(temporary, "verdicts.json"), Path(temporary, "inputs.npz")
        write_verdict(file, verdict)
        stored: dict[str, Any] = {f"input{at}": each for at, each in enumerate(inputs.values())}
        np.savez(arrays, **stored)
        options = transferable_optimizer(OptimizerOptions())
        request = {
            "model": str(path.resolve()),
            "parser_options": {},
            "inputs": str(arrays),
            "creation_options": transferable(CreationOptions()),
            "options": options,
        }
        followed = {"backends": "auto", "options": {**options, "verdicts": str(file)}}
        auto = Contender("auto", _child({**request, **followed}, stack))
        others = [
            Contender(each.title, _child({**request, **_placed(each, options)}, stack))
            for each in verdict.trials
            if each is verdict.chosen or not (each.options or each.fault.startswith(WRONG))
        ]
        faults = _contest(auto, others, verdict.chosen.title)
        row = _row(verdict, auto, others)
        return {
            **row,
            "faults": faults,
            "tune_seconds": seconds,
            "verdict_ms": _verdict_milliseconds(path, file),
            "busy": os.getloadavg()[0],
            "verdict": verdict.as_dict(),
        }


def _placed(trial: Trial, options: Mapping[str, Any]) -> dict[str, Any]:
    return {"backends": [*trial.backends], "options": following(options, trial, {})}


def _child(request: dict[str, Any], stack: ExitStack) -> JsonChild:
    return stack.enter_context(
        JsonChild("armnn.placement.worker:serve", request, Bounds(seconds=LIFETIME))
    )


def _contest(auto: Contender, others: Sequence[Contender], chosen: str) -> dict[str, str]:
    """Measure in turns; return the faults by title."""
    faults: dict[str, str] = {}
    first: dict[str, float] = {}
    for each in (auto, *others):
        try:
            for _ in ("loaded", "borders"):
                row = each.child.reply()
                if "fault" in row:
                    raise NoReplyError(row["fault"])
            first[each.title] = each.turn(0.0)
            if first[each.title] < HOPELESS * min(first.values()):
                first[each.title] = each.turn(FIRST_SECONDS)
        except NoReplyError as error:
            faults[each.title] = str(error)
    limit = CLOSE * min(first.values())
    finalists = [
        each
        for each in (auto, *others)
        if each is auto or each.title == chosen or first.get(each.title, math.inf) <= limit
    ]
    for each in others:
        if each not in finalists:
            each.child.close()
    for number in range(ROUNDS):
        at = number % len(finalists)
        for each in (*finalists[at:], *finalists[:at]):
            each.times.append(each.turn(TURN_SECONDS))
    return faults


def _row(verdict: Verdict, auto: Contender, others: Sequence[Contender]) -> dict[str, Any]:
    """Return what the rounds say."""
    ratios = {
        each.title: statistics.median(map(_ratio, auto.times, each.times))
        for each in others
        if each.times
    }
    same = ratios.pop(verdict.chosen.title, None)
    worst = max(ratios, key=lambda title: ratios[title], default=None)
    alone = [each for each in verdict.trials if len(each.layers) == 1 and not each.options]
    times = [each.microseconds for each in alone if each.microseconds and not each.fault]
    return {
        "chosen": verdict.chosen.title,
        "microseconds": statistics.median(auto.times),
        "best_other": worst,
        "above": max(ratios.values(), default=0.0),
        "noise": same,
        "single_over_auto": min(times, default=0.0) / (verdict.chosen.microseconds or 1.0),
    }


def _ratio(one: float, other: float) -> float:
    return one / other


def _verdict_milliseconds(path: Path, file: Path) -> float:
    """Return what a second load pays for the verdict."""
    registry, creation = BackendRegistry(CreationOptions()), CreationOptions()
    options = OptimizerOptions(verdicts=str(file))
    found = []
    for _ in range(5):
        began = time.perf_counter()
        choose(path, options, registry, creation)
        found.append(1e3 * (time.perf_counter() - began))
    return statistics.median(found)


def main() -> None:
    """Measure the models that have no row; print all rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; all of them if left out")
    parser.add_argument("--candidates", default=CANDIDATES, metavar="ID,...")
    parser.add_argument("--budget", type=float, default=60.0, metavar="S", help="of each model")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keeps the rows as JSON")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    arguments = parser.parse_args()
    record: Path | None = arguments.record
    rows: dict[str, Any] = {}
    if record is not None and record.exists():
        rows = json.loads(record.read_text())
    names = arguments.names or [each.name for each in MODELS.values() if not each.refused]
    with tempfile.TemporaryDirectory() as folder, installed(Path(folder), SYNTHETIC):
        for name in names:
            if name in rows:
                continue
            try:
                rows[name] = measure(name, arguments.candidates.split(","), arguments.budget)
            except Exception as error:  # a model that fails does not stop the others
                rows[name] = {"error": f"{type(error).__name__}: {error}"}
            if record is not None:
                record.write_text(json.dumps(rows, indent=1))
            if not arguments.json:
                print(_line(name, rows[name]), flush=True)
    shown = {name: rows[name] for name in names}
    print(json.dumps(shown) if arguments.json else _summary(shown))


def _line(name: str, row: dict[str, Any]) -> str:
    if "error" in row:
        return f"{name:28} {row['error']}"
    noise = "" if row["noise"] is None else f"{row['noise']:.3f}"
    return (
        f"{name:28} {row['microseconds']:>9,.0f} us  of the best other {row['above']:5.3f}  "
        f"same plan {noise:>5}  "
        f"verdict {row['verdict_ms']:.2f} ms  best single/auto {row['single_over_auto']:5.2f}  "
        f"{row['chosen']}"
    )


def _summary(rows: dict[str, Any]) -> str:
    done = [row for row in rows.values() if "error" not in row]
    above = [row["above"] for row in done]
    noise = [abs(row["noise"] - 1.0) for row in done if row["noise"] is not None]
    gains = [row for row in done if row["single_over_auto"] >= 1.1]
    return (
        f"{len(done)} of {len(rows)} models; at most {max(above, default=0.0):.3f} of the best "
        f"other, {sum(each <= 1.03 for each in above)} within 1.03; "
        f"the same plan differs by {statistics.median(noise or [0.0]):.3f} in the median, "
        f"{max(noise, default=0.0):.3f} at most; verdicts take at most "
        f"{max((row['verdict_ms'] for row in done), default=0.0):.2f} ms; "
        f"{len(gains)} models gain 10 % over the best single backend"
    )


if __name__ == "__main__":
    main()
