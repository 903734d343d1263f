# SPDX-License-Identifier: MIT
"""Compares every layer of the public models with CpuRef.

    python -m tools.models.wrong_layers --backends CpuAcc [--fast-math] [--seeds 3] [NAME ...]

It exits with 1 if a layer is wrong: a false alarm of ``armnn compare``, or a defect of the backend.
It does so as well if no model was compared, say because the backend is not installed.
"""

from __future__ import annotations

import argparse
import sys
import time

import armnn
from armnn.debugging import CompareOptions, Findings, compare
from armnn.errors import ArmnnError, UnsupportedOperatorError
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.peers import make_feeds

FAST_MATH = "FastMathEnabled"


def findings_of(name: str, backends: list[str], seeds: int, *, fast_math: bool) -> Findings:
    """Return what comparing a public model finds.

    Raises:
        ArmnnError: It does not run.
    """
    network = armnn.parse(fetch(name, default_cache()))
    infos = {layer.name: layer.output.info for layer in network.inputs}
    samples = make_feeds(MODELS[name], infos, seeds)
    options = {backends[0]: {FAST_MATH: True}} if fast_math else {}
    return compare(
        network,
        backends,
        inputs=samples,
        options=armnn.OptimizerOptions(model_options=options),
        thoroughness=CompareOptions(every_layer=True, repeats=2),
    )


def main() -> int:
    """Print lines; return 1 for wrong layers or no model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models; all by default")
    parser.add_argument("--backends", default="CpuAcc,CpuRef")
    parser.add_argument("--fast-math", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    alarms = compared = 0
    for name in arguments.names or [each for each, model in MODELS.items() if not model.refused]:
        start, backends = time.perf_counter(), arguments.backends.split(",")
        try:
            found = findings_of(name, backends, arguments.seeds, fast_math=arguments.fast_math)
        except UnsupportedOperatorError:
            continue
        except (ArmnnError, ValueError, ModuleNotFoundError) as error:
            print(f"{name}: not compared: {error}"[:160], flush=True)
            continue
        worst = max(found.by_layer, key=lambda each: each.figures.ratio, default=None)
        ratio = 0.0 if worst is None else worst.figures.ratio
        seconds = time.perf_counter() - start
        print(
            f"{name}: {len(found.by_layer)} layers, {len(found.wrong)} wrong, largest ratio "
            f"{ratio:.3f}, {found.reference_runs:.1f} runs of CpuRef, {seconds:.0f} s",
            flush=True,
        )
        for wrong in found.wrong:
            print(f"  {wrong.layers} {wrong.types}: {wrong.figures}")
        alarms += len(found.wrong)
        compared += 1
    print(f"{alarms} wrong layers in {compared} models")
    return int(alarms > 0 or compared == 0)


if __name__ == "__main__":
    sys.exit(main())
