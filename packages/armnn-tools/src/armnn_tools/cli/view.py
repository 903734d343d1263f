# SPDX-License-Identifier: MIT
"""``armnn view``: writes a model's graph as one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path

from armnn.errors import InvalidArgumentError
from armnn.installing import CPU_ACC, CPU_REF
from armnn.parsing import parse
from armnn_tools.cli.assigned_layers import (
    OptimizedLayers,
    add_measured_arguments,
    assigned,
    measured,
    with_sizes,
)
from armnn_tools.cli.options import (
    add_command,
    add_model_arguments,
    add_optimizer_arguments,
    add_shape_argument,
    opened_runtime,
    parser_options,
)
from armnn_tools.cli.output import check_writable, print_json, printable, progress, writing
from armnn_tools.viewing import described, page, trace_for_page

_EXAMPLES = f"""\
examples:
  armnn view model.onnx
  armnn view model.onnx -o graph.html --backends {CPU_ACC},{CPU_REF}
  armnn run model.onnx --profile trace.json && armnn view model.onnx --profile trace.json
  armnn compare model.onnx --backends Acme --json > found.json; armnn view model.onnx \\
      --backends Acme,{CPU_REF} --compare found.json
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn view``."""
    parser = add_command(
        subparsers,
        "view",
        summary,
        "Write the graph of a model as one HTML file that needs no network: layers in "
        "the colors of their backends, compiled parts as boxes, tensors between backends, and "
        "for each layer its parameters, tensors, and which backends refused it and why.",
        _EXAMPLES,
        view,
    )
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    add_shape_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.html",
        help="the file to write (default: the model's name with .html, in this folder)",
    )
    add_measured_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the graph as one JSON object")


def view(arguments: argparse.Namespace) -> int:
    """Write a model's graph as a file; return 0.

    Raises:
        ArmnnError: The model, a backend, a file or an option is not usable.
    """
    path = Path(arguments.output or f"{Path(arguments.model).stem}.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InvalidArgumentError(f"--output got {str(path)!r}, expected a file ending in .html")
    if not arguments.json:
        check_writable("--output", path)
    with opened_runtime(arguments) as runtime, progress(f"Reading {arguments.model}"):
        network = parse(arguments.model, parser_options=parser_options(arguments))
        sized = with_sizes(network, arguments.shape)
        head, rest, report = assigned(network, sized, runtime, arguments)
        waiting = OptimizedLayers.of(head, rest, report).waiting
    document = described(head, report, *measured(arguments, report))
    if arguments.json:
        print_json(document)
        return 0
    with progress(f"Writing {path}"):
        trace = None if arguments.profile is None else trace_for_page(arguments.profile)
        with writing(path):
            path.write_text(page(document, trace), encoding="utf-8")
    if sized.note:
        print(printable(sized.note.replace("\n", " ")))
    if waiting:
        print(f"Layers that wait for data that only a run computes, and are not shown: {waiting}")
    print(printable(f"Wrote {path}"))
    return 0
