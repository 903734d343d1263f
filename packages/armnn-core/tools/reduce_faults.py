# SPDX-License-Identifier: MIT
"""Reduces planted faults in networks of some 40 layers.

    python packages/armnn-core/tools/reduce_faults.py [--runs 20] [--table FILE] [NAME ...]

Every fault has to end in at most 3 layers, 64 KiB and 60 s, and its script has to fail every time.
It exits with 1 if one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.debugging import ReduceOptions, Reduction, reduce
from armnn.debugging.reducing.result import shows
from armnn.graph import Network
from armnn.optimizer.options import OptimizerOptions
from armnn.tensor import TensorInfo
from fakes.faults import FAULTS, Fault, planted_network
from fakes.plugins import backend_plugin, installed

if TYPE_CHECKING:
    from armnn.graph import Value

VARIABLE = "ARMNN_PLANTED_FAULT"
"""The name of the fault that the backend has, or of a signal that it ends with."""

MOST_LAYERS, MOST_BYTES, MOST_SECONDS = 3, 64 * 1024, 60.0

CRASHES = ("SIGSEGV", "SIGABRT", "hang")
"""Faults that end or block the process, in layers of the type Softmax."""

PLUGIN = """
import os
import signal
import time

from fakes.faults import FAULTS, Fault, FaultyBackend


def crash(call):
    name = os.environ["ARMNN_PLANTED_FAULT"]
    if name == "hang":
        time.sleep(3600)
    os.kill(os.getpid(), signal.Signals[name])
    return call.right()


name = os.environ.get("ARMNN_PLANTED_FAULT", "")
planted = [each for each in FAULTS if each.name == name] or [Fault("", "", "Softmax", crash)]
backend = FaultyBackend.around("CpuRef", *planted)
"""
"""A distribution's module with the backend, for the child processes."""

IMAGE = (1, 8, 12, 12)
BLOCKS = 10


def hidden(fault: Fault) -> Network:
    """Return a network in which one layer has the fault.

    The planted layer stands behind ten residual blocks, which have none of its type.
    """
    rng = np.random.default_rng(1)
    network = Network(f"hidden {fault.network}")
    value = network.add_input("picture", TensorInfo(IMAGE))
    for _ in range(BLOCKS):
        value = _block(network, value, fault.layer, rng)
    planted = planted_network(fault.network, fault.layer)
    (source,) = planted.inputs
    shape = source.output.info.static_shape
    count = int(np.prod(shape))
    flat = network.add_reshape(value, target_shape=(value.info.num_elements,))
    if fault.layer == "Slice":
        part = network.add_gather(flat, network.add_constant(np.arange(count, dtype=np.int32)))
    else:
        part = network.add_slice(flat, begin=(0,), size=(count,))
    start = network.add_reshape(part, target_shape=shape)
    layers = [each for each in planted.topological_order() if each is not source]
    network.insert_copies(layers, {source.output: start})
    network.add_output("features", value)
    return network


def _block(network: Network, value: Value, without: str, rng: np.random.Generator) -> Value:
    """Add a residual block without layers of a type."""
    before = value
    if without != "Convolution2d":
        weights = rng.standard_normal((8, 8, 3, 3)).astype(np.float32) / 8
        filters = network.add_constant(weights)
        value = network.add_convolution2d(
            value, filters, pad_left=1, pad_right=1, pad_top=1, pad_bottom=1
        )
    if without != "Activation":
        value = network.add_activation(value, function="TanH", a=1.0, b=1.0)
    if without != "ElementwiseUnary":
        value = network.add_elementwise_unary(value, operation="Sin")
    if without == "Addition":
        return network.add_maximum(value, before)
    return network.add_addition(value, before)


def crashing() -> Network:
    """Return a network of which one layer ends the process."""
    fault = next(each for each in FAULTS if each.network == "softmax")
    return hidden(fault)


def reduced(name: str, folder: Path) -> Reduction:
    """Reduce the network of a fault.

    Raises:
        ArmnnError: It does not fail.
    """
    os.environ[VARIABLE] = name
    target = folder / f"{''.join(each if each.isalnum() else '_' for each in name)}.onnx"
    limits = ReduceOptions(time_limit=300.0, try_limit=2.0 if name in CRASHES else 10.0)
    options = OptimizerOptions(rewrite=False)
    if name in CRASHES:
        return reduce(crashing(), ["Faulty"], target, check="crash", options=options, limits=limits)
    fault = next(each for each in FAULTS if each.name == name)
    return reduce(hidden(fault), ["Faulty"], target, options=options, limits=limits)


def processor_seconds() -> float:
    """Return what this process and its ended children have used."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def row_of(name: str, folder: Path, runs: int) -> dict[str, Any]:
    """Return a row of the table."""
    before = processor_seconds()
    reduction = reduced(name, folder)
    used = processor_seconds() - before
    script = next(each for each in reduction.files if each.suffix == ".py")
    failed = sum(shows(script, reduction.failure, 10.0) for _ in range(runs))
    size = sum(each.stat().st_size for each in reduction.files)
    return {
        "fault": name,
        "layers": list(reduction.types),
        "layers_before": reduction.layers_before,
        "format": reduction.files[0].suffix,
        "bytes": size,
        "tries": reduction.tries,
        "seconds": round(reduction.seconds, 1),
        "processor_seconds": round(used, 1),
        "lines": len(script.read_text().splitlines()),
        "failed": failed,
        "runs": runs,
        "good": len(reduction.types) <= MOST_LAYERS
        and size <= MOST_BYTES
        and reduction.seconds <= MOST_SECONDS
        and failed == runs,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row per fault; return 1 for bad ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults; all by default")
    parser.add_argument("--runs", type=int, default=20, help="of each script")
    parser.add_argument("--table", type=Path, help="the JSON file to be written")
    given = parser.parse_args(arguments)
    rows = []
    plugin = backend_plugin("Faulty", source=PLUGIN)
    with tempfile.TemporaryDirectory() as name, installed(Path(name) / "site", plugin):
        for fault in given.names or [*(each.name for each in FAULTS), *CRASHES]:
            rows.append(row_of(fault, Path(name), given.runs))
            print(json.dumps(rows[-1]), flush=True)
            if given.table is not None:
                given.table.write_text(json.dumps(rows, indent=1) + "\n")
    bad = [row["fault"] for row in rows if not row["good"]]
    print(f"{len(rows) - len(bad)} of {len(rows)} faults reduced; bad: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
