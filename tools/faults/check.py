# SPDX-License-Identifier: MIT
"""Checks that ``armnn compare`` names published faults of onnxruntime.

    python -m tools.faults.check

Each version with a fault is installed into a folder of its own, ``.cache/faults``, and a process
that imports it from there compares the model. It exits with 1 if a fault is not named, or if the
newest version that is installed here has another state than the page says.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from armnn import OptimizerOptions
from armnn.debugging import CompareOptions, Reduction, compare, reduce
from tools import ROOT
from tools.faults.records import FAULTS, Fault
from tools.faults.shrink import shrink_errors

CACHE = ROOT / ".cache" / "faults"


def installed(version: str) -> Path:
    """Return the folder with a version of onnxruntime."""
    folder = CACHE / f"onnxruntime-{version}"
    if not folder.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", str(folder), f"onnxruntime=={version}"], check=True)
    return folder


def named(fault: Fault) -> set[str]:
    """Return the layers that comparing a fault's model names."""
    network, inputs = fault.build()
    findings = compare(
        network,
        ["OnnxRuntime", "CpuRef"],
        inputs=[inputs],
        # The optimizer of armnn would fold a Pad into its pooling, and onnxruntime would see none.
        options=OptimizerOptions(rewrite=False),
        thoroughness=CompareOptions(repeats=2),
    )
    return {layer for wrong in findings.wrong for layer in wrong.layers}


def check_one(name: str, *, reducing: bool) -> int:
    """Compare one model with the onnxruntime of this process."""
    fault = next(fault for fault in FAULTS if fault.name == name)
    found = named(fault)
    verdict = "named" if set(fault.wrong) <= found else "NOT NAMED"
    print(f"{fault.name}, onnxruntime {fault.version}: {verdict}, {', '.join(sorted(found))}")
    if reducing:
        print(f"  {reduced(fault)}")
    return int(verdict != "named")


def reduced(fault: Fault) -> Reduction:
    """Return and write the smallest model with a fault."""
    network, inputs = fault.build()
    return reduce(
        network,
        ["OnnxRuntime", "CpuRef"],
        CACHE / f"{fault.name.replace(' ', '_')}.onnx",
        inputs=[inputs],
        options=OptimizerOptions(rewrite=False),
    )


def main() -> int:
    """Check each fault in a process; return 1 for failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", metavar="NAME", help="with the onnxruntime of this process")
    parser.add_argument("--reduce", action="store_true", help="write the smallest models, too")
    arguments = parser.parse_args()
    if arguments.one is not None:
        return check_one(arguments.one, reducing=arguments.reduce)
    failed = 0
    for fault in FAULTS:
        paths = [str(installed(fault.version)), str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, "-m", "tools.faults.check", "--one", fault.name]
        command += ["--reduce"] * arguments.reduce
        failed += subprocess.run(command, env=environment, check=False).returncode != 0
    wrong = shrink_errors()
    print(f"Shrink of Float64 and Signed64: {wrong} of 4 results rounded to Float32")
    return int(failed > 0 or wrong != 4)


if __name__ == "__main__":
    sys.exit(main())
