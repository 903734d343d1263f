# SPDX-License-Identifier: MIT
"""``armnn compile``: writes a model as a file that is loaded without a parser."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from armnn.errors import InvalidArgumentError
from armnn.installing import CPU_ACC, CPU_REF, import_companion
from armnn.optimizer import Report
from armnn.parsing import parse
from armnn_tools.cli.assigned_layers import with_given_shapes
from armnn_tools.cli.options import (
    add_command,
    add_model_arguments,
    add_optimizer_arguments,
    add_shape_argument,
    natural_number,
    opened_runtime,
    parser_options,
    preparation,
)
from armnn_tools.cli.output import check_writable, print_json, printable, progress

_EXAMPLES = f"""\
examples:
  armnn compile model.onnx --backends {CPU_ACC} -o model.armnn-prepared
  armnn compile model.onnx --backends {CPU_ACC},{CPU_REF} --shape x=1x3x224x224 -o m.armnn-prepared
  armnn compile FOLDER --backends {CPU_ACC} --capacity 1024 -o FOLDER/model.armnn-prepared
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
        "Write a model as it is prepared for its backends: programs and packed weights, which are "
        "mapped when it is loaded. No parser is needed then. The file is for the same versions of "
        "armnn-core and backends, and the same kind of CPU. Of the folder of a language model it "
        "is what 'armnn generate FOLDER --file model.armnn-prepared' loads.",
        _EXAMPLES,
        compile_model,
    )
    add_model_arguments(parser)
    add_shape_argument(parser)
    add_optimizer_arguments(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the .armnn-prepared file"
    )
    parser.add_argument(
        "--capacity",
        type=natural_number,
        metavar="N",
        help="how many tokens a conversation may have, with the folder of a language model "
        "(default: as many as the model takes)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def compile_model(arguments: argparse.Namespace) -> int:
    """Write a prepared model as the command line says; return 0.

    Raises:
        ArmnnError: The model cannot be read, prepared or stored.
    """
    check_writable("--output", Path(arguments.output))
    if Path(arguments.model).is_dir():
        report = _compiled_folder(arguments)
    elif arguments.capacity is not None:
        raise InvalidArgumentError(
            f"--capacity is for the folder of a language model, got {arguments.model!r}"
        )
    else:
        with progress(f"Reading {arguments.model}"):
            network = parse(arguments.model, parser_options=parser_options(arguments))
            if arguments.shape:
                network = with_given_shapes(network, arguments.shape)
        with opened_runtime(arguments) as runtime, progress(f"Compiling {arguments.model}"):
            report = runtime.compile_network(
                network,
                arguments.output,
                arguments.backends,
                **preparation(arguments),
            )
    counts = Counter(row.backend for row in report)
    result: dict[str, Any] = {
        "model": arguments.model,
        "file": arguments.output,
        "bytes": Path(arguments.output).stat().st_size,
        "layers": dict(counts),
    }
    if arguments.json:
        print_json(result)
    else:
        layers = ", ".join(f"{count} layers on {each}" for each, count in counts.items())
        print(f"{printable(str(arguments.output))}: {result['bytes']} bytes, {layers}")
    return 0


def _compiled_folder(arguments: argparse.Namespace) -> Report:
    """Write the prepared model of a language model's folder."""
    if arguments.shape or parser_options(arguments):
        raise InvalidArgumentError(
            f"{arguments.model!r} is a folder, which says how its model is read: leave --shape and "
            "the options of parsers out"
        )
    module = import_companion("armnn_generate", "decoder", "compiling a language model")
    with opened_runtime(arguments) as runtime, progress(f"Compiling {arguments.model}"):
        report: Report = module.compile_folder(
            arguments.model,
            arguments.output,
            arguments.backends,
            capacity=arguments.capacity,
            runtime=runtime,
            **preparation(arguments),
        )
    return report
