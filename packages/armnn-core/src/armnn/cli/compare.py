# SPDX-License-Identifier: MIT
"""``armnn compare``: names the layers that a backend computes wrongly."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from armnn._installing import FAST, REFERENCE
from armnn.cli.arguments import add_command, positive_number
from armnn.cli.model_options import creation_options, parser_options
from armnn.cli.optimizer_options import prepared_as
from armnn.cli.output import print_json, print_table, printable, progress
from armnn.cli.samples import add_sample_arguments, samples_for
from armnn.cli.varying import vary
from armnn.debugging import CompareOptions, Findings, LayerVerdict, compare, find_wrong_pass
from armnn.errors import InvalidArgumentError
from armnn.parsing import parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Network

_EXAMPLES = f"""\
examples:
  armnn compare model.onnx --backends {FAST}
  armnn compare model.onnx --backends GpuAcc,{REFERENCE} --inputs pictures --every-layer
  armnn compare model.tflite --backends {FAST} --samples 3 --json
  armnn compare model.onnx --backends {FAST} --option {FAST}.FastMathEnabled=true
  armnn compare model.onnx --passes
  armnn compare model.onnx --backends {FAST} --vary ARMNN_CPUACC_ISA=avx2,sse2
"""

COLUMNS = ("", "layer", "type", "backend", "verdict", "error", "allowed", "wrong runs", "first")


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn compare``."""
    parser = add_command(
        subparsers,
        "compare",
        summary,
        "Run a model as it is and look where it differs from the reference; then run "
        "each layer there alone, with the reference's inputs. Exits with 1 if a layer is wrong.",
        _EXAMPLES,
        run,
    )
    group = add_sample_arguments(parser, "comparing")
    group.add_argument(
        "--every-layer",
        action="store_true",
        help="run every layer alone, not only where the model differs, and list them all",
    )
    group.add_argument(
        "--repeats",
        type=positive_number,
        default=CompareOptions().repeats,
        metavar="N",
        help="how often the model, and a wrong layer, is run (default: %(default)s)",
    )
    group.add_argument(
        "--passes",
        action="store_true",
        help="name the pass of the optimizer that makes the model wrong, if one does; only the "
        "reference runs",
    )
    group.add_argument(
        "--vary",
        metavar="NAME=VALUE,...",
        help="compare with each value of an environment variable, in a process of its own, as in "
        "ARMNN_CPUACC_ISA=avx2,sse2",
    )
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Compare as the command line says.

    Return the exit status: 1 if a layer is wrong.

    Raises:
        ArmnnError: The model, a backend, an input or an option is not usable.
    """
    if not arguments.backends and not arguments.passes:
        raise InvalidArgumentError(
            f"compare needs the backends to look at: name them, as in --backends {FAST}"
        )
    if arguments.vary is not None and not arguments.passes:
        return vary(arguments)
    with progress(f"Reading {arguments.model}"):
        network = parse(arguments.model, parser_options=parser_options(arguments))
    samples = samples_for(network, arguments)
    if arguments.passes:
        return _show_passes(network, samples, arguments)
    with progress(f"Comparing {arguments.model}"):
        findings = compare(
            network,
            arguments.backends,
            reference=arguments.reference,
            inputs=samples,
            options=prepared_as(arguments),
            creation_options=creation_options(arguments),
            thoroughness=CompareOptions(arguments.every_layer, arguments.repeats),
        )
    if arguments.json:
        print_json({"model": arguments.model, "samples": len(samples), **findings.as_dict()})
    else:
        show(findings, arguments.every_layer)
    return 0 if findings.agrees else 1


def show(findings: Findings, every_layer: bool) -> None:
    """Print the verdicts as a table, and a sentence."""
    first = findings.first
    rows = [
        _row(verdict, verdict is first)
        for verdict in findings.verdicts
        if every_layer or verdict.is_wrong or verdict.note
    ]
    if rows:
        print_table("Layers, in the order of the graph", COLUMNS, rows)
    print(printable(_summary(findings)))


def _show_passes(
    network: Network, samples: Sequence[dict[str, NDArray[Any]]], arguments: argparse.Namespace
) -> int:
    """Print the wrong pass, if any; return 1 then."""
    verdict = find_wrong_pass(
        network,
        reference=arguments.reference,
        inputs=samples,
        creation_options=creation_options(arguments),
    )
    if arguments.json:
        print_json({"model": arguments.model, "agrees": verdict.agrees, **asdict(verdict)})
    elif verdict.agrees:
        print(f"No pass makes the model wrong: {verdict.changes} changes are right.")
    else:
        gone, came = (", ".join(each) or "nothing" for each in (verdict.layers, verdict.added))
        print(
            printable(
                f"Wrong: the pass {verdict.name}, change {verdict.number} of {verdict.changes}. "
                f"It takes out {gone}; it puts in {came}; the output {verdict.output!r} has "
                f"{verdict.figures.kind}."
            )
        )
    return 0 if verdict.agrees else 1


def _row(verdict: LayerVerdict, is_first: bool) -> tuple[str, ...]:
    figures = verdict.figures
    unit = figures.unit and f" {figures.unit}"
    place = "" if figures.first is None else str(list(figures.first))
    if figures.first is not None:
        place += f": {figures.got:g}, expected {figures.expected:g}"
    measured = bool(figures.unit)
    return (
        "first" if is_first else "",
        " + ".join(verdict.layers),
        " + ".join(verdict.types),
        verdict.backend,
        verdict.note or str(figures.kind) or "right",
        f"{figures.largest:.3g}{unit}" if measured else "",
        f"{figures.allowed:.3g}" if measured else "",
        f"{verdict.wrong_runs} of {verdict.runs}" if verdict.is_wrong else "",
        place or figures.detail,
    )


def _summary(findings: Findings) -> str:
    wrong, first = findings.wrong, findings.first
    if first is not None:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        named = " + ".join(first.layers)
        rate = " in some runs" if first.is_flaky else ""
        return f"Wrong{rate}: {named} ({' + '.join(first.types)}) on {first.backend}{more}."
    if findings.unexplained:
        count = sum(len(each.layers) for each in findings.unexplained)
        return (
            f"No layer is wrong. The outputs differ by rounding that is right in each of {count} "
            "layers and grows from layer to layer."
        )
    if not findings.verdicts:
        return "No layer is wrong: the model's values agree with the reference's."
    return "No layer is wrong."
