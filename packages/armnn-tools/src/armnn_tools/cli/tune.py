# SPDX-License-Identifier: MIT
"""``armnn tune``: measures choices of backends, or the machine.

A distribution takes part in ``armnn tune --machine`` with an entry point of the group
``armnn.tuners``: its name is the id of a backend, its value a function without arguments that
measures the machine for it and returns a mapping with

- ``text``: the content of the file that the backend reads,
- ``costs``: the nanoseconds of each unit of work, by its name,
- ``variable``: the environment variable that names such a file, and
- ``kept``: the path that the backend reads without being told; None if there is none.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from armnn.errors import InvalidArgumentError, NotInstalledError
from armnn.installing import BACKENDS, CPU_ACC, CPU_EXTRA, CPU_REF, install_command
from armnn.metadata import entry_points
from armnn.parsing import parse
from armnn.runtime.verdicts import check_verdicts
from armnn_tools.cli.inputs import measured_inputs
from armnn_tools.cli.options import (
    add_command,
    add_data_arguments,
    add_model_arguments,
    add_optimizer_arguments,
    creation_options,
    number,
    parser_options,
    quiet_preparation,
)
from armnn_tools.cli.output import (
    check_writable,
    print_json,
    print_table,
    printable,
    progress,
    stages,
    writing,
)
from armnn_tools.placement import Trial, Verdict, tune, user_verdicts, write_verdict

_EXAMPLES = f"""\
examples:
  armnn tune model.onnx
  armnn tune model.onnx --backends {CPU_ACC},Acme -o model.onnx.verdicts.json
  armnn tune model.tflite --budget 10 --json
  armnn run model.onnx --backends auto --report      (follows the verdict)
  armnn tune --machine                               (what work takes here, for {CPU_ACC})
  armnn tune --machine -o machine.costs              (... in a file of that name)
"""

_COLUMNS = ("backends", "us a run", "of the best", "at borders", "load s", "verdict")

_TUNERS = "armnn.tuners"


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn tune``."""
    parser = add_command(
        subparsers,
        "tune",
        summary,
        "Measure every backend alone and every order of preference that places the "
        "layers differently, each in a process of its own, and keep the fastest one that is right. "
        "It is what --backends auto uses on this machine from then on. With --machine measure the "
        "costs of the machine instead, by which a backend chooses between kernels.",
        _EXAMPLES,
        run,
    )
    parser.set_defaults(misused=parser.error)
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
    """Measure as the command line says; return 0.

    Raises:
        ArmnnError: The model, a backend, an input or an option is not usable, or no choice of
            backends is right.
    """
    if arguments.machine == (arguments.model is not None):
        arguments.misused("expected either MODEL or --machine")
    if arguments.machine:
        return _tune_machine(arguments)
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
        verdict = tune(
            arguments.model,
            arguments.backends,
            budget=arguments.budget,
            inputs=measured_inputs(network, arguments),
            options=quiet_preparation(arguments),
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
    print_table("Choices of backends, measured as wholes", _COLUMNS, rows)
    print(printable(f"Wrote the verdict to {file}; --backends auto follows it."))
    if verdict.chosen.backends == (CPU_REF,):
        print(f"{CPU_REF} is right, but not fast; {CPU_ACC} is both: {install_command(CPU_EXTRA)}")


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


def _tune_machine(arguments: argparse.Namespace) -> int:
    """Measure the costs of the machine, keep and print them; return 0.

    Raises:
        NotInstalledError: No installed backend can be tuned.
        InvalidArgumentError: The backend cannot be tuned, or the file cannot be written.
    """
    if arguments.output is not None:
        check_writable("--output", Path(arguments.output))
    backend, measured = _measured_costs(arguments.backends)
    kept = arguments.output or measured["kept"]
    if kept is None:
        raise InvalidArgumentError(
            "this process has the rights of another user, whose costs it does not touch: name a "
            "file, as in -o machine.costs"
        )
    file = Path(kept)
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(measured["text"], encoding="utf-8")
    if arguments.json:
        print_json({"backend": backend, "file": str(file), "costs": dict(measured["costs"])})
        return 0
    rows = [(unit, f"{ns:.3g}") for unit, ns in measured["costs"].items()]
    print_table(f"Costs of {backend} on this machine", ("unit of work", "ns"), rows)
    use = f"{backend} uses it from now on" if arguments.output is None else ""
    use = use or f"{measured['variable']}={arguments.output} makes {backend} use it"
    print(printable(f"Wrote {file}; {use}."))
    return 0


def _measured_costs(wanted: list[str] | None) -> tuple[str, Mapping[str, Any]]:
    """Return the id of the backend to tune, and the measurements of its tuner."""
    tuners = {entry.name: entry for entry in entry_points(_TUNERS)}
    if not tuners:
        command = install_command(BACKENDS[CPU_ACC])
        raise NotInstalledError(f"no installed backend can be tuned; {CPU_ACC} can: {command}")
    names = wanted or list(tuners)
    if len(names) > 1:
        raise InvalidArgumentError(
            f"several backends can be tuned: name one of {', '.join(sorted(tuners))} by --backends"
        )
    if names[0] not in tuners:
        raise InvalidArgumentError(
            f"backend {names[0]!r} cannot be tuned: expected {' or '.join(sorted(tuners))}"
        )
    measure = tuners[names[0]].load()
    with progress(f"Measuring for {names[0]}"):
        return names[0], measure()
