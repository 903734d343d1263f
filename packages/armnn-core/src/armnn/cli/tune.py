# SPDX-License-Identifier: MIT
"""``armnn tune``: measures choices of backends, or the machine."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from armnn._installing import FAST, REFERENCE, USUAL, install_command
from armnn.cli.arguments import number
from armnn.cli.inputs import InputOptions, make_feeds
from armnn.cli.model_options import (
    add_model_arguments,
    creation_options,
    parser_options,
)
from armnn.cli.optimizer_options import add_optimizer_arguments, prepared_as
from armnn.cli.output import print_json, print_table, printable, stages
from armnn.cli.run_options import add_data_arguments
from armnn.cli.tune_machine import tune_machine
from armnn.errors import InvalidArgumentError
from armnn.parsing import parse
from armnn.placement import Trial, Verdict, tune, user_verdicts, write_verdict
from armnn.verdicts.files import check_verdicts

_EXAMPLES = f"""\
examples:
  armnn tune model.onnx
  armnn tune model.onnx --backends {FAST},Acme -o model.onnx.verdicts.json
  armnn tune model.tflite --budget 10 --json
  armnn run model.onnx --backends auto --report      (follows the verdict)
  armnn tune --machine                               (what work takes here, for {FAST})
  armnn tune --machine -o machine.costs              (... in a file of that name)
"""

COLUMNS = ("backends", "us a run", "of the best", "at borders", "load s", "verdict")


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn tune``."""
    parser = subparsers.add_parser(
        "tune",
        help=summary,
        description="Measure every backend alone and every order of preference that places the "
        "layers differently, each in a process of its own, and keep the fastest one that is right. "
        "It is what --backends auto uses on this machine from then on. With --machine measure the "
        "costs of the machine instead, by which a backend chooses between kernels.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=run, misused=parser.error)
    add_model_arguments(parser, needs_model=False)
    add_optimizer_arguments(parser)
    group = parser.add_argument_group("measuring")
    group.add_argument(
        "--budget",
        type=number,
        default=30.0,
        metavar="S",
        help="seconds for measuring; the check of the outputs comes on top (default: %(default)s)",
    )
    add_data_arguments(group)
    group.add_argument(
        "--machine",
        action="store_true",
        help="measure what work takes on this machine, in about a second, and keep it for the "
        "backend; nothing else measures or keeps it",
    )
    group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file of verdicts, in which others stay, or of costs (default: the user's own)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Measure as the command line says; return the exit status.

    Raises:
        ArmnnError: The model, a backend, an input or an option is not usable, or no choice of
            backends is right.
    """
    if arguments.machine == (arguments.model is not None):
        arguments.misused("expected either MODEL or --machine")
    if arguments.machine:
        return tune_machine(arguments)
    file = Path(arguments.output) if arguments.output else user_verdicts()
    if file is None:
        raise InvalidArgumentError(
            "this process has the rights of another user, whose verdicts it does not touch: name "
            "a file, as in -o verdicts.json"
        )
    check_verdicts(file)
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
        feeds = make_feeds(infos, wanted, network.metadata, None)
        verdict = tune(
            arguments.model,
            arguments.backends,
            budget=arguments.budget,
            inputs={feed.name: feed.array for feed in feeds},
            options=prepared_as(arguments),
            creation_options=creation_options(arguments),
            parser_options=parsing,
            tell=lambda what: tell(f"Measuring {what}"),
        )
    write_verdict(file, verdict)
    if arguments.json:
        rows = [asdict(each) for each in verdict.trials]
        found = {**verdict.as_dict(), "trials": rows}
        print_json({"model": arguments.model, "file": str(file), **found})
    else:
        _show(verdict, file)
    return 0


def _show(verdict: Verdict, file: Path) -> None:
    best = verdict.chosen.microseconds or 1.0
    rows = [_row(trial, best, trial is verdict.chosen) for trial in verdict.trials]
    print_table("Choices of backends, measured as wholes", COLUMNS, rows)
    print(printable(f"Wrote the verdict to {file}; --backends auto follows it."))
    if verdict.chosen.backends == (REFERENCE,):
        print(f"{REFERENCE} is right, but not fast; {FAST} is both: {install_command(USUAL)}")


def _row(trial: Trial, best: float, is_chosen: bool) -> tuple[str, ...]:
    spent, load = trial.microseconds, trial.load_seconds
    return (
        trial.title,
        "" if spent is None else f"{spent:,.0f}",
        "" if spent is None else f"{spent / best:.2f}",
        f"{trial.border_microseconds:,.0f}" if trial.border_microseconds else "",
        "" if load is None else f"{load:.2f}",
        "chosen" if is_chosen else trial.fault,
    )
