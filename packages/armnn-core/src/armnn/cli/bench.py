# SPDX-License-Identifier: MIT
"""``armnn bench``: measures a model, and other runtimes beside it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from armnn._installing import FAST
from armnn.benchmarking import PEERS, Measurement, bench
from armnn.benchmarking.measuring import check_plot, write_plot
from armnn.cli.arguments import add_command, natural_number, number, positive_number
from armnn.cli.inputs import InputOptions, make_feeds
from armnn.cli.model_options import (
    add_model_arguments,
    creation_options,
    parser_options,
)
from armnn.cli.optimizer_options import add_optimizer_arguments, prepared_as
from armnn.cli.output import print_json, print_table, printable, stages
from armnn.cli.run_files import check_writable
from armnn.cli.run_options import add_data_arguments
from armnn.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXAMPLES = f"""\
examples:
  armnn bench model.onnx
  armnn bench model.onnx --against onnxruntime,openvino --threads 1
  armnn bench model.tflite --against litert --streams 4 --plot times.svg
  armnn bench model.onnx --backends {FAST} --shape x=8x3x224x224 --duration 10 --json
"""

COLUMNS = ("runtime", "p50 ms", "p90 ms", "p99 ms", "of ours", "runs/s", "load ms", "first ms", "")


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn bench``."""
    parser = add_command(
        subparsers,
        "bench",
        summary,
        "Run a model for some seconds, each runtime in a process of its own, in turns, and "
        "show percentiles of the latency and the throughput.",
        _EXAMPLES,
        run,
    )
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    group = parser.add_argument_group("measuring")
    group.add_argument(
        "--against",
        type=lambda text: text.split(","),
        default=[],
        metavar="NAME,...",
        help=f"other runtimes that are installed: {', '.join(PEERS)}",
    )
    group.add_argument(
        "--duration",
        type=number,
        default=3.0,
        metavar="S",
        help="seconds that each runtime runs (default: %(default)s)",
    )
    group.add_argument(
        "--threads",
        type=natural_number,
        default=0,
        metavar="N",
        help="threads of one run, for each runtime and backend that can be told (default: its own "
        "choice)",
    )
    group.add_argument(
        "--streams",
        type=positive_number,
        default=1,
        metavar="N",
        help="runs at the same time (default: 1)",
    )
    add_data_arguments(group)
    group.add_argument(
        "--plot", metavar="FILE.svg", help="write a picture of the latencies (needs matplotlib)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Measure as the command line says; return the exit status.

    It is 1 if armnn failed.

    Raises:
        ArmnnError: The model, an input or an option is not usable.
    """
    if arguments.plot:
        check_plot(arguments.plot)
        check_writable("--plot", Path(arguments.plot))
    parsing = parser_options(arguments)
    with stages(f"Reading {arguments.model}") as tell:
        network = parse(arguments.model, parser_options=parsing)
        infos = {layer.name: layer.output.info for layer in network.inputs}
        wanted = InputOptions(
            arguments.input,
            arguments.shape,
            arguments.seed,
            quantize=arguments.quantize_input,
        )
        feeds = make_feeds(infos, wanted, network.metadata)
        arrays = {feed.name: feed.array for feed in feeds}
        measured = bench(
            arguments.model,
            arguments.backends,
            inputs=[arrays[name] for name in infos],
            against=arguments.against,
            seconds=arguments.duration,
            threads=arguments.threads,
            streams=arguments.streams,
            options=prepared_as(arguments),
            creation_options=creation_options(arguments),
            parser_options=parsing,
            tell=tell,
        )
    if arguments.json:
        print_json(
            {
                "model": arguments.model,
                "threads": arguments.threads,
                "streams": arguments.streams,
                "runtimes": [each.as_dict() for each in measured],
            }
        )
    else:
        _show(measured, _title(arguments))
    if arguments.plot:
        write_plot(arguments.plot, _title(arguments), measured)
    return 1 if measured[0].fault else 0


def _title(arguments: argparse.Namespace) -> str:
    threads = arguments.threads or "each runtime's own"
    return printable(f"{arguments.model}, threads: {threads}, at once: {arguments.streams}")


def _show(measured: Sequence[Measurement], title: str) -> None:
    ours = measured[0]
    rows = []
    for each in measured:
        if each.fault:
            rows.append((each.name, *[""] * (len(COLUMNS) - 2), each.fault))
            continue
        ratio = "" if ours.fault else f"{each.percentile(50) / ours.percentile(50):.2f}"
        rows.append(
            (
                each.name,
                *(f"{each.percentile(percent):.3f}" for percent in (50, 90, 99)),
                ratio,
                f"{each.runs_per_second:.1f}",
                f"{each.load_seconds * 1e3:.0f}",
                f"{each.first_ms:.1f}",
                "",
            )
        )
    print_table(title, COLUMNS, rows)
