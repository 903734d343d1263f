# SPDX-License-Identifier: MIT
"""The layers of a model with known sizes and backends."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from armnn.cli.inputs import with_shapes
from armnn.cli.model_options import backend_options, layer_backends
from armnn.cli.operators import with_all_read
from armnn.cli.optimizer_options import optimizer_options
from armnn.cli.reference import reference_evaluator
from armnn.graph import Aliased, Network
from armnn.optimizer import Report
from armnn.optimizer.phases import layers_before_backends
from armnn.optimizer.prepared import Segments
from armnn.optimizer.shapes.assumed import AssumedShapes, assume_shapes, example_of
from armnn.optimizer.shapes.specialise import specialise

if TYPE_CHECKING:
    from armnn.runtime import Runtime
    from armnn.tensor import Shape


@dataclass(frozen=True, slots=True, eq=False)
class Sized:
    """A parsed network, with input shapes known or assumed.

    Attributes:
        network: With everything in it read, so that nothing was dropped; as parsed where its layers
            do not agree with the shapes.
        assumed: The shapes.
        note: What was assumed, "" if nothing.
    """

    network: Network
    assumed: AssumedShapes
    note: str

    @property
    def is_open(self) -> bool:
        """Whether no sizes of what is open were found."""
        ranks = all(shape is not None for shape in self.assumed.shapes.values())
        return not ranks or (self.assumed.error is not None and bool(self.assumed.reasons))


def with_sizes(network: Network, texts: Sequence[str]) -> Sized:
    """Give a network the command line's shapes, else assumed ones."""
    inputs = {layer.name: layer.output.info for layer in network.inputs}
    infos = Aliased(inputs, network.aliases.inputs)
    known = {name: info.shape for name, info in with_shapes(infos, texts).items()}
    whole, evaluate = with_all_read(network), reference_evaluator()
    made = whole

    def check(shapes: Mapping[str, Shape | None]) -> None:
        nonlocal made
        made = specialise(whole, shapes, {}, evaluate)

    assumed = assume_shapes(infos, network.metadata, check, known)
    opened = [name for name, shape in known.items() if name in assumed.reasons or shape is None]
    if assumed.error is not None:
        hints = " ".join(example_of(name, known[name]) for name in opened)
        advice = f"; say it with {hints}" if hints else ""
        note = f"Backends were asked without knowing all shapes: {assumed.error}{advice}."
        return Sized(whole, assumed, note)
    notes = {name: assumed.note(name, infos[name].with_shape(known[name])) for name in opened}
    lines = [f"Input {name}: {note}; --shape says others." for name, note in notes.items() if note]
    return Sized(made, assumed, "\n".join(lines))


def assigned(
    network: Network, sized: Sized, runtime: Runtime, arguments: argparse.Namespace
) -> tuple[Segments, Report]:
    """Return the layers after optimisation, and the report about them.

    The report is empty where shapes are open.

    Raises:
        ArmnnError: The backends or options are not usable, or no backend runs some layers.
    """
    optimized = runtime.optimize(
        network,
        arguments.backends,
        backend_options=backend_options(arguments.option),
        layer_backends=layer_backends(arguments.layer_backend),
        strict=arguments.strict,
        **optimizer_options(arguments),
    )
    if sized.is_open:
        return Segments(optimized.network, None), Report()
    shapes = {
        name: info.with_shape(sized.assumed.shapes[name]).static_shape
        for name, info in optimized.inputs.items()
    }
    report = optimized.specialise(shapes, {}).report
    segments = layers_before_backends(network, shapes, optimized.participants, optimized.options)
    return segments, report
