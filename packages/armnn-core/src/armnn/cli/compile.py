# SPDX-License-Identifier: MIT
"""``armnn compile``: a model as a file without a parser."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn._installing import FAST, REFERENCE
from armnn.cli.arguments import add_command
from armnn.cli.inputs import with_shapes
from armnn.cli.model_options import (
    add_model_arguments,
    backend_options,
    layer_backends,
    opened_runtime,
    parser_options,
)
from armnn.cli.optimizer_options import add_optimizer_arguments, optimizer_options
from armnn.cli.output import print_json, progress
from armnn.cli.reference import reference_evaluator
from armnn.cli.run_files import check_writable
from armnn.cli.run_options import add_shape_argument
from armnn.optimizer.shapes.specialise import specialise
from armnn.parsing import parse

if TYPE_CHECKING:
    from armnn.graph import Network

_EXAMPLES = f"""\
examples:
  armnn compile model.onnx --backends {FAST} -o model.armnn-prepared
  armnn compile model.onnx --backends {FAST},{REFERENCE} --shape x=1x3x224x224 -o m.armnn-prepared
  armnn run model.armnn-prepared --input x=cat.png
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn compile``."""
    parser = add_command(
        subparsers,
        "compile",
        summary,
        "Write a model as it is prepared for its backends: programs and packed "
        "weights, which are mapped when it is loaded. No parser is needed then. The file is for "
        "the same versions of armnn-core and backends, and the same kind of CPU.",
        _EXAMPLES,
        compile_model,
    )
    add_model_arguments(parser)
    add_shape_argument(parser)
    add_optimizer_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the .armnn-prepared file"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def compile_model(arguments: argparse.Namespace) -> int:
    """Write a prepared model as the command line says.

    Raises:
        ArmnnError: The model cannot be read, prepared or stored.
    """
    check_writable("--output", Path(arguments.output))
    with progress(f"Reading {arguments.model}"):
        network = parse(arguments.model, parser_options=parser_options(arguments))
        if arguments.shape:
            network = _sized(network, arguments.shape)
    with opened_runtime(arguments) as runtime, progress(f"Compiling {arguments.model}"):
        report = runtime.compile_network(
            network,
            arguments.output,
            arguments.backends,
            backend_options=backend_options(arguments.option),
            layer_backends=layer_backends(arguments.layer_backend),
            strict=arguments.strict,
            **optimizer_options(arguments),
        )
    counts: dict[str, int] = {}
    for row in report:
        counts[row.backend] = counts.get(row.backend, 0) + 1
    result: dict[str, Any] = {
        "model": arguments.model,
        "file": arguments.output,
        "bytes": Path(arguments.output).stat().st_size,
        "layers": counts,
    }
    if arguments.json:
        print_json(result)
    else:
        layers = ", ".join(f"{count} layers on {each}" for each, count in counts.items())
        print(f"{arguments.output}: {result['bytes']} bytes, {layers}")
    return 0


def _sized(network: Network, texts: list[str]) -> Network:
    """Return a network for the given input shapes."""
    infos = {layer.name: layer.output.info for layer in network.inputs}
    shapes = {name: info.shape for name, info in with_shapes(infos, texts).items()}
    sized = specialise(network, shapes, {}, reference_evaluator())
    sized.quantized_arithmetic = network.quantized_arithmetic
    return sized
