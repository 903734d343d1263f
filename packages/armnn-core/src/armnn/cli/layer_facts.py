# SPDX-License-Identifier: MIT
"""One layer's facts of ``armnn view`` as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from armnn._spelling import closest
from armnn.cli.output import print_table
from armnn.errors import InvalidArgumentError

Facts = Mapping[str, Any]
"""A node of the document that :func:`armnn.viewing.described` makes."""


def facts_of(names: Sequence[str], document: Facts) -> list[Facts]:
    """Return the facts of named layers.

    Args:
        names: Of the layers, in the order of the result.
        document: Of :func:`armnn.viewing.described`.

    Raises:
        InvalidArgumentError: There is no such layer.
    """
    nodes = {str(node["name"]): node for node in document["nodes"]}
    for name in names:
        if name not in nodes:
            similar = closest(name, nodes)
            hint = f"; did you mean {similar!r}?" if similar else "; --layers lists all"
            raise InvalidArgumentError(f"--layer got {name!r}, which is no layer here{hint}")
    return [nodes[name] for name in names]


def show_facts(node: Facts, document: Facts) -> None:
    """Print what is known about a layer.

    Args:
        node: Its facts.
        document: What they are from.
    """
    print_table(str(node["name"]), ["fact", "value"], list(_facts(node, document)))
    if node["parameters"]:
        title = "Parameters that differ from the defaults"
        print_table(title, ["parameter", "value"], node["parameters"])
    inputs = [
        (
            each["slot"],
            tensor_text(each["tensor"]),
            "(constant)" if each["is_constant"] else each["source"],
        )
        for each in node["inputs"]
    ]
    if inputs:
        print_table("Inputs", ["input", "tensor", "from"], inputs)
    outputs = [(str(number), tensor_text(each)) for number, each in enumerate(node["outputs"])]
    if outputs:
        print_table("Outputs", ["output", "tensor"], outputs)
    if node["refusals"]:
        print_table("Refused by, and why", ["refused by", "reason"], node["refusals"])


def _facts(node: Facts, document: Facts) -> list[tuple[str, str]]:
    """Return the facts that are one value each."""
    part = None if node["part"] is None else document["parts"][node["part"]]
    found = {
        "type": node["type"],
        "backend": node["backend"],
        "compiled into": "" if part is None else part["title"],
        "weights": f"{node['weights']:,}" if node["weights"] else "",
        "multiply-adds": _amount(node["multiply_adds"]),
        "conversion": node["conversion"],
        **time_facts(node["time"]),
        **_verdict(node["verdict"]),
    }
    return [(name, text) for name, text in found.items() if text]


def time_facts(time: Facts | None) -> dict[str, str]:
    """Return a layer's time, its share and its speed."""
    if time is None:
        return {}
    speed = f"{time['gflops']:.2f} GFLOP/s" if time["gflops"] else ""
    return {
        "time": f"{time['milliseconds']:.3f} ms",
        "share": f"{time['share']:.1%}".replace("%", " %"),
        "speed": speed,
    }


def verdict_text(verdict: Facts | None) -> str:
    """Return the verdict of a comparison, "" without one."""
    if verdict is None:
        return ""
    return str(verdict["kind"]) if verdict["is_wrong"] else "right"


def _verdict(verdict: Facts | None) -> dict[str, str]:
    if verdict is None:
        return {}
    largest, ratio, others = verdict["largest"], verdict["ratio"], verdict["together"]
    return {
        "verdict": verdict_text(verdict),
        "largest error": f"{largest:.3g} {verdict['unit']}" if largest else "",
        "of what rounding explains": f"{ratio:.3g} times" if ratio else "",
        "together with": ", ".join(others) if len(others) > 1 else "",
        "note": verdict["note"],
    }


def tensor_text(tensor: Facts) -> str:
    """Return a tensor with its channels' scales and zero points."""
    scales, points = tensor.get("scales", ()), tensor.get("zero_points", ())
    if len(scales) < 2:
        return str(tensor["text"])
    listed = ", ".join(f"{scale:g}" for scale in scales)
    return (
        f"{tensor['text']}: scales {listed}; zero points {', '.join(map(str, points))}; "
        f"axis {tensor['axis']}"
    )


def _amount(number: int | None) -> str:
    if number is None:
        return "not known"
    return f"{number:,}" if number else ""
