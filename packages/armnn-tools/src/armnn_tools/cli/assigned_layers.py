# SPDX-License-Identifier: MIT
"""The layers of a model for given or assumed shapes, and the backends that they are assigned to.

This is what ``armnn inspect`` and ``armnn view`` show, and what other commands prepare.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from armnn.backends import BackendRegistry, CreationOptions
from armnn.backends.cache import Footprint
from armnn.errors import BackendError
from armnn.graph import Aliased, Network
from armnn.installing import CPU_REF
from armnn.optimizer import Candidate, Report
from armnn.optimizer.assignment.assign import Evaluator
from armnn.optimizer.phases import layers_before_backends
from armnn.optimizer.shapes.assumed import AssumedShapes, assume_shapes, example_of
from armnn.optimizer.shapes.specialize import specialize
from armnn.profiling import LayerTime
from armnn.runtime import Runtime
from armnn.tensor import Shape
from armnn_tools.cli.inputs import with_shapes
from armnn_tools.cli.options import preparation
from armnn_tools.cli.output import print_table
from armnn_tools.viewing import findings_in_comparison, times_in_trace

WITHOUT_BACKEND = ("Input", "Output", "Constant")
"""Types of layers that no backend runs."""

_LayerFindings = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Sized:
    """A network whose input shapes are known or assumed.

    Attributes:
        network: The layers for these shapes. Every value is read, so that no layer was dropped; as
            parsed where the layers do not agree with the shapes.
        assumed: The shapes.
        note: A sentence on what was assumed, "" if nothing.
    """

    network: Network
    assumed: AssumedShapes
    note: str

    @property
    def is_open(self) -> bool:
        """Whether no sizes that fit were found for open dimensions."""
        ranks = all(shape is not None for shape in self.assumed.shapes.values())
        return not ranks or (self.assumed.error is not None and bool(self.assumed.reasons))


def with_given_shapes(network: Network, texts: Sequence[str]) -> Network:
    """Return a copy of a network for the input shapes that ``--shape`` gives.

    Raises:
        ArmnnError: A shape is malformed, or the layers do not agree with it.
    """
    infos = {layer.name: layer.output.info for layer in network.inputs}
    shapes = {name: info.shape for name, info in with_shapes(infos, texts).items()}
    sized = specialize(network, shapes, {}, reference_evaluator())
    sized.quantized_arithmetic = network.quantized_arithmetic
    return sized


def with_sizes(network: Network, texts: Sequence[str]) -> Sized:
    """Return a network for the input shapes that ``--shape`` gives, and for assumed ones else.

    Raises:
        InvalidArgumentError: A shape is malformed, or contradicts what the model says.
    """
    inputs = {layer.name: layer.output.info for layer in network.inputs}
    infos = Aliased(inputs, network.aliases.inputs)
    known = {name: info.shape for name, info in with_shapes(infos, texts).items()}
    whole, evaluate = _with_all_read(network), reference_evaluator()
    made = whole

    def check(shapes: Mapping[str, Shape | None]) -> None:
        nonlocal made
        made = specialize(whole, shapes, {}, evaluate)

    assumed = assume_shapes(infos, network.metadata, check, known)
    opened = [name for name, shape in known.items() if name in assumed.reasons or shape is None]
    if assumed.error is not None:
        hints = " ".join(example_of(name, known[name]) for name in opened)
        advice = f"; say it with {hints}" if hints else ""
        note = f"Backends were asked without knowing all shapes: {assumed.error}{advice}."
        return Sized(whole, assumed, note)
    notes: dict[str, list[str]] = {}  # the caches of a decoder have one in common
    for name in opened:
        notes.setdefault(assumed.note(name, infos[name].with_shape(known[name])), []).append(name)
    lines = [
        f"{_inputs(names)}: {note}; set them with --shape." for note, names in notes.items() if note
    ]
    return Sized(made, assumed, "\n".join(lines))


def _inputs(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"Input {names[0]}"
    rest = f" and {len(names) - 2} others" if len(names) > 2 else ""
    return f"Inputs {', '.join(names[:2])}{rest}"


def assigned(
    network: Network, sized: Sized, runtime: Runtime, arguments: argparse.Namespace
) -> tuple[Network, Network | None, Report]:
    """Return the optimized network, the network that waits for its data, and the report.

    The report is empty where shapes are open.

    Raises:
        ArmnnError: The backends or options are not usable, or no backend runs some layers.
    """
    optimized = runtime.optimize(
        network,
        arguments.backends,
        **preparation(arguments),
    )
    if sized.is_open:
        return optimized.network, None, Report()
    shapes = {
        name: info.with_shape(sized.assumed.shapes[name]).static_shape
        for name, info in optimized.inputs.items()
    }
    report = optimized.specialize(shapes, {}).report
    head, rest = layers_before_backends(network, shapes, optimized.participants, optimized.options)
    return head, rest, report


def _with_all_read(network: Network) -> Network:
    """Return a copy in which every unread value is an output, so that no layer is dropped."""
    copy = network.clone()
    for layer in copy.layers:
        for value in layer.outputs if layer.type != "Input" else ():
            if not value.uses and layer.data is None:
                copy.add_output(f"{value.name} (unread)", value)
    return copy


@dataclass(frozen=True, slots=True)
class AssignedPart:
    """Layers that a backend compiled into one.

    Attributes:
        name: The name of the layer that takes their place.
        backend: The id of the backend.
        layers: The names of the layers.
        footprint: The memory of the part, None if the backend does not say it.
    """

    name: str
    backend: str
    layers: tuple[str, ...]
    footprint: Footprint | None

    def as_dict(self) -> dict[str, Any]:
        """Return the part as data for JSON."""
        footprint = None if self.footprint is None else self.footprint.as_dict()
        return {
            "name": self.name,
            "backend": self.backend,
            "layers": list(self.layers),
            "footprint": footprint,
        }


@dataclass(frozen=True, slots=True, eq=False)
class OptimizedLayers:
    """The layers of a network, each with its backend.

    Attributes:
        network: The layers.
        parts: The parts that backends compiled from some of them.
        waiting: The number of further layers, which wait for data that only a run computes.
    """

    network: Network
    parts: tuple[AssignedPart, ...] = ()
    waiting: int = 0
    part_of: Mapping[str, str] = field(init=False)
    """The name of the part that a layer went into, by the layer's name."""

    def __post_init__(self) -> None:
        names = {layer: part.name for part in self.parts for layer in part.layers}
        object.__setattr__(self, "part_of", names)  # the documented way to fill a frozen dataclass

    @classmethod
    def of(cls, head: Network, rest: Network | None, report: Report) -> OptimizedLayers:
        """Combine the layers, and those that wait for their data, with the facts of a report."""
        rows = {row.layer: row for row in report}
        found: dict[str, AssignedPart] = {}
        for layer in head.layers:
            row = rows.get(layer.name)
            if row is None or layer.type in WITHOUT_BACKEND:
                continue
            layer.backend = row.backend
            if row.compiled_into:
                before = found[row.compiled_into].layers if row.compiled_into in found else ()
                names = (*before, layer.name)
                found[row.compiled_into] = AssignedPart(
                    row.compiled_into, row.backend, names, row.footprint
                )
        later = () if rest is None else rest.layers
        waiting = sum(layer.type not in WITHOUT_BACKEND for layer in later)
        return cls(head, tuple(found.values()), waiting)

    def show_parts(self) -> None:
        """Print the compiled parts and the number of waiting layers, if there are any."""
        if self.parts:
            rows = [(part.name, part.backend, str(len(part.layers))) for part in self.parts]
            print_table("Compiled parts", ["part", "backend", "layers"], rows)
        if self.waiting:
            print(f"Layers that wait for data that only a run computes: {self.waiting}\n")


def reference_evaluator() -> Evaluator:
    """Return an evaluator of constants and shapes: CpuRef, or none where it is not installed."""
    try:
        backend = BackendRegistry(CreationOptions()).get(CPU_REF)
    except BackendError:
        return Evaluator(())
    return Evaluator((Candidate.of(backend, {}),))


def add_measured_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for files with times and findings, which other commands write."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--profile",
        metavar="FILE",
        help="show the times in a file of 'armnn run --profile FILE', for the same backends",
    )
    group.add_argument(
        "--compare",
        metavar="FILE",
        help="show the findings in the output of 'armnn compare --json'",
    )


def measured(
    arguments: argparse.Namespace, report: Report
) -> tuple[Sequence[LayerTime], _LayerFindings | None]:
    """Return the times and findings in the files that the options name.

    Raises:
        InvalidArgumentError: A file cannot be read, or is none of these.
    """
    times = () if arguments.profile is None else times_in_trace(arguments.profile, report)
    findings = None if arguments.compare is None else findings_in_comparison(arguments.compare)
    return times, findings
