# SPDX-License-Identifier: MIT
"""``armnn convert``: writes a model as an ``.armnn`` file."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from armnn.arguments import refused
from armnn.errors import NotStorableError
from armnn.graph import Network
from armnn.parsing import parse
from armnn.parsing.exporting import save
from armnn_parser_armnn import VERSIONS
from armnn_tools.cli.assigned_layers import with_given_shapes
from armnn_tools.cli.options import (
    MODEL_HELP,
    add_command,
    add_format_argument,
    add_shape_argument,
    parser_options,
)
from armnn_tools.cli.output import print_json, printable, progress

_SUFFIX = ".armnn"
_EXAMPLES = """\
examples:
  armnn convert model.tflite net.armnn
  armnn convert model.onnx net.armnn --shape x=1x3x224x224
  armnn convert model.onnx net.armnn --for-arm-nn 20.08
  armnn convert model.onnx net.armnn --beyond-arm-nn
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn convert``."""
    parser = add_command(
        subparsers,
        "convert",
        summary,
        "Write a model as an .armnn file, which Arm NN and armnn read.",
        _EXAMPLES,
        convert,
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    add_format_argument(parser)
    parser.add_argument("target", metavar="FILE", help="the .armnn file to be written")
    add_shape_argument(parser)
    parser.add_argument(
        "--for-arm-nn",
        metavar="VERSION",
        choices=VERSIONS,
        default=VERSIONS[-1],
        help=f"the oldest Arm NN that has to read it: {' or '.join(VERSIONS)} (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--beyond-arm-nn",
        action="store_true",
        help="store what Arm NN lacks, too; only armnn runs such a file",
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def convert(arguments: argparse.Namespace) -> int:
    """Write a model as the command line says; return 0.

    Raises:
        ArmnnError: The model cannot be read, or that Arm NN has no form for it.
    """
    target = Path(arguments.target)
    if target.suffix.lower() != _SUFFIX:
        raise refused("FILE", arguments.target, f"a name that ends in {_SUFFIX}")
    with progress(f"Reading {arguments.model}"):
        network = parse(arguments.model, parser_options=parser_options(arguments))
    if arguments.shape:
        network = with_given_shapes(network, arguments.shape)
    with progress(f"Writing {target}"):
        try:
            _save(network, arguments)
        except NotStorableError:
            # Shapes that are computed become plain numbers, which the format can hold.
            network = with_given_shapes(network, arguments.shape)
            _save(network, arguments)
    result = _result(network, arguments)
    if arguments.json:
        print_json(result)
    else:
        size, count = result["bytes"], sum(result["layers"].values())
        written = f"{count} layers, {size} bytes, for Arm NN {arguments.for_arm_nn}"
        print(f"{printable(str(target))}: {written}")
    return 0


def _save(network: Network, arguments: argparse.Namespace) -> None:
    save(
        network,
        arguments.target,
        for_arm_nn=arguments.for_arm_nn,
        beyond_arm_nn=arguments.beyond_arm_nn,
    )


def _result(network: Network, arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "model": arguments.model,
        "file": arguments.target,
        "for_arm_nn": arguments.for_arm_nn,
        "beyond_arm_nn": arguments.beyond_arm_nn,
        "bytes": Path(arguments.target).stat().st_size,
        "layers": dict(sorted(Counter(layer.title for layer in network.layers).items())),
    }
