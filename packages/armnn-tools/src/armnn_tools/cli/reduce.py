# SPDX-License-Identifier: MIT
"""``armnn reduce``: writes the smallest model that fails as a model does."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from armnn.errors import InvalidArgumentError
from armnn.installing import CPU_ACC
from armnn.parsing import parse
from armnn_tools.cli.inputs import add_sample_arguments, samples_for
from armnn_tools.cli.options import (
    add_command,
    creation_options,
    number,
    parser_options,
    quiet_preparation,
)
from armnn_tools.cli.output import check_writable, print_json, printable, progress
from armnn_tools.debugging import Progress, ReduceOptions, Reduction, reduce

_EXAMPLES = f"""\
examples:
  armnn reduce model.onnx --backends {CPU_ACC} -o small.onnx
  armnn reduce model.onnx --backends GpuAcc --inputs pictures --layer conv_3 -o small.onnx
  armnn reduce model.onnx --backends GpuAcc --check crash --time-limit 60 -o small.onnx
  armnn reduce model.onnx --backends GpuAcc --check 'runner {{model}}' -o small.onnx

Beside small.onnx come small.inputs.npz, small.expected.npz and small.py, which fails as the model
does; it needs numpy and armnn only.
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn reduce``."""
    parser = add_command(
        subparsers,
        "reduce",
        summary,
        "Delete layers and simplify what is left as long as the failure stays the same. Each step "
        "is tried in a child process.",
        _EXAMPLES,
        run,
    )
    group = add_sample_arguments(parser, "reducing")
    group.add_argument(
        "--check",
        metavar="CHECK",
        default="compare",
        help="compare for wrong layers, crash for crashes, hangs and errors, or a command with "
        "{model} and perhaps {inputs} in it, which fails while its exit status is that of the "
        "whole model (default: %(default)s)",
    )
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the .onnx or .armnn file to be written; it becomes an .armnn file where ONNX has no "
        "form for the layers",
    )
    group.add_argument(
        "--layer",
        metavar="NAME",
        default="",
        help="the wrong layer that is meant (default: the first)",
    )
    limits = ReduceOptions()
    group.add_argument(
        "--time-limit",
        type=number,
        default=limits.time_limit,
        metavar="SECONDS",
        help="when the smallest model so far is taken (default: %(default)g)",
    )
    group.add_argument(
        "--try-limit",
        type=number,
        default=limits.try_limit,
        metavar="SECONDS",
        help="when one try counts as a hang (default: %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Reduce as the command line says; return 0.

    Raises:
        ArmnnError: The model does not fail, or an argument is not usable.
    """
    if not arguments.backends:
        raise InvalidArgumentError(
            f"armnn reduce needs the backend that fails: name it, as in --backends {CPU_ACC}"
        )
    check_writable("--output", Path(arguments.output))
    with progress(f"Reading {arguments.model}"):
        network = parse(arguments.model, parser_options=parser_options(arguments))
    samples = samples_for(network, arguments)
    with _shown() as tell:
        reduction = reduce(
            network,
            arguments.backends,
            arguments.output,
            check=arguments.check,
            reference=arguments.reference,
            inputs=samples,
            options=quiet_preparation(arguments),
            creation_options=creation_options(arguments),
            limits=ReduceOptions(arguments.time_limit, arguments.try_limit, arguments.layer),
            progress=tell,
        )
    if arguments.json:
        print_json({"model": arguments.model, **reduction.as_dict()})
    else:
        _show(reduction)
    return 0


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None]]:
    """Show progress in one line, on terminals only."""
    is_shown = sys.stderr.isatty()

    def tell(now: Progress) -> None:
        if is_shown:
            line = f"{now.tries} tries, {now.seconds:.0f} s: {now.layers} layers fail"
            print(f"\r{line:<60}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if is_shown:
            print(f"\r{'':60}\r", end="", file=sys.stderr, flush=True)


def _show(reduction: Reduction) -> None:
    """Print the failure, the size of the smallest model and the names of the files."""
    layers = ", ".join(reduction.types)
    print(printable(f"{reduction.failure}"))
    print(
        printable(
            f"{len(reduction.layers)} of {reduction.layers_before} layers ({layers}), "
            f"{reduction.size} bytes, {reduction.tries} tries in {reduction.seconds:.0f} s"
            + ("" if reduction.is_complete else "; the time limit ended it")
        )
    )
    if reduction.runs:
        print(f"The script failed in the same way {reduction.confirmed} of {reduction.runs} times.")
    if reduction.note:
        print(printable(f"Note: {reduction.note}."))
    print("Files:", *(printable(str(file)) for file in reduction.files))
