# SPDX-License-Identifier: MIT
"""A bound on what a search over cuts can gain.

Each model is cut where one tensor crosses, into at most six segments of about the same work. Every
segment is measured alone on every backend. The best choice per segment, with borders that cost
nothing, bounds what plans with these cuts can be::

    python -m benchmarks.placement.cuts [NAME ...] [--candidates CpuAcc,OpenVino,Synthetic]

Two ratios are printed: the times of the best single backend and of the best order of preference,
as sums over the segments, to that of the best choice per segment.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.backends import CreationOptions
from armnn.graph.statistics import multiply_adds_of
from armnn.optimizer import OptimizerOptions
from armnn.optimizer.assignment.assign import UNASSIGNED
from armnn.optimizer.phases import layers_before_backends
from armnn.parsing import parse
from armnn.placement.measuring import asked
from armnn.placement.part_costs import Borders, Parts
from armnn.placement.worker import creation_of, inputs_of, network_of, options_of
from armnn.processes.answering import SilenceError, speaker
from armnn.runtime import Runtime
from armnn.verdicts.parts import MeasuredPart, parts_from
from armnn.verdicts.transfer import transferable, transferable_optimizer
from armnn_conformance.fakes.plugin_dirs import installed
from benchmarks.placement.choice import SYNTHETIC
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.peers import make_feeds

if TYPE_CHECKING:
    from armnn.graph import Layer

MOST: Final = 6
SECONDS: Final = 120.0


def measure(request: Mapping[str, Any], answers: int) -> None:
    """Send the cost of each segment on each backend."""
    with Runtime(creation_of(request)) as runtime:
        model = network_of(request)
        inputs = inputs_of(request, {layer.name: layer.output.info for layer in model.inputs})
        plan = runtime.optimize(model, ["CpuRef"], options=options_of(request))
        shapes = {name: array.shape for name, array in inputs.items()}
        values = {name: inputs[name] for name in plan.value_inputs}
        segments = layers_before_backends(model, shapes, plan.participants, plan.options, values)
        if segments.rest is not None:
            return
        network = segments.head
        order = [each for each in network.topological_order() if each.type not in UNASSIGNED]
        order = [each for each in order if each.data is None]
        parts = Parts(runtime, network, request, Borders(plan.participants))
        known = {layer.output: inputs[layer.name] for layer in network.inputs}
        parts.measure(cut(order), known, speaker(answers))


def cut(order: Sequence[Layer]) -> list[list[Layer]]:
    """Return segments between which one tensor crosses."""
    work = [1000 + (multiply_adds_of(each) or 0) for each in order]
    share = sum(work) / MOST
    found: list[list[Layer]] = [[]]
    done = 0.0
    position = {layer: at for at, layer in enumerate(order)}
    for at, layer in enumerate(order):
        found[-1].append(layer)
        done += work[at]
        crossing = {
            value
            for before in order[: at + 1]
            for value in before.outputs
            if any(position.get(reader, -1) > at for reader in value.consumers)
        }
        if done >= share * len(found) and len(crossing) == 1 and at + 1 < len(order):
            found.append([])
    return found


def bound(parts: Sequence[MeasuredPart], backends: Sequence[str]) -> tuple[float, float, float]:
    """Return the times of the best single, order and choice."""
    costs = [
        {each.backend: each.microseconds for each in part.costs if not each.fault} for part in parts
    ]
    alone = [sum(row[b] for row in costs) for b in backends if all(b in row for row in costs)]
    orders = [
        sum(next(row[b] for b in order if b in row) for row in costs)
        for order in permutations(backends)
        if all(any(b in row for b in order) for row in costs)
    ]
    return min(alone), min(orders), sum(min(row.values()) for row in costs)


def main() -> None:
    """Print a row per model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; all of them if left out")
    parser.add_argument("--candidates", default="CpuAcc,OpenVino,CpuRef,Synthetic")
    arguments = parser.parse_args()
    names = arguments.names or [each.name for each in MODELS.values() if not each.refused]
    backends = arguments.candidates.split(",")
    with tempfile.TemporaryDirectory() as folder, installed(Path(folder), SYNTHETIC):
        for name in names:
            path = fetch(name, default_cache())
            infos = {layer.name: layer.output.info for layer in parse(path).inputs}
            inputs = dict(make_feeds(MODELS[name], infos, 1)[0])
            stored: dict[str, Any] = {f"input{at}": a for at, a in enumerate(inputs.values())}
            np.savez(Path(folder, "inputs.npz"), **stored)
            request = {
                "model": str(path.resolve()),
                "parser_options": {},
                "inputs": str(Path(folder, "inputs.npz")),
                "creation_options": transferable(CreationOptions()),
                "options": transferable_optimizer(OptimizerOptions()),
                "among": backends,
            }
            rows: list[dict[str, Any]] = []
            try:
                rows.extend(asked(request, "measure", SECONDS, "benchmarks.placement.cuts"))
            except SilenceError as silence:
                print(f"{name:28} {silence}", flush=True)
                continue
            parts = tuple(parts_from(rows))
            if not parts:
                print(f"{name:28} its shapes depend on computed data", flush=True)
                continue
            alone, order, best = bound(parts, backends)
            print(
                f"{name:28} {len(parts)} segments  single {alone:9,.0f} us  order {order:9,.0f}  "
                f"best of each {best:9,.0f}  gain {alone / best:5.2f}, over orders "
                f"{order / best:5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
