# SPDX-License-Identifier: MIT
"""``armnn bench``: measures a model, and other runtimes beside it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from armnn.installing import CPU_ACC
from armnn.parsing import parse
from armnn_tools.benchmarking import PEERS, Measurement, bench
from armnn_tools.benchmarking.measuring import check_plot, write_plot
from armnn_tools.cli.inputs import measured_inputs
from armnn_tools.cli.options import (
    add_command,
    add_data_arguments,
    add_model_arguments,
    add_optimizer_arguments,
    creation_options,
    number,
    parser_options,
    positive_number,
    quiet_preparation,
)
from armnn_tools.cli.output import check_writable, print_json, print_table, printable, stages

_EXAMPLES = f"""\
examples:
  armnn bench model.onnx
  armnn bench model.onnx --against onnxruntime,openvino --threads 1
  armnn bench model.tflite --against litert --streams 4 --plot times.svg
  armnn bench model.onnx --backends {CPU_ACC} --shape x=8x3x224x224 --duration 10 --json
"""

_COLUMNS = ("runtime", "p50 ms", "p90 ms", "p99 ms", "of ours", "runs/s", "load ms", "first ms", "")


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
    """Measure as the command line says; return 1 if armnn failed, else 0.

    Raises:
        ArmnnError: The model, an input or an option is not usable.
    """
    if arguments.plot:
        check_plot(arguments.plot)
        check_writable("--plot", Path(arguments.plot))
    parsing = parser_options(arguments)
    with stages(f"Reading {arguments.model}") as tell:
        network = parse(arguments.model, parser_options=parsing)
        measured = bench(
            arguments.model,
            arguments.backends,
            inputs=list(measured_inputs(network, arguments).values()),
            against=arguments.against,
            seconds=arguments.duration,
            threads=arguments.threads,
            streams=arguments.streams,
            options=quiet_preparation(arguments),
            creation_options=creation_options(arguments),
            parser_options=parsing,
            tell=tell,
        )
    if arguments.plot:
        write_plot(arguments.plot, _title(arguments), measured)
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
    return 1 if measured[0].fault else 0


def _title(arguments: argparse.Namespace) -> str:
    threads = arguments.threads or "each runtime's own"
    return printable(f"{arguments.model}, threads: {threads}, at once: {arguments.streams}")


def _show(measured: Sequence[Measurement], title: str) -> None:
    ours = measured[0]
    rows = []
    for each in measured:
        if each.fault:
            rows.append((each.name, *[""] * (len(_COLUMNS) - 2), each.fault))
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
    print_table(title, _COLUMNS, rows)
