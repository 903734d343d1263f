# SPDX-License-Identifier: MIT
"""Polygraphy's ``debug reduce`` on the same models, for comparison.

It judges no layer, so the command of its ``--check`` does: ``tools/faults/judge.py`` compares the
runtime with ONNX's reference evaluator.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx

from armnn.parsing.exporting import export

if TYPE_CHECKING:
    from tools.faults.fault import Fault

SECONDS = 300


def reduced_by_polygraphy(fault: Fault, tool: Path, cache: Path) -> str:
    """Return what Polygraphy makes of a fault's model."""
    network, inputs = fault.build()
    model = cache / "polygraphy.onnx"
    small = cache / "polygraphy_reduced.onnx"
    model.write_bytes(export(network))
    small.unlink(missing_ok=True)
    np.savez(cache / "polygraphy.npz", **dict(inputs))  # type: ignore[arg-type]  # numpy's stub
    paths = [os.environ.get("PYTHONPATH", ""), str(tool)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    judge = [sys.executable, "-m", "tools.faults.judge", fault.runtime]
    command = [sys.executable, str(tool / "bin" / "polygraphy"), "debug", "reduce", str(model)]
    command += ["--output", str(small), "--mode", "linear"]
    command += ["--iter-artifact", str(cache / "polygraphy_try.onnx"), "--check", *judge]
    start = time.perf_counter()
    try:
        run = subprocess.run(
            command, env=environment, cwd=cache, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no result in {SECONDS} s"
    seconds = time.perf_counter() - start
    if run.returncode or not small.exists():
        return f"no reduced model: {_last_line(run.stdout + run.stderr)}"
    nodes = [node.op_type for node in onnx.load(small).graph.node]
    return f"{len(nodes)} nodes ({', '.join(nodes)}), {small.stat().st_size} bytes, {seconds:.0f} s"


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1][-160:] if lines else "no words"
