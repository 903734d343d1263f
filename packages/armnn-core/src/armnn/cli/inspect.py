# SPDX-License-Identifier: MIT
"""``armnn inspect``: what is in a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from armnn._installing import FAST, REFERENCE
from armnn.cli.arguments import add_command
from armnn.cli.assigned_layers import assigned, with_sizes
from armnn.cli.inspection import Inspection
from armnn.cli.layer_facts import facts_of
from armnn.cli.measured import add_measured_arguments, measured
from armnn.cli.model_options import (
    add_model_arguments,
    backend_options,
    opened_runtime,
    parser_options,
)
from armnn.cli.operators import operator_table
from armnn.cli.optimized_layers import OptimizedLayers
from armnn.cli.optimizer_options import add_optimizer_arguments
from armnn.cli.output import print_json, progress
from armnn.cli.reference import reference_evaluator
from armnn.cli.run_options import add_shape_argument
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from armnn.graph import Network
from armnn.graph.dot import to_dot
from armnn.graph.statistics import statistics_of
from armnn.optimizer import Report
from armnn.optimizer.shapes.specialise import specialise
from armnn.parsing import survey
from armnn.tensor import TensorInfo
from armnn.viewing import described

if TYPE_CHECKING:
    from armnn.graph import Survey
    from armnn.optimizer import Candidate
    from armnn.runtime import Runtime

_EXAMPLES = f"""\
examples:
  armnn inspect model.onnx
  armnn inspect model.onnx --shape x=1x3x224x224 --layers
  armnn inspect model.tflite --backends {FAST},{REFERENCE} --reasons
  armnn inspect model.onnx --backends {REFERENCE} --dot model.dot
  armnn inspect model.onnx --backends {REFERENCE} --layer Conv.0 --profile trace.json
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
        "--layer",
        metavar="NAME",
        action="append",
        default=[],
        help="show all that is known about a layer, as 'armnn view' does (may be repeated)",
    )
    add_measured_arguments(parser)
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
    with opened_runtime(arguments) as runtime:
        report = Report()
        with progress(f"Reading {arguments.model}"):
            network, found = survey(arguments.model, parser_options(arguments))
            sized = with_sizes(network, arguments.shape)
            operators = operator_table(
                sized.network, found, _candidates(found, runtime, arguments), sized.note
            )
            shown = network
            layers = OptimizedLayers(network)
            if operators.is_complete:
                if arguments.shape and not sized.is_open:
                    shown = specialise(network, sized.assumed.shapes, {}, reference_evaluator())
                    layers = OptimizedLayers(shown)
                if arguments.backends or arguments.profile or arguments.compare:
                    segments, report = assigned(network, sized, runtime, arguments)
                    layers = OptimizedLayers.of(segments, report)
        if arguments.dot is not None:
            _write_dot(layers, Path(arguments.dot))
    times, verdicts = measured(arguments, report)
    document = described(layers.network, report, times, verdicts)
    inspection = Inspection(
        arguments.model,
        shown,
        layers,
        statistics_of(layers.network),
        arguments.layers,
        sized.assumed,
        operators,
        arguments.reasons,
        document,
        facts_of(arguments.layer, document),
    )
    if arguments.json:
        print_json(inspection.as_dict())
    else:
        inspection.show()
    return 0 if operators.is_complete else 1


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
