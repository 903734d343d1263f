# SPDX-License-Identifier: MIT
"""``armnn inspect``: what is in a model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from armnn._installing import FAST, REFERENCE
from armnn.cli.arguments import add_command
from armnn.cli.assumed_shapes import AssumedShapes, assume_shapes, example_of
from armnn.cli.inputs import with_shapes
from armnn.cli.inspection import Inspection
from armnn.cli.model_options import (
    add_model_arguments,
    backend_options,
    creation_options,
    layer_backends,
    parser_options,
)
from armnn.cli.operators import operator_table, with_all_read
from armnn.cli.optimized_layers import OptimizedLayers
from armnn.cli.optimizer_options import add_optimizer_arguments, optimizer_options
from armnn.cli.output import print_json, progress
from armnn.cli.reference import reference_evaluator
from armnn.cli.run_options import add_shape_argument
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from armnn.graph import Aliased, Network
from armnn.graph.dot import to_dot
from armnn.graph.statistics import statistics_of
from armnn.optimizer.phases import layers_before_backends
from armnn.optimizer.shapes.specialise import specialise
from armnn.parsing import survey
from armnn.runtime import Runtime
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    from armnn.graph import Survey
    from armnn.optimizer import Candidate
    from armnn.tensor import Shape

_EXAMPLES = f"""\
examples:
  armnn inspect model.onnx
  armnn inspect model.onnx --shape x=1x3x224x224 --layers
  armnn inspect model.tflite --backends {FAST},{REFERENCE} --reasons
  armnn inspect model.onnx --backends {REFERENCE} --dot model.dot
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn inspect``."""
    parser = add_command(
        subparsers,
        "inspect",
        summary,
        "Show the inputs, outputs, operators, layers, size and metadata of a model, "
        "and which backends support which operators.",
        _EXAMPLES,
        inspect,
    )
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    add_shape_argument(parser)
    parser.add_argument("--layers", action="store_true", help="list every layer with its shapes")
    parser.add_argument(
        "--reasons",
        action="store_true",
        help="say for each operator why the parser or a backend refuses it",
    )
    parser.add_argument(
        "--dot",
        metavar="FILE",
        help="write the graph for Graphviz; with --backends, as optimised for them",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def inspect(arguments: argparse.Namespace) -> int:
    """Show a model as the command line says.

    Return the exit status.

    The status is 1 if there is an operator that the parser does not support or no backend runs.

    Raises:
        ArmnnError: The model, a backend or an option is not usable.
    """
    with Runtime(creation_options(arguments)) as runtime:
        with progress(f"Reading {arguments.model}"):
            network, found = survey(arguments.model, parser_options(arguments))
            sized = _sized(network, arguments.shape)
            operators = operator_table(
                sized.network, found, _candidates(found, runtime, arguments), sized.note
            )
            shown = network
            layers = OptimizedLayers(network)
            if operators.is_complete:
                if arguments.shape and not sized.is_open:
                    shown = specialise(network, sized.assumed.shapes, {}, reference_evaluator())
                    layers = OptimizedLayers(shown)
                if arguments.backends is not None:
                    layers = _optimized(network, sized, runtime, arguments)
        if arguments.dot is not None:
            _write_dot(layers, Path(arguments.dot))
    inspection = Inspection(
        arguments.model,
        shown,
        layers,
        statistics_of(layers.network),
        arguments.layers,
        sized.assumed,
        operators,
        arguments.reasons,
    )
    if arguments.json:
        print_json(inspection.as_dict())
    else:
        inspection.show()
    return 0 if operators.is_complete else 1


@dataclass(frozen=True, slots=True, eq=False)
class _Sized:
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


def _sized(network: Network, texts: Sequence[str]) -> _Sized:
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
        return _Sized(whole, assumed, note)
    notes = {name: assumed.note(name, infos[name].with_shape(known[name])) for name in opened}
    said = [f"Input {name}: {note}; --shape says others." for name, note in notes.items() if note]
    return _Sized(made, assumed, "\n".join(said))


def _optimized(
    network: Network, sized: _Sized, runtime: Runtime, arguments: argparse.Namespace
) -> OptimizedLayers:
    """Return the layers with their backends after optimisation."""
    optimized = runtime.optimize(
        network,
        arguments.backends,
        backend_options=backend_options(arguments.option),
        layer_backends=layer_backends(arguments.layer_backend),
        strict=arguments.strict,
        **optimizer_options(arguments),
    )
    if sized.is_open:
        return OptimizedLayers(optimized.network)
    shapes = {
        name: info.with_shape(sized.assumed.shapes[name]).static_shape
        for name, info in optimized.inputs.items()
    }
    report = optimized.specialise(shapes, {}).report
    segments = layers_before_backends(network, shapes, optimized.participants, optimized.options)
    return OptimizedLayers.of(segments, report)


def _candidates(
    found: Survey, runtime: Runtime, arguments: argparse.Namespace
) -> tuple[Candidate, ...]:
    """Return the backends to query: the named or all usable."""
    if not found.operators:
        return ()
    probe = Network()
    probe.add_output("y", probe.add_input("x", TensorInfo((1,))))
    try:
        return runtime.optimize(
            probe, arguments.backends, backend_options=backend_options(arguments.option)
        ).participants.candidates
    except BackendUnavailableError:
        if arguments.backends is not None:
            raise
        return ()


def _write_dot(layers: OptimizedLayers, path: Path) -> None:
    try:
        path.write_text(to_dot(layers.network, layers.part_of), encoding="utf-8")
    except OSError as error:
        raise InvalidArgumentError(
            f"--dot got {str(path)!r}, which cannot be written ({error.strerror}); expected a file "
            "in a folder that exists and is yours to write"
        ) from error
