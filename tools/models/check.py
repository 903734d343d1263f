# SPDX-License-Identifier: MIT
"""Compares the public models on CpuRef with their runtimes.

    python -m tools.models.check [NAME ...] [--anew]

What has been measured with the same sources is not measured again, so that a session that was
stopped goes on where it was. A session over all models, none of which fails, writes
docs/models.json, and of that docs/models.md. It exits with 1 if a model does not agree.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import armnn
from armnn.errors import ArmnnError, UnsupportedOperatorError
from armnn_parser_tflite.schema import constants
from tools.models.agreement import Distance, distance, output_steps, verdict
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.generate_models_page import RECORDS, write_page
from tools.models.peers import make_feeds, oracle, run_ours, yardsticks

if TYPE_CHECKING:
    from tools.models.catalog import Model

FEEDS = 3
QUANTIZED_FEEDS = 10
"""Quantized models are small, and rounding differs from input to input."""

PACKAGES = ("armnn", "armnn_backend_ref", "armnn_parser_onnx", "armnn_parser_tflite")


def measure(model: Model, path: Path) -> dict[str, Any]:
    """Return a model's record: its content and its distance.

    The distance is that of its outputs from the oracle's.
    """
    operators, kind = describe(path)
    record: dict[str, Any] = {
        "format": kind,
        "bytes": path.stat().st_size,
        "operators": operators,
    }
    try:
        network = armnn.parse(path)
    except UnsupportedOperatorError as error:
        return record | {"refused": str(error)}
    loaded = armnn.load_model(path, backends=["CpuRef"])
    inputs = {name: info for name, info in loaded.inputs.items() if name not in loaded.outputs}
    feeds = make_feeds(model, inputs, QUANTIZED_FEEDS if model.quantized else FEEDS)
    ours = run_ours(loaded, feeds)
    content = path.read_bytes()
    if model.oracle:
        from tools.models.recipes import RECIPES

        content = RECIPES[model.oracle].build(content, model)
    right = oracle(path, content, feeds, quantized=model.quantized)
    steps = output_steps(network)
    mine = distance(ours, right, steps)
    others: dict[str, Distance] = {}
    if model.quantized:
        others = {
            name: distance(run(content, feeds), right, steps)
            for name, run in yardsticks(path).items()
        }
    in_steps = None not in steps
    on_average = model.quantized and path.suffix == ".onnx"
    judged = verdict(mine, others, in_steps=in_steps, on_average=on_average)
    return record | {
        "inputs": {name: list(array.shape) for name, array in feeds[0].items()},
        "layers": dict(Counter(row.type for row in loaded.report).most_common()),
        "unit": "steps" if in_steps else "range",
        "ours": dataclasses.asdict(mine),
        "others": {name: dataclasses.asdict(other) for name, other in others.items()},
        "verdict": judged,
    }


def describe(path: Path) -> tuple[dict[str, int], str]:
    """Return a file's operators with counts, and its format.

    Subgraphs are included.
    """
    if path.suffix == ".onnx":
        onnx = importlib.import_module("onnx")
        model = onnx.load(path, load_external_data=False)
        version = max(entry.version for entry in model.opset_import if entry.domain == "")
        counts = Counter(_node_types(model.graph))
        return dict(counts.most_common()), f"ONNX, opset {version}"
    schema = importlib.import_module("ai_edge_litert.schema_py_generated")
    file = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    names = constants(schema.BuiltinOperator)
    codes = []
    for code in file.operatorCodes:
        name = names[max(code.builtinCode, code.deprecatedBuiltinCode)]
        codes.append(code.customCode.decode() if name == "CUSTOM" else name)
    counts = Counter(codes[op.opcodeIndex] for graph in file.subgraphs for op in graph.operators)
    return dict(counts.most_common()), "TFLite"


def _node_types(graph: Any) -> Iterator[str]:
    for node in graph.node:
        if node.op_type != "Constant":
            yield node.op_type
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _node_types(inner)


def sources_digest() -> str:
    """Return a digest of everything a record depends on.

    The model itself is left out.
    """
    digest = hashlib.sha256()
    folders = [Path(importlib.import_module(name).__path__[0]) for name in PACKAGES]
    for folder in (*folders, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    digest.update(repr(_versions()).encode())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    modules = {"onnxruntime": "onnxruntime", "litert": "ai_edge_litert"}
    return {name: importlib.import_module(at).__version__ for name, at in modules.items()}


def record_of(name: str, folder: Path, sources: str, *, anew: bool) -> dict[str, Any]:
    """Return a model's record, measured unless the folder has it."""
    model, path = MODELS[name], fetch(name, default_cache())
    key = hashlib.sha256(repr((sources, model)).encode() + path.read_bytes()).hexdigest()
    kept = folder / f"{name}.json"
    if not anew and kept.exists():
        cached: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        if cached["key"] == key:
            record: dict[str, Any] = cached["record"]
            return record
    try:
        record = measure(model, path)
    except (ArmnnError, ValueError) as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"key": key, "record": record}, indent=1), encoding="utf-8")
    return record


def _written(records: dict[str, Any]) -> str:
    """Return the records as JSON, one model a line."""
    lines = (f"{json.dumps(name)}: {json.dumps(record)}" for name, record in records.items())
    head = json.dumps(_versions())
    return f'{{"versions": {head}, "models": {{\n' + ",\n".join(lines) + "\n}}\n"


def outcome(model: Model, record: dict[str, Any]) -> tuple[bool, str]:
    """Return whether a record is as expected, with a line."""
    if "failed" in record:
        return False, f"failed: {record['failed']}"
    if "refused" in record:
        return model.refused, f"refused: {record['refused']}"
    ours = record["ours"]
    unit = "steps" if record["unit"] == "steps" else "of the range"
    figures = f"{ours['largest']:.3g} {unit} at most, {ours['mean']:.2g} on average"
    return bool(record["verdict"]), f"{record['verdict'] or 'DIFFERS'}: {figures}"


def main() -> int:
    """Measure models; return 1 if one does not agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which models; all without one")
    parser.add_argument("--anew", action="store_true", help="measure what was measured before, too")
    arguments = parser.parse_args()
    names = arguments.names or list(MODELS)
    folder, sources = default_cache() / "agreement", sources_digest()
    records, wrong = {}, []
    for place, name in enumerate(names, 1):
        start = time.monotonic()
        records[name] = record_of(name, folder, sources, anew=arguments.anew)
        good, line = outcome(MODELS[name], records[name])
        wrong += [] if good else [name]
        seconds = time.monotonic() - start
        print(f"[{place}/{len(names)}] {name}: {line} ({seconds:.1f} s)", flush=True)
    if not arguments.names and not any("failed" in record for record in records.values()):
        RECORDS.write_text(_written(records), encoding="utf-8")
        write_page()
    print(f"{len(names) - len(wrong)} of {len(names)} models are as they should be")
    for name in wrong:
        print(f"not as it should be: {name}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
