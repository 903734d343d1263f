# SPDX-License-Identifier: MIT
"""Checks that ``armnn compare`` names faults of other runtimes.

    python -m tools.faults.check [--reduce] [NAME ...]

Each version with a fault is installed into a folder of its own, ``.cache/faults``, and a process
that imports it from there compares the model. It exits with 1 if a fault is not named as expected.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from armnn.debugging import CompareOptions, Reduction, compare, reduce
from tools import ROOT
from tools.faults import of_onnxruntime, of_openvino

if TYPE_CHECKING:
    from tools.faults.fault import Fault

CACHE = ROOT / ".cache" / "faults"

FAULTS = (*of_onnxruntime.FAULTS, *of_openvino.FAULTS)


def installed(requirement: str) -> Path:
    """Return the folder with a distribution."""
    folder = CACHE / requirement.replace("==", "-")
    if not folder.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", str(folder), requirement], check=True)
    return folder


def named(fault: Fault) -> set[str]:
    """Return the layers that comparing a fault's model names."""
    network, inputs = fault.build()
    findings = compare(
        network,
        fault.backends,
        inputs=[inputs],
        options=fault.options,
        thoroughness=CompareOptions(repeats=2),
    )
    return {layer for wrong in findings.wrong for layer in wrong.layers}


def check_one(fault: Fault, arguments: argparse.Namespace) -> int:
    """Compare one model with the runtime of this process."""
    found = named(fault)
    is_as_expected = set(fault.wrong) <= found and bool(found) == bool(fault.wrong)
    verdict = "named" if found else "not named"
    print(f"{fault.name}, {fault.runtime} {fault.version} ({fault.where}):")
    expected = "" if is_as_expected else f" UNEXPECTED, not {', '.join(fault.wrong) or 'none'}"
    print(f"  compare: {verdict}, {', '.join(sorted(found)) or 'none'}{expected}", flush=True)
    if arguments.reduce and found:
        small = reduced(fault)
        print(
            f"  reduce: {len(small.layers)} of {small.layers_before} layers "
            f"({', '.join(small.types)}), {small.size} bytes, {small.tries} tries, "
            f"{small.seconds:.0f} s, failed {small.confirmed} of {small.runs} times",
            flush=True,
        )
    return int(not is_as_expected)


def reduced(fault: Fault) -> Reduction:
    """Return and write the smallest model with a fault."""
    network, inputs = fault.build()
    return reduce(
        network,
        fault.backends,
        CACHE / f"{fault.name.replace(' ', '_')}.onnx",
        inputs=[inputs],
        options=fault.options,
    )


def main() -> int:
    """Check each fault in a process; return 1 for failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults; all by default")
    parser.add_argument("--here", action="store_true", help="with the runtime of this process")
    parser.add_argument("--reduce", action="store_true", help="write the smallest models, too")
    arguments = parser.parse_args()
    chosen = [each for each in FAULTS if not arguments.names or each.name in arguments.names]
    if arguments.here:
        return max(check_one(fault, arguments) for fault in chosen)
    failed = 0
    for fault in chosen:
        runtime = installed(f"{fault.runtime}=={fault.version}")
        paths = [str(runtime), str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, "-m", "tools.faults.check", "--here", fault.name]
        command += ["--reduce"] * arguments.reduce
        failed += subprocess.run(command, env=environment, check=False).returncode != 0
    print(f"{len(chosen) - failed} of {len(chosen)} as expected")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
