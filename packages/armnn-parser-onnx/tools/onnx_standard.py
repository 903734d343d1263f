# SPDX-License-Identifier: MIT
"""Run the installed onnx's node tests on a backend.

It reports passed, failed and refused ones.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FLOOR = Path("packages/armnn-parser-onnx/onnx_standard_floor.txt")
"""How many counted tests passed last time: fewer is an error."""

TRAINING_DOMAINS = ("ai.onnx.preview.training",)
SECONDS = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one test.

    Attributes:
        name: The test.
        result: "passed", "failed", "refused" or "excluded".
        reason: Why, if it did not pass.
    """

    name: str
    result: str
    reason: str = ""


def load_cases() -> list[Any]:
    """Return the node tests, seeded for the same data."""
    os.environ["ONNX_HOME"] = tempfile.mkdtemp(prefix="onnx_standard_")
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        return sorted(load_model_tests(kind="node"), key=lambda case: str(case.name))


def exclusion(model: Any) -> str:
    """Return why a test is not counted, else "".

    Its operators and types decide.
    """
    import onnx

    for node in _all_nodes(model.graph):
        if node.domain in TRAINING_DOMAINS:
            return "training"
        if node.op_type in ("ImageDecoder",):
            return "image decoding"
        if node.domain in ("", "ai.onnx") and onnx.defs.has(node.op_type):
            schema = onnx.defs.get_schema(node.op_type)
            if "seed" in schema.attributes:
                return _random_kind(node)
    values = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    for value in values:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return str(kind).removesuffix("_type")
        if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            return "string"
    return _excluded_by_schema(model)


def _random_kind(node: Any) -> str:
    """Return whether a Dropout is random.

    It is in training mode only, which an input enables.
    """
    if node.op_type == "Dropout":
        return "training" if len(node.input) > 2 and node.input[2] else ""
    return "random"


def _excluded_by_schema(model: Any) -> str:
    """Exclude sequences, optionals, maps and strings within a graph."""
    import onnx

    for node in _all_nodes(model.graph):
        training = [a for a in node.attribute if a.name == "training_mode" and a.i]
        if training:
            return "training"
        if node.domain or not onnx.defs.has(node.op_type):
            continue
        schema = onnx.defs.get_schema(node.op_type)
        for kind in ("seq", "optional", "map"):
            parameters = [*schema.inputs, *schema.outputs]
            types = [{str(kind_) for kind_ in parameter.types} for parameter in parameters]
            if any(names and all(n.startswith(f"{kind}(") for n in names) for names in types):
                return "sequence" if kind == "seq" else kind
        if any(
            a.type == onnx.AttributeProto.STRINGS and a.name != "activations"
            for a in node.attribute
        ):
            return "string"
    return ""


def _all_nodes(graph: Any) -> list[Any]:
    found = []
    for node in graph.node:
        found.append(node)
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                found += _all_nodes(inner)
    return found


def run_case(case: Any, backends: list[str]) -> Outcome:
    """Run one test."""
    reason = exclusion(case.model)
    if reason:
        return Outcome(case.name, "excluded", reason)
    from armnn.errors import ArmnnError, ParseError

    try:
        return _compare(case, backends)
    except ParseError as error:
        return Outcome(case.name, "refused", str(error))
    except TimeoutError:
        return Outcome(case.name, "failed", f"it took more than {SECONDS} s")
    except (ArmnnError, AssertionError) as error:
        return Outcome(case.name, "failed", f"{type(error).__name__}: {error}")
    except Exception as error:  # a crash of the code under test is a failure to report
        return Outcome(case.name, "failed", f"CRASH {type(error).__name__}: {error}")


def _compare(case: Any, backends: list[str]) -> Outcome:
    from armnn_parser_onnx import backend

    prepared = backend.prepare(case.model, backends=backends)
    for inputs, outputs in case.data_sets:
        results = prepared.run([_array(given) for given in inputs])
        for result, wanted in zip(results, map(_array, outputs), strict=True):
            _check(result, wanted, case)
    return Outcome(case.name, "passed")


def _check(result: NDArray[Any], wanted: NDArray[Any], case: Any) -> None:
    if (result.dtype, result.shape) != (wanted.dtype, wanted.shape):
        raise AssertionError(
            f"got {result.dtype}{result.shape}, expected {wanted.dtype}{wanted.shape}"
        )
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(result.astype(wide), wanted.astype(wide), case.rtol, case.atol)


def _array(given: Any) -> NDArray[Any]:
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(given) if isinstance(given, TensorProto) else np.asarray(given)


def _timed_out(_signal: int, _frame: object) -> None:
    raise TimeoutError


def _run_share(share: int, shares: int, backends: list[str]) -> list[Outcome]:
    signal.signal(signal.SIGALRM, _timed_out)
    warnings.simplefilter("ignore")
    outcomes = []
    for case in load_cases()[share::shares]:
        signal.alarm(SECONDS)
        outcomes.append(run_case(case, backends))
        signal.alarm(0)
    return outcomes


def _report(outcomes: list[Outcome], details: bool) -> None:
    counts = Counter(outcome.result for outcome in outcomes)
    counted = len(outcomes) - counts["excluded"]
    share = counts["passed"] / counted if counted else 0.0
    print(
        f"{counts['passed']} passed / {counts['failed']} failed / {counts['refused']} refused "
        f"of {counted} ({share:.1%}); {counts['excluded']} are not counted"
    )
    for result in ("excluded", "refused"):
        reasons = Counter(outcome.reason for outcome in outcomes if outcome.result == result)
        for reason, count in reasons.most_common():
            print(f"  {result} {count:4}  {reason[:200]}")
    for outcome in outcomes:
        if outcome.result == "failed" or (details and outcome.result == "refused"):
            print(f"  {outcome.result} {outcome.name}: {' '.join(outcome.reason.split())[:200]}")


def main() -> int:
    """Run all tests; return 1 on crashes or low counts.

    A count is low if fewer tests passed than the floor.
    """
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--backend", action="append", help="default: CpuRef")
    arguments.add_argument("--json", type=Path, help="where to write every outcome")
    arguments.add_argument("--details", action="store_true", help="name every refused test")
    options = arguments.parse_args()
    backends = options.backend if options.backend else ["CpuRef"]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        shares = pool.starmap(_run_share, [(0, 2, backends), (1, 2, backends)])
    outcomes = sorted((one for share in shares for one in share), key=lambda one: one.name)
    _report(outcomes, options.details)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
    floor = int(FLOOR.read_text()) if FLOOR.exists() else 0
    passed = sum(one.result == "passed" for one in outcomes)
    crashed = any(one.reason.startswith("CRASH") for one in outcomes)
    if passed < floor:
        print(f"{passed} tests passed, fewer than the {floor} that {FLOOR} demands")
    return int(passed < floor or crashed)


if __name__ == "__main__":
    sys.exit(main())
