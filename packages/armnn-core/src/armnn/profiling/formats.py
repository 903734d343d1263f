# SPDX-License-Identifier: MIT
"""Profiling events in the formats of other tools.

A Chrome trace, which chrome://tracing and Perfetto open, is in Google's "Trace Event Format": one
complete event (``"ph": "X"``) per recorded event, with ``ts`` and ``dur`` in microseconds.

The structure of Arm NN's ``IProfiler::Print`` has a root "ArmNN" with up to three events:
"optimize_measurements", "loaded_network_measurements" and "inference_measurements". An event holds
measurements, with a value for each time that it happened, and further events: an inference has
"Execute", which has one event per workload. Every key ends in the running number of its event. Arm
NN prints the details of layers as text that is no JSON; here they are a list, "layer_details".
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from armnn.arguments import file_path, instance, items
from armnn.graph import Layer, Network
from armnn.profiling.layer_times import DEVICE, TimedRun, timed_runs
from armnn.profiling.recorder import Event
from armnn.tensor import TensorInfo, format_shape
from armnn.types import ArmnnEnum


def chrome_trace(events: Iterable[Event]) -> dict[str, Any]:
    """Return a trace as data for JSON.

    Times count from the start of the earliest event. Threads are numbered in the order of their
    first event; kernels on a device are rows of their own, one for each thread whose runs they are.
    """
    recorded = items(events, "the events", "a list of Event, as Recorder.events is")
    for event in recorded:
        instance(event, Event, "one of the events")
    ordered = sorted(recorded, key=lambda event: (event.start_ns, -event.end_ns))
    origin_ns = ordered[0].start_ns if ordered else 0
    threads: dict[tuple[int, str], int] = {}
    process = os.getpid()
    rows: list[dict[str, Any]] = []
    for event in ordered:
        category = str(event.details.get("category", "event"))
        device = str(event.details.get("backend", "")) if category == DEVICE else ""
        thread = threads.setdefault((event.thread_id, device), len(threads))
        row = {
            "name": event.name,
            "cat": category,
            "ph": "X",
            "ts": (event.start_ns - origin_ns) / 1000,
            "dur": event.duration_ns / 1000,
            "pid": process,
            "tid": thread,
        }
        args = {key: value for key, value in event.details.items() if key != "category"}
        rows.append({**row, "args": args} if args else row)
    names = [_thread_name(process, thread, device) for (_, device), thread in threads.items()]
    return {"traceEvents": [*names, *rows], "displayTimeUnit": "ms"}


def write_chrome_trace(events: Iterable[Event], path: str | os.PathLike[str]) -> None:
    """Write a trace to a file.

    Raises:
        OSError: The file cannot be written.
    """
    file_name = file_path(path, "the path of the trace")
    text = json.dumps(chrome_trace(events), indent=1, default=str)
    with open(file_name, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def _thread_name(process: int, thread: int, device: str) -> dict[str, Any]:
    name = f"device of {device}, {thread}" if device else f"armnn thread {thread}"
    return {
        "name": "thread_name",
        "ph": "M",
        "pid": process,
        "tid": thread,
        "args": {"name": name},
    }


_NOT_DESCRIBED = ("Input", "Output", "Constant")


def layer_details(network: Network) -> list[dict[str, Any]]:
    """Return the layers of a network, in running order.

    Each has its name, type, GUID, tensors and parameters. Weights and bias have these names, the
    other inputs are numbered.
    """
    layers = (each for each in network.topological_order() if each.type not in _NOT_DESCRIBED)
    return [_details_of(layer) for layer in layers]


def _details_of(layer: Layer) -> dict[str, Any]:
    found: dict[str, Any] = {"Name": layer.name, "Type": layer.type, "GUID": str(layer.guid)}
    found |= dict(_inputs_of(layer))
    for number, value in enumerate(layer.outputs):
        found[f"Output {number}"] = _tensor(value.info)
    if dataclasses.is_dataclass(layer.descriptor):
        for each in dataclasses.fields(layer.descriptor):
            found[_camel(each.name)] = _text_of(getattr(layer.descriptor, each.name))
    return found


def _inputs_of(layer: Layer) -> Iterator[tuple[str, dict[str, str]]]:
    numbered = 0
    for index, value in enumerate(layer.inputs):
        name = layer.spec.input_slot(index).name
        if name not in ("weights", "bias"):
            title, numbered = f"Input {numbered}", numbered + 1
        else:
            title = f"{name.capitalize()} 0"
        if value is not None:
            yield title, _tensor(value.info)


def _tensor(info: TensorInfo) -> dict[str, str]:
    rank = "?" if info.shape is None else str(len(info.shape))
    return {
        "Shape": format_shape(info.shape),
        "DataType": info.data_type.arm_name,
        "Num Dims": rank,
    }


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _text_of(value: object) -> str:
    if isinstance(value, ArmnnEnum):
        return value.arm_name
    return str(value).lower() if isinstance(value, bool) else str(value)


Span = tuple[int, int]
"""Start and end in nanoseconds."""


@dataclass(slots=True)
class _Node:
    """An event of the document, with a span per occurrence.

    Attributes:
        label: The name.
        spans: None for a time that it did not happen.
        backend: The id of the backend, for a workload.
        kernels: The durations of kernels in nanoseconds, by name.
        children: Events inside.
    """

    label: str
    spans: list[Span | None]
    backend: str = ""
    kernels: dict[str, list[int]] = field(default_factory=dict)
    children: list[_Node] = field(default_factory=list)


def arm_nn_profile(events: Iterable[Event], network: Network | None = None) -> dict[str, Any]:
    """Return events in the structure of Arm NN's profiler.

    Times are in microseconds and count from the start of the earliest event.

    Args:
        events: The events of a :class:`Recorder` that was the profiler of a load and its runs.
        network: Its layers are described in "layer_details"; left out, there are none.
    """
    recorded = items(events, "the events", "a list of Event, as Recorder.events is")
    for event in recorded:
        instance(event, Event, "one of the events")
    origin = min((event.start_ns for event in recorded), default=0)
    numbers = count(1)
    found: dict[str, Any] = {}
    if network is not None:
        found["layer_details"] = layer_details(instance(network, Network, "the network"))
    for node in _top_nodes(recorded):
        _add(found, node, numbers, origin)
    return {"ArmNN": found}


def write_arm_nn_profile(
    events: Iterable[Event], path: str | os.PathLike[str], network: Network | None = None
) -> None:
    """Write :func:`arm_nn_profile` to a file.

    Raises:
        OSError: The file cannot be written.
    """
    file_name = file_path(path, "the path of the profile")
    text = json.dumps(arm_nn_profile(events, network), indent="\t")
    with open(file_name, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def _top_nodes(events: Sequence[Event]) -> Iterator[_Node]:
    phases = [event for event in events if event.details.get("category") == "phase"]
    steps = [event for event in phases if event.name not in ("parse", "load")]
    if steps:
        ends = (min(step.start_ns for step in steps), max(step.end_ns for step in steps))
        children = [_Node(step.name, [_span_of(step)]) for step in steps]
        yield _Node("optimize_measurements", [ends], children=children)
    loads = [_span_of(event) for event in phases if event.name == "load"]
    if loads:
        yield _Node("loaded_network_measurements", [*loads])
    runs = timed_runs(events)
    if runs:
        whole = [_span_of(run.event) for run in runs]
        yield _Node("inference_measurements", [*whole], children=[_executions(runs)])


def _executions(runs: Sequence[TimedRun]) -> _Node:
    """Return the event "Execute" of all runs, with its workloads."""
    spans: list[Span | None] = []
    workloads: dict[tuple[str, int], _Node] = {}
    for index, run in enumerate(runs):
        times = Counter[str]()
        for layer in run.layers:
            details = layer.event.details
            backend = str(details.get("backend", ""))
            label = f"{layer.event.name}_{backend}{details.get('type', '')}Workload_Execute"
            # A name that comes twice in one run is two workloads.
            key = (label, times[label])
            times[label] += 1
            node = workloads.setdefault(key, _Node(label, [None] * len(runs), backend))
            node.spans[index] = _span_of(layer.event)
            named = [(kernel.name, kernel) for kernel in layer.kernels]
            named += [
                (str(each.details.get("kernel", each.name)), each) for each in layer.on_device
            ]
            for name, kernel in named:
                durations = node.kernels.setdefault(name, [0] * len(runs))
                durations[index] += kernel.duration_ns
        ends = [_span_of(layer.event) for layer in run.layers] or [_span_of(run.event)]
        spans.append((ends[0][0], ends[-1][1]))
    return _Node("Execute", spans, children=list(workloads.values()))


def _span_of(event: Event) -> Span:
    return event.start_ns, event.end_ns


def _add(place: dict[str, Any], node: _Node, numbers: Iterator[int], origin: int) -> None:
    """Add an event and those inside to a place."""
    number = next(numbers)
    found: dict[str, Any] = {"type": "Event"}
    if node.backend:
        found["backend"] = node.backend
    measured = {
        "Wall clock time": [0 if span is None else span[1] - span[0] for span in node.spans],
        "Wall clock time (Start)": [0 if s is None else s[0] - origin for s in node.spans],
        "Wall clock time (Stop)": [0 if s is None else s[1] - origin for s in node.spans],
        **{f"{node.backend}KernelTimer/{name}": spent for name, spent in node.kernels.items()},
    }
    for label, nanoseconds in measured.items():
        raw = [each / 1000 for each in nanoseconds]
        found[f"{label}_#{number}"] = {"type": "Measurement", "raw": raw, "unit": "us"}
    for child in node.children:
        _add(found, child, numbers, origin)
    place[f"{node.label}_#{number}"] = found
