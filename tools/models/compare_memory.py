# SPDX-License-Identifier: MIT
"""Measures the memory of a comparison beside a run's.

    python -m tools.models.compare_memory [--backends CpuAcc,CpuRef] [--every-layer] [NAME ...]

Each figure is the largest resident memory of a process of its own, which reads the model, loads it
and runs it once on CpuRef, once on the backends, or compares it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys

import armnn
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.peers import make_feeds

KINDS = ("CpuRef", "backends", "compare")


def measured(kind: str, name: str, backends: list[str], every_layer: bool) -> float:
    """Return the largest resident memory of this process in MB."""
    path = fetch(name, default_cache())
    network = armnn.parse(path)
    feeds = make_feeds(MODELS[name], {layer.name: layer.output.info for layer in network.inputs}, 1)
    network.clear()  # its layers refer to each other: its weights would stay for some time
    if kind == "compare":
        from armnn.debugging import CompareOptions, compare

        compare(path, backends, inputs=feeds, thoroughness=CompareOptions(every_layer))
    else:
        with armnn.Runtime() as runtime:
            chosen = ["CpuRef"] if kind == "CpuRef" else backends
            runtime.load_model(path, chosen).run(feeds[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Print a line per model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; all by default")
    parser.add_argument("--backends", default="CpuAcc,CpuRef")
    parser.add_argument("--every-layer", action="store_true")
    parser.add_argument("--kind", choices=KINDS, help="measure this process")
    arguments = parser.parse_args()
    if arguments.kind:
        backends = arguments.backends.split(",")
        print(measured(arguments.kind, arguments.names[0], backends, arguments.every_layer))
        return 0
    for name in arguments.names or [each for each, model in MODELS.items() if not model.refused]:
        command = [sys.executable, "-m", "tools.models.compare_memory", name]
        command += ["--backends", arguments.backends]
        command += ["--every-layer"] if arguments.every_layer else []
        found = []
        for kind in KINDS:
            ended = subprocess.run(
                [*command, "--kind", kind], capture_output=True, text=True, env=os.environ
            )
            if ended.returncode:
                print(f"{name}: {ended.stderr.strip().splitlines()[-1]}"[:160], flush=True)
                break
            found.append(float(ended.stdout))
        else:
            run, own, comparing = found
            print(
                f"{name}: CpuRef {run:.0f} MB, {arguments.backends} {own:.0f} MB "
                f"({own / run:.2f}), compare {comparing:.0f} MB ({comparing / run:.2f})",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
