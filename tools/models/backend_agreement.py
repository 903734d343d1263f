# SPDX-License-Identifier: MIT
"""Compares the public models on a backend and on CpuRef.

    python -m tools.models.backend_agreement [NAME ...] [--backend CpuAcc]

Layers that the backend does not take run on CpuRef. Outputs of models in floats may differ by a
thousandth of their range. In quantized models ``armnn compare`` finds no layer wrong; from layer to
layer differences of a step grow, so outputs may differ by a twentieth of the range on average. It
exits with 1 if a model differs by more, or if the backend runs no layer of it.
"""

from __future__ import annotations

import argparse
import sys
import time

import armnn
from armnn.debugging import CompareOptions
from armnn.debugging import compare as compare_layers
from armnn.errors import ArmnnError, UnsupportedOperatorError
from tools.models.agreement import RANGE, distance
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.peers import make_feeds, run_ours, states_of

FEEDS = 2
REFERENCE = "CpuRef"
QUANTIZED_RANGE = 0.05
"""The most that an output of a quantized model may differ on average, relative to its range."""


def compare(name: str, backend: str) -> tuple[bool, str]:
    """Return whether a model agrees, and a line about it."""
    model, path = MODELS[name], fetch(name, default_cache())
    try:
        network = armnn.parse(path)
    except UnsupportedOperatorError as error:
        return model.refused, f"refused: {error}"
    reference = armnn.load_model(path, backends=[REFERENCE])
    inputs = {key: info for key, info in reference.inputs.items() if key not in reference.outputs}
    feeds = make_feeds(model, inputs, FEEDS)
    right = run_ours(reference, feeds)
    wrong: list[str] = []
    try:
        loaded = armnn.load_model(path, backends=[backend, REFERENCE])
        made = run_ours(loaded, feeds)
        found = distance(made, right, [None] * len(right[0]))
        if model.quantized:
            samples = [{**feeds[0], **states_of(reference)}]
            thoroughness = CompareOptions(every_layer=True)
            backends = [backend, REFERENCE]
            layers = compare_layers(network, backends, inputs=samples, thoroughness=thoroughness)
            wrong = [name for each in layers.wrong for name in each.layers]
    except (ArmnnError, ValueError) as error:
        return False, f"failed: {type(error).__name__}: {error}"
    ran = sum(row.backend == backend for row in loaded.report)
    placed = f"{ran} of {len(list(loaded.report))} layers on {backend}"
    if not model.quantized:
        agrees = found.largest <= RANGE
        return agrees and ran > 0, f"{found.largest:.2g} of the range at most, {placed}"
    agrees = found.mean <= QUANTIZED_RANGE and not wrong
    first = f", such as {wrong[0]!r}" if wrong else ""
    figures = f"{found.mean:.2g} of the range on average, {len(wrong)} wrong layers{first}"
    return agrees and ran > 0, f"{figures}, {placed}"


def main() -> int:
    """Compare models; return 1 if one does not agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which models; all without one")
    parser.add_argument("--backend", default="CpuAcc", help="what is compared with CpuRef")
    arguments = parser.parse_args()
    names = arguments.names or list(MODELS)
    wrong = []
    for place, name in enumerate(names, 1):
        start = time.monotonic()
        agrees, line = compare(name, arguments.backend)
        wrong += [] if agrees else [name]
        word = "agrees" if agrees else "DIFFERS"
        seconds = time.monotonic() - start
        print(f"[{place}/{len(names)}] {name}: {word}: {line} ({seconds:.1f} s)", flush=True)
    print(f"{len(names) - len(wrong)} of {len(names)} models agree")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
