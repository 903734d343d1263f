# SPDX-License-Identifier: MIT
"""A network as one HTML file: its layers, edges and parts, times and findings, and the page."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Final

from armnn.errors import InvalidArgumentError
from armnn.graph import Layer, Network, Value
from armnn.graph.statistics import statistics_of
from armnn.graph.text import changed_parameters, printable
from armnn.optimizer import Report, ReportRow
from armnn.profiling import Event, LayerTime, layer_times
from armnn.tensor import TensorInfo
from armnn_tools.blocks import repeated_blocks, without_numbers

MOST_TRACE_BYTES: Final = 1 << 20
"""The largest trace inside a page; the page without its graph stays below twice that."""


def times_in_trace(path: str | os.PathLike[str], report: Report) -> list[LayerTime]:
    """Return the layers' times in a Chrome trace, slowest first.

    Args:
        path: A file of ``armnn run --profile FILE.json``.
        report: The report of the same network.

    Raises:
        InvalidArgumentError: It cannot be read, is no such file or has no run of a layer.
    """
    try:
        rows = _document(path)["traceEvents"]
        events = [_event(row) for row in rows if row["ph"] == "X"]
        times = layer_times(events, report)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(path, "armnn run --profile FILE.json", error) from error
    if not times:
        raise InvalidArgumentError(
            f"{str(path)!r} has no times of layers: expected the trace of a run"
        )
    return times


def trace_for_page(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a Chrome trace for the page's link to Perfetto.

    Args:
        path: A file that :func:`times_in_trace` has read.

    Returns:
        The name of the file and its content, None instead of more than :data:`MOST_TRACE_BYTES`.
    """
    size = Path(path).stat().st_size
    content = _document(path) if size <= MOST_TRACE_BYTES else None
    return {"file": printable(Path(path).name), "content": content}


def findings_in_comparison(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """Return the findings of a comparison about layers, by their names.

    Args:
        path: The output of ``armnn compare --json``.

    Raises:
        InvalidArgumentError: It cannot be read, or is no such file.
    """
    found: dict[str, dict[str, Any]] = {}
    try:
        for row in _document(path)["verdicts"]:
            finding = {
                "is_wrong": bool(row["wrong"]),
                "kind": printable(str(row["kind"])),
                "ratio": _finite(row["ratio"]),
                "largest": _finite(row["largest"]),
                "unit": printable(str(row["unit"])),
                "note": printable(str(row["note"])),
                "together": [printable(str(name)) for name in row["layers"]],
            }
            found.update({str(name): finding for name in row["layers"]})
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(path, "armnn compare --json > FILE.json", error) from error
    return found


def _document(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(document, dict):
        raise TypeError(f"it holds {type(document).__name__}, expected an object")
    return document


def _finite(number: object) -> float | None:
    """Return a JSON file's number, None unless finite."""
    value = float(str(number))
    return value if math.isfinite(value) else None


def _event(row: Mapping[str, Any]) -> Event:
    """Return the event behind a row of a trace."""
    start = round(float(row["ts"]) * 1000)
    details = {"category": str(row["cat"]), **row.get("args", {})}
    end = start + round(float(row["dur"]) * 1000)
    return Event(str(row["name"]), start, end, int(row["tid"]), details)


def _unreadable(
    path: str | os.PathLike[str], command: str, error: Exception
) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{str(path)!r} cannot be read ({type(error).__name__}: {error}); expected a file that "
        f"'{command}' wrote"
    )


def described(
    network: Network,
    report: Report,
    times: Sequence[LayerTime] = (),
    findings: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return a network as a document for :func:`armnn_tools.viewing.page`.

    Constants have no node of their own; the layers that read them name them.

    Args:
        network: The layers as backends get them.
        report: Where they run, and why; its rows have the names of the layers.
        times: The layers' times, if they were measured.
        findings: The findings about layers, by their names.
    """
    rows = {row.layer: row for row in report}
    statistics = statistics_of(network)
    sizes = {row.layer: row for row in statistics.layers}
    spent = {time.layer: time for time in times}
    shown = [layer for layer in network.topological_order() if not _is_part_of_readers(layer)]
    numbers = {layer: number for number, layer in enumerate(shown)}
    parts = _parts(shown, rows, spent)
    part_numbers = {part["name"]: number for number, part in enumerate(parts)}
    block_of = {}
    for block, members in _repeated(shown, rows):
        block_of.update(dict.fromkeys(members, len(parts)))
        parts.append(block)
    nodes = []
    for layer in shown:
        row, size, time = rows.get(layer.name), sizes.get(layer), spent.get(layer.name)
        is_layer = size is not None
        nodes.append(
            {
                "name": printable(layer.name),
                "type": layer.title,
                "backend": row.backend if row is not None and is_layer else "",
                "part": (
                    part_numbers.get(row.compiled_into, block_of.get(layer))
                    if row is not None and is_layer
                    else None
                ),
                "parameters": [
                    [name, printable(text)] for name, text in changed_parameters(layer.descriptor)
                ],
                "inputs": list(_inputs(layer)),
                "outputs": [_tensor(info) for info in layer.output_infos],
                "refusals": [] if row is None else [[r.backend, r.reason] for r in row.refusals],
                "conversion": "" if row is None else row.conversion,
                "weights": None if size is None else size.parameters,
                "multiply_adds": None if size is None else size.multiply_adds,
                "time": None if time is None else _time(time),
                "verdict": None if findings is None else findings.get(layer.name),
            }
        )
    return {
        "name": printable(network.name),
        "nodes": nodes,
        "edges": list(_edges(shown, numbers, rows, report)),
        "parts": parts,
        "backends": list(dict.fromkeys(node["backend"] for node in nodes if node["backend"])),
        "totals": {
            "layers": len(statistics.layers),
            "weights": statistics.parameters,
            "weight_bytes": statistics.parameter_bytes,
            "multiply_adds": statistics.multiply_adds,
        },
        "is_timed": bool(times),
        "is_compared": findings is not None,
    }


def _parts(
    layers: Sequence[Layer], rows: Mapping[str, ReportRow], spent: Mapping[str, LayerTime]
) -> list[dict[str, Any]]:
    """Return the compiled parts, ordered by their first layers."""
    found: dict[str, dict[str, Any]] = {}
    for layer in layers:
        row = rows.get(layer.name)
        if row is None or not row.compiled_into:
            continue
        part = found.setdefault(
            row.compiled_into,
            {
                "name": row.compiled_into,
                "title": printable(row.compiled_into),
                "backend": row.backend,
                "layers": 0,
                "footprint": None if row.footprint is None else row.footprint.as_dict(),
                "time": _time(spent[row.compiled_into]) if row.compiled_into in spent else None,
                "block": 0,
            },
        )
        part["layers"] += 1
    return list(found.values())


def _repeated(
    layers: Sequence[Layer], rows: Mapping[str, ReportRow]
) -> Iterator[tuple[dict[str, Any], Sequence[Layer]]]:
    """Yield blocks of layers that repeat and are in no compiled part, with their layers.

    The page folds those that repeat an earlier one.
    """
    kinds: list[object] = []
    for layer in layers:
        row = rows.get(layer.name)
        alone = row is None or row.compiled_into or layer.type in ("Input", "Output", "Constant")
        kinds.append(
            layer if alone else (without_numbers(layer.name), layer.type, row and row.backend)
        )
    for start, size, count in repeated_blocks(kinds):
        for number in range(count):
            members = layers[start + number * size : start + (number + 1) * size]
            first, last = printable(members[0].name), printable(members[-1].name)
            yield (
                {
                    "name": f"{first} to {last}",
                    "title": f"{first} to {last}",
                    "backend": rows[members[0].name].backend,
                    "layers": size,
                    "footprint": None,
                    "time": None,
                    "block": number + 1,
                },
                members,
            )


def _inputs(layer: Layer) -> Iterator[dict[str, Any]]:
    """Yield a layer's inputs with the names of their slots."""
    for index, value in enumerate(layer.inputs):
        if value is not None:
            yield {
                "slot": layer.spec.input_slot(index).name,
                "tensor": _tensor(value.info),
                "source": printable(value.producer.name),
                "is_constant": value.constant is not None,
            }


def _edges(
    layers: Sequence[Layer],
    numbers: Mapping[Layer, int],
    rows: Mapping[str, ReportRow],
    report: Report,
) -> Iterator[dict[str, Any]]:
    """Yield an edge per tensor between two shown layers."""
    copied = {
        (border.tensor, part.backend): border.copied
        for part in report.parts
        for border in part.borders
    }
    for layer in layers:
        for value in layer.inputs:
            if value is None or value.producer not in numbers:
                continue
            source, target = rows.get(value.producer.name), rows.get(layer.name)
            is_border = (
                source is not None and target is not None and source.backend != target.backend
            )
            edge = {
                "from": numbers[value.producer],
                "to": numbers[layer],
                "tensor": _tensor(value.info)["text"],
                "border": "",
            }
            if is_border and source is not None and target is not None:
                is_copy = next(
                    (
                        copied[name, target.backend]
                        for name in _names(value, source)
                        if (name, target.backend) in copied
                    ),
                    None,
                )
                edge["border"] = "shared" if is_copy is False else "copied"
                edge["bytes"] = value.info.size_bytes if value.info.is_static else None
            yield edge


def _names(value: Value, source: ReportRow) -> Iterator[str]:
    """Yield a tensor's possible names in a report."""
    suffix = f":{value.index}" if value.index else ""
    yield f"{value.producer.name}{suffix}"
    if source.compiled_into:
        yield source.compiled_into


def _tensor(info: TensorInfo) -> dict[str, Any]:
    """Return a tensor's text, and its quantization number by number."""
    found: dict[str, Any] = {"text": str(info)}
    if info.is_quantized:
        found["scales"] = [float(scale) for scale in info.scales][:_MOST_SCALES]
        found["zero_points"] = [int(point) for point in info.zero_points][:_MOST_SCALES]
        found["axis"] = info.axis
    return found


def _time(time: LayerTime) -> dict[str, Any]:
    return {**asdict(time), "gflops": time.gflops}


def _is_part_of_readers(layer: Layer) -> bool:
    """Return whether a constant is shown at its readers."""
    readers = layer.outputs[0].consumers if layer.type == "Constant" else ()
    return bool(readers) and all(reader.type != "Output" for reader in readers)


_MOST_SCALES = 16
"""The most scales that are shown of a tensor with one per channel."""


LIBRARY: Final = "dagre.min.js"
"""Lays the graph out; ``bundled.toml`` records where it comes from."""

_ESCAPES: Final = {
    ord(character): f"\\u{ord(character):04x}" for character in ("<", ">", "&", "\u2028", "\u2029")
}
"""Characters that could end a script in HTML, as JSON spells them."""


def page(document: Mapping[str, Any], trace: Mapping[str, Any] | None = None) -> str:
    """Return the HTML of a document.

    Names come from strangers: the document is JSON in which no character ends the script, the page
    makes texts of them and no markup, and its policy runs the two scripts of this package only and
    forbids every connection. Only a click on its link to Perfetto hands the trace to that page.

    Args:
        document: The document of :func:`armnn_tools.viewing.described`.
        trace: The trace of :func:`armnn_tools.viewing.trace_for_page`, if there is a profile.
    """
    library, script, style = (_asset(name) for name in (LIBRARY, "view.js", "view.css"))
    library = library.partition("\n//# sourceMappingURL=")[0]
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_digest(library)} {_digest(script)}; style-src {_digest(style)}"
    )
    return Template(_asset("view.html")).substitute(
        title=html.escape(str(document["name"])),
        policy=html.escape(policy, quote=True),
        style=style,
        document=_embedded(document),
        trace=_embedded(trace),
        library=library,
        script=script,
    )


def _embedded(document: Mapping[str, Any] | None) -> str:
    return json.dumps(document, separators=(",", ":")).translate(_ESCAPES)


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _digest(source: str) -> str:
    """Return a source of a content security policy: these bytes."""
    digest = hashlib.sha256(source.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
