# SPDX-License-Identifier: MIT
"""The document of a network of three layers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from armnn import DataType, Network, TensorInfo
from armnn.backends.cache import Footprint
from armnn.optimizer import Report, ReportRow
from armnn.profiling import LayerTime
from armnn_tools.viewing import described

SHOWN = "</script><script>window.hit = 1</script><img src=x onerror=alert(1)>\\x1b[2J\\u2028"


def test_layers_have_backends_refusals_tensors_and_parameters(
    prepared: tuple[Network, Report],
) -> None:
    document = described(*prepared)
    assert json.loads(json.dumps(document)) == document
    nodes = {node["name"]: node for node in document["nodes"]}
    assert [node["type"] for node in document["nodes"]] == [
        "Input", "Addition", "Activation", "Multiplication", "Output",
    ]  # fmt: skip
    relu, mul = nodes[SHOWN], nodes["mul"]
    assert (relu["backend"], nodes["add"]["backend"]) == ("Second", "First")
    assert relu["refusals"] == [["First", f"no {SHOWN}"]]
    assert relu["parameters"] == [["function", "ReLu"]]
    assert relu["outputs"] == [{"text": "Float32[2,2]"}]
    assert [(each["slot"], each["source"], each["is_constant"]) for each in mul["inputs"]] == [
        ("input", SHOWN, False),
        ("other", "scale", True),
    ]
    assert mul["weights"] == 2
    assert document["totals"]["layers"] == 3
    assert document["backends"] == ["First", "Second"]


def test_edges_between_backends_are_borders(prepared: tuple[Network, Report]) -> None:
    edges = described(*prepared)["edges"]
    assert [(edge["from"], edge["to"]) for edge in edges] == [
        (0, 1),
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
    ]
    assert [edge["border"] for edge in edges] == ["", "", "shared", "shared", ""]
    assert edges[2]["bytes"] == 16


def test_a_copied_border_says_so(prepared: tuple[Network, Report]) -> None:
    network, report = prepared
    parts = tuple(
        replace(part, borders=tuple(replace(border, copied=True) for border in part.borders))
        for part in report.parts
    )
    edges = described(network, replace(report, parts=parts))["edges"]
    assert [edge["border"] for edge in edges][2:4] == ["copied", "copied"]


def test_compiled_layers_stand_in_their_part(prepared: tuple[Network, Report]) -> None:
    network, _ = prepared
    footprint = Footprint(arena_bytes=10, scratch_bytes=20, weight_bytes=30)
    rows = [
        ReportRow(name, "Any", "First", compiled_into="add to relu", footprint=footprint)
        for name in ("add", network.topological_order()[2].name)
    ]
    document = described(network, Report((*rows, ReportRow("mul", "Any", "Second"))))
    (part,) = document["parts"]
    assert (part["title"], part["backend"], part["layers"]) == ("add to relu", "First", 2)
    assert part["footprint"] == footprint.as_dict()
    assert [node["part"] for node in document["nodes"]] == [None, 0, 0, None, None]


def test_times_and_findings_come_to_their_layers(prepared: tuple[Network, Report]) -> None:
    time = LayerTime("mul", "Multiplication", "First", 2.0, 0.25, 1_000_000)
    document = described(*prepared, [time], {"add": {"is_wrong": True}})
    nodes = {node["name"]: node for node in document["nodes"]}
    assert nodes["mul"]["time"] == time.as_dict()
    assert nodes["mul"]["time"]["gflops"] == 1.0
    assert (nodes["add"]["time"], nodes["add"]["verdict"]) == (None, {"is_wrong": True})
    assert (document["is_timed"], document["is_compared"]) == (True, True)


def test_quantization_is_shown_number_by_number() -> None:
    network = Network("quantized")
    info = TensorInfo((3, 2), DataType.QSYMM_S8, (0.5, 0.25, 2.0), axis=0)
    network.add_output("y", network.add_dequantize(network.add_input("x", info)))
    tensor: dict[str, Any] = described(network, Report())["nodes"][0]["outputs"][0]
    assert tensor["scales"] == [0.5, 0.25, 2.0]
    assert (tensor["zero_points"], tensor["axis"]) == ([0, 0, 0], 0)


def test_blocks_that_repeat_are_parts_of_the_page() -> None:
    network = Network("decoder")
    value = network.add_input("x", TensorInfo((2, 2)))
    names = []
    for number in range(5):
        for function in ("ReLu", "Sigmoid", "TanH", "Abs"):
            value = network.add_activation(value, function=function, name=f"l{number}.{function}")
            names.append(value.producer.name)
    network.add_output("y", value)
    document = described(network, Report(tuple(ReportRow(n, "Activation", "Acme") for n in names)))
    assert [part["title"] for part in document["parts"]] == [
        f"l{number}.ReLu to l{number}.Abs" for number in range(5)
    ]
    assert [part["block"] for part in document["parts"]] == [1, 2, 3, 4, 5]
    assert [node["part"] for node in document["nodes"]] == [
        None,
        *(number for number in range(5) for _ in range(4)),
        None,
    ]
