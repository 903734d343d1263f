# SPDX-License-Identifier: MIT
"""``armnn inspect``: what is in a model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from armnn.backends import CreationOptions
from armnn.backends.registry import BackendRegistry
from armnn.cli.inputs import with_shapes
from armnn.cli.inspection import Inspection
from armnn.cli.model_options import (
    add_model_arguments,
    backend_options,
    creation_options,
    layer_backends,
)
from armnn.cli.operators import OperatorTable, operator_table
from armnn.cli.output import print_json, progress
from armnn.cli.run_options import add_shape_argument
from armnn.errors import BackendError, BackendUnavailableError, InvalidArgumentError
from armnn.graph import Network
from armnn.graph.dot import to_dot
from armnn.graph.statistics import statistics_of
from armnn.optimizer import Candidate
from armnn.optimizer.candidates import Evaluator
from armnn.optimizer.specialise import specialise
from armnn.parsing import survey
from armnn.runtime import Runtime
from armnn.tensor import TensorInfo, format_shape

if TYPE_CHECKING:
    from armnn.graph import Survey
    from armnn.tensor import Shape

_EXAMPLES = """\
examples:
  armnn inspect model.onnx
  armnn inspect model.onnx --shape x=1x3x224x224 --layers
  armnn inspect model.tflite --backends CpuAcc,CpuRef --reasons
  armnn inspect model.onnx --backends CpuRef --dot model.dot
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``armnn inspect``."""
    parser = subparsers.add_parser(
        "inspect",
        help="show what is in a model",
        description="Show the inputs, outputs, operators, layers, size and metadata of a model, "
        "and which backends support which operators.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=inspect)
    add_model_arguments(parser)
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
    """Show a model as the command line says; return the exit status.

    The status is 1 if there is an operator that the parser does not support or no backend runs.

    Raises:
        ArmnnError: The model, a backend or an option is not usable.
    """
    with Runtime(creation_options(arguments)) as runtime:
        with progress(f"Reading {arguments.model}"):
            network, found = survey(arguments.model)
            shapes = _shapes(network, arguments.shape)
            operators = _operators(network, found, shapes, runtime, arguments)
            if operators.is_complete:
                network = _prepared(network, shapes, runtime, arguments)
        if arguments.dot is not None:
            _write_dot(network, Path(arguments.dot))
    inspection = Inspection(
        arguments.model,
        network,
        statistics_of(network),
        arguments.layers,
        operators,
        arguments.reasons,
    )
    if arguments.json:
        print_json(inspection.as_dict())
    else:
        inspection.show()
    return 0 if operators.is_complete else 1


def _prepared(
    network: Network,
    shapes: Mapping[str, tuple[int, ...]] | None,
    runtime: Runtime,
    arguments: argparse.Namespace,
) -> Network:
    """Return the network for its shapes, optimised for the backends if some are named."""
    if arguments.backends is None:
        return network if shapes is None else specialise(network, shapes, {}, _evaluator())
    optimized = runtime.optimize(
        network,
        arguments.backends,
        backend_options=backend_options(arguments.option),
        layer_backends=layer_backends(arguments.layer_backend),
        strict=arguments.strict,
    )
    return optimized.network if shapes is None else optimized.specialise(shapes, {}).network


def _operators(
    network: Network,
    found: Survey,
    shapes: Mapping[str, tuple[int, ...]] | None,
    runtime: Runtime,
    arguments: argparse.Namespace,
) -> OperatorTable:
    """Ask the backends that are named, or all that can be used, about the operators."""
    if not found.operators:
        return OperatorTable()
    known: dict[str, Shape | None] = {
        layer.name: layer.output.info.shape for layer in network.inputs
    }
    known |= shapes or {}
    probe = Network()
    probe.add_output("y", probe.add_input("x", TensorInfo((1,))))
    candidates: tuple[Candidate, ...] = ()
    try:
        candidates = runtime.optimize(
            probe, arguments.backends, backend_options=backend_options(arguments.option)
        ).participants.candidates
    except BackendUnavailableError:
        if arguments.backends is not None:
            raise
    return operator_table(network, found, known, candidates, _evaluator())


def _shapes(network: Network, texts: Sequence[str]) -> dict[str, tuple[int, ...]] | None:
    """Return the shape of every input if ``--shape`` was given, else None."""
    if not texts:
        return None
    infos = with_shapes({layer.name: layer.output.info for layer in network.inputs}, texts)
    for name, info in infos.items():
        if not info.is_static:
            raise InvalidArgumentError(
                f"--shape says nothing of the input {name!r}, expected a shape for it, too, as the "
                f"model says only {format_shape(info.shape)}"
            )
    return {name: info.static_shape for name, info in infos.items()}


def _evaluator() -> Evaluator:
    """What computes shapes from shapes: CpuRef if it is installed, nothing if it is not."""
    try:
        backend = BackendRegistry(CreationOptions()).get("CpuRef")
    except BackendError:
        return Evaluator(())
    return Evaluator((Candidate(backend, backend.create_model_context({})),))


def _write_dot(network: Network, path: Path) -> None:
    try:
        path.write_text(to_dot(network), encoding="utf-8")
    except OSError as error:
        raise InvalidArgumentError(
            f"--dot got {str(path)!r}, which cannot be written ({error.strerror}); expected a file "
            "in a folder that exists and is yours to write"
        ) from error
