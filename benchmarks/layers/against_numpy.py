# SPDX-License-Identifier: MIT
"""Compares CpuRef's layers with NumPy expressions.

Figures are medians over interleaved rounds. A round runs the bound step of each layer, then its
expression. Both leave their result in memory of its own: the step writes the tensor that it is
bound to, the expression makes an array. What a run of a network does beside its steps is no part of
it; overhead.py measures that. Exits with 1 when a layer takes more than three times as long as its
expression.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn import Network
from armnn.backends import ArrayHandle, ModelContext
from armnn.layers import LAYERS
from armnn.tensor import info_of
from armnn_backend_ref.backend import RefBackend
from benchmarks.layers.cases import cases

if TYPE_CHECKING:
    from benchmarks.layers.case import Case

LIMIT = 3.0
EXAMPLES = """
examples:
  python -m benchmarks.layers.against_numpy
  python -m benchmarks.layers.against_numpy --layers Activation Softmax --rounds 100
  python -m benchmarks.layers.against_numpy --json > layers.json
"""


def prepare(case: Case) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return the layer's step and the expression, compared once.

    Raises:
        AssertionError: They do not.
    """
    network = Network("one layer")
    infos = [case.infos.get(place, info_of(array)) for place, array in enumerate(case.inputs)]
    values = [network.add_input(f"input {place}", info) for place, info in enumerate(infos)]
    descriptor = LAYERS[case.layer].descriptor(**case.fields)
    layer = network.add(case.layer, values, descriptor, outputs=case.outputs)
    backend, model = RefBackend(), ModelContext({})
    inputs = [ArrayHandle(info, array) for info, array in zip(infos, case.inputs, strict=True)]
    outputs = [
        ArrayHandle(info, np.empty(info.static_shape, info.data_type.numpy_dtype))
        for info in layer.output_infos
    ]
    step = backend.create_workload(layer, model).bind(inputs, outputs)

    def direct() -> Any:
        result = case.direct(*case.inputs)
        return result.copy() if _is_view(result) else result

    step()
    expected = direct()
    pairs = zip(outputs, expected if isinstance(expected, tuple) else (expected,), strict=False)
    for handle, array in pairs:
        ours = handle.map().astype(float)
        what = f"{case.layer} {case.variant}"
        np.testing.assert_allclose(ours, array.astype(float), 1e-4, case.tolerance, err_msg=what)
    return step, direct


def _is_view(result: Any) -> bool:
    return isinstance(result, np.ndarray) and result.base is not None


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """Return both medians in milliseconds and their ratio's median.

    The ratio is taken round by round.
    """
    sides = prepare(case)
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for side, taken in zip(sides, times, strict=True):
            start = time.perf_counter()
            side()
            taken.append((time.perf_counter() - start) * 1e3)
    ours, direct = times
    return {
        "layer": case.layer,
        "variant": case.variant,
        "elements": max(array.size for array in case.inputs),
        "ours_ms": statistics.median(ours),
        "numpy_ms": statistics.median(direct),
        "ratio": statistics.median(a / b for a, b in zip(ours, direct, strict=True)),
    }


def table(wanted: list[str], rounds: int) -> list[dict[str, Any]]:
    """Measure the cases of layer types, slowest first.

    Without types, all are measured.
    """
    chosen = [case for case in cases() if not wanted or case.layer in wanted]
    gc.disable()
    with np.errstate(all="ignore"):  # the layers take NaN and infinity as they come, too
        rows = [measure(case, rounds) for case in chosen]
        for place, case in enumerate(chosen):
            if rows[place]["ratio"] > LIMIT:  # once more, in case that something was in the way
                rows[place] = measure(case, 3 * rounds)
    return sorted(rows, key=lambda row: -row["ratio"])


def too_slow(rows: list[dict[str, Any]]) -> list[str]:
    """Return which of them are above the limit."""
    return [f"{row['layer']} {row['variant']}".strip() for row in rows if row["ratio"] > LIMIT]


def lines(rows: list[dict[str, Any]]) -> str:
    """Return the results as a table."""
    text = ["layer                  variant                 elements     CpuRef      NumPy  ratio"]
    text += [
        f"{row['layer']:22s} {row['variant']:22s} {row['elements']:9d} "
        f"{row['ours_ms']:7.3f} ms {row['numpy_ms']:7.3f} ms {row['ratio']:6.2f}"
        for row in rows
    ]
    return "\n".join(text)


def main() -> int:
    """Measure and print; return 1 if the limit is exceeded."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compared = sorted({case.layer for case in cases()})
    parser.add_argument(
        "--layers", nargs="+", default=[], choices=compared, metavar="TYPE", help="default: all"
    )
    parser.add_argument("--rounds", type=int, default=31, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    rows = table(arguments.layers, arguments.rounds)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        print(lines(rows))
        computed = [spec.name for spec in LAYERS.values() if not spec.no_kernel]
        without = [layer for layer in computed if layer not in compared]
        print(f"\nwithout a direct expression: {', '.join(without)}")
    slow = too_slow(rows)
    if slow:
        print(f"more than {LIMIT:g} times as slow as NumPy: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
