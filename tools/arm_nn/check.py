# SPDX-License-Identifier: MIT
"""Compares ``.armnn`` files with Arm NN, by conformance cases.

Each case that can be stored for a version is written here, run by that Arm NN on its own CpuRef,
written again by Arm NN, and read here. Both results must be those of armnn's CpuRef; where Arm NN's
CpuRef computes something else, or refuses a layer, ``known.py`` says why.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import armnn
from armnn.errors import NotStorableError
from armnn_conformance.cases import all_cases
from armnn_conformance.comparison import difference
from armnn_conformance.running import feeds_of, network_of, output_name
from tools.arm_nn.driver import Driver
from tools.arm_nn.known import LEAST, difference_known, refusal_known
from tools.arm_nn.packages import VERSIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn_conformance.cases import LayerCase
    from tools.arm_nn.packages import ArmNn


def main() -> int:
    """Check the versions; return 1 if something is new."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default="", help="how the ids of cases begin")
    options = arguments.parse_args()
    faults = 0
    with armnn.Runtime() as runtime, tempfile.TemporaryDirectory() as folder:
        for version in VERSIONS:
            check = Check(version, runtime, Path(folder))
            faults += check.run(options.only)
    return int(faults > 0)


class Check:
    """The cases against one version of Arm NN.

    Args:
        arm_nn: The version.
        runtime: Runs armnn's CpuRef.
        folder: Where files are written.
    """

    def __init__(self, arm_nn: ArmNn, runtime: armnn.Runtime, folder: Path) -> None:
        self._version = arm_nn.version
        self._runtime = runtime
        self._path = folder / "case.armnn"
        self._driver = Driver(arm_nn.command(), folder)

    def run(self, only: str) -> int:
        """Check the cases; return the number of faults."""
        counts: Counter[str] = Counter()
        faults = 0
        for case in all_cases():
            if case.id.startswith(only):
                for result, fault in self._case(case):
                    counts[result] += 1
                    if fault:
                        faults += 1
                        print(f"{self._version} {case.id}: {fault}")
        self._driver.close()
        listed = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
        print(f"Arm NN {self._version}: {listed}")
        for result, least in LEAST[self._version].items():
            if not only and counts[result] < least:
                print(f"Arm NN {self._version}: {counts[result]} {result}, expected {least}")
                faults += 1
        return faults

    def _case(self, case: LayerCase) -> Iterator[tuple[str, str]]:
        """Yield a case's results, each with a fault or ""."""
        network = network_of(case)
        try:
            armnn.save(network, self._path, for_arm_nn=self._version)
        except NotStorableError:
            yield "not storable", ""
            return
        names = [output_name(index) for index in range(len(case.outputs))]
        feeds = feeds_of(case)
        ours = self._results(network, feeds)
        outcome = self._driver.do(self._path.read_bytes(), feeds, names)
        if outcome.failure:
            known = refusal_known(case, outcome.failure)
            yield "refused by Arm NN", "" if known else f"Arm NN cannot run it: {outcome.failure}"
        else:
            yield self._compared(case, [outcome.outputs[name] for name in names])
        if not outcome.copy:
            yield "not written by Arm NN", ""
            return
        back = self._results(armnn.parse(outcome.copy, suffix="armnn"), feeds)
        same = all(ours[name].tobytes() == back[name].tobytes() for name in names)
        yield "written by Arm NN and read", "" if same else "its copy gives other results"

    def _compared(self, case: LayerCase, outputs: Sequence[bytes]) -> tuple[str, str]:
        """Compare Arm NN's results with what the case expects."""
        for index, (data, info, expected) in enumerate(
            zip(outputs, case.outputs, case.expected, strict=True)
        ):
            stored = np.frombuffer(data, info.data_type.numpy_dtype)
            if expected.size and index not in case.open_outputs:
                found = f"{stored.size} elements, expected {expected.size}"
                if stored.size == expected.size:
                    shaped = stored.reshape(expected.shape)
                    found = difference(shaped, info, expected, case.tolerance)
                if found:
                    known = difference_known(case)
                    fault = "" if known else f"{output_name(index)}: {found}"
                    return "run by Arm NN, known to differ", fault
        return "run by Arm NN, results equal", ""

    def _results(
        self, network: armnn.Network, feeds: Mapping[str, NDArray[Any]]
    ) -> Mapping[str, NDArray[Any]]:
        loaded = self._runtime.load_network(self._runtime.optimize(network, backends=["CpuRef"]))
        try:
            return loaded.run(dict(feeds))
        finally:
            self._runtime.unload_network(loaded)


if __name__ == "__main__":
    sys.exit(main())
