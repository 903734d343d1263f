# SPDX-License-Identifier: MIT
"""``armnn inspect``: what is in a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
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
from armnn.cli.output import print_json, progress
from armnn.cli.run_options import add_shape_argument
from armnn.errors import BackendError, InvalidArgumentError
from armnn.graph.dot import to_dot
from armnn.graph.statistics import statistics_of
from armnn.optimizer import Candidate
from armnn.optimizer.candidates import Evaluator
from armnn.optimizer.specialise import specialise
from armnn.parsing import parse
from armnn.runtime import Runtime
from armnn.tensor import format_shape

if TYPE_CHECKING:
    from armnn.graph import Network

_EXAMPLES = """\
examples:
  armnn inspect model.onnx
  armnn inspect model.onnx --shape x=1x3x224x224 --layers
  armnn inspect model.onnx --backends CpuRef --dot model.dot
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``armnn inspect``."""
    parser = subparsers.add_parser(
        "inspect",
        help="show what is in a model",
        description="Show the inputs, outputs, layers, size and metadata of a model.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=inspect)
    add_model_arguments(parser)
    add_shape_argument(parser)
    parser.add_argument("--layers", action="store_true", help="list every layer with its shapes")
    parser.add_argument(
        "--dot",
        metavar="FILE",
        help="write the graph for Graphviz; with --backends, as optimised for them",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def inspect(arguments: argparse.Namespace) -> int:
    """Show a model as the command line says; return the exit status.

    Raises:
        ArmnnError: The model, a backend or an option is not usable.
    """
    with progress(f"Reading {arguments.model}"):
        network = _network(arguments)
    inspection = Inspection(arguments.model, network, statistics_of(network), arguments.layers)
    if arguments.dot is not None:
        _write_dot(network, Path(arguments.dot))
    if arguments.json:
        print_json(inspection.as_dict())
    else:
        inspection.show()
    return 0


def _network(arguments: argparse.Namespace) -> Network:
    """Return the network as parsed or, if backends are named, as optimised for them."""
    network = parse(arguments.model)
    shapes = _shapes(network, arguments.shape)
    if arguments.backends is None:
        return network if shapes is None else specialise(network, shapes, {}, _evaluator())
    with Runtime(creation_options(arguments)) as runtime:
        optimized = runtime.optimize(
            network,
            arguments.backends,
            backend_options=backend_options(arguments.option),
            layer_backends=layer_backends(arguments.layer_backend),
            strict=arguments.strict,
        )
        return optimized.network if shapes is None else optimized.specialise(shapes, {}).network


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
