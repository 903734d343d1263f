# SPDX-License-Identifier: MIT
"""``armnn compare``: names the layers that a backend computes wrongly."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn._installing import FAST, REFERENCE
from armnn.cli.arguments import natural_number, positive_number
from armnn.cli.inputs import ARRAY_SUFFIXES, InputOptions, make_feeds
from armnn.cli.model_options import (
    add_model_arguments,
    backend_options,
    creation_options,
    layer_backends,
    parser_options,
)
from armnn.cli.optimizer_options import add_optimizer_arguments, optimizer_options
from armnn.cli.output import print_json, print_table, printable, progress
from armnn.cli.pictures import PICTURE_SUFFIXES
from armnn.cli.run_options import add_shape_argument
from armnn.cli.varying import vary
from armnn.debugging import CompareOptions, Findings, LayerVerdict, compare, find_wrong_pass
from armnn.errors import InvalidArgumentError
from armnn.optimizer.options import OptimizerOptions
from armnn.parsing import parse
from armnn.runtime import Runtime

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
    parser = subparsers.add_parser(
        "compare",
        help=summary,
        description="Run a model as it is and look where it differs from the reference; then run "
        "each layer there alone, with the reference's inputs. Exits with 1 if a layer is wrong.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=run)
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    group = parser.add_argument_group("comparing")
    group.add_argument(
        "--reference",
        metavar="ID",
        default=REFERENCE,
        help="the backend that defines what is right (default: %(default)s)",
    )
    group.add_argument(
        "--inputs",
        metavar="DIR",
        default="random",
        help="a folder with a file for each sample, .npz with an array per input or, for one "
        "input, .npy or a picture; or the word random (default: %(default)s)",
    )
    group.add_argument(
        "--samples",
        type=positive_number,
        default=1,
        metavar="N",
        help="how many random samples (default: %(default)s)",
    )
    group.add_argument(
        "--seed", type=natural_number, default=0, metavar="N", help="of random data (default: 0)"
    )
    add_shape_argument(group)
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
    options = OptimizerOptions(
        **{**optimizer_options(arguments), "debug": False, "debug_to_file": False},
        model_options=backend_options(arguments.option),
        layer_backends=layer_backends(arguments.layer_backend),
        strict=arguments.strict,
    )
    samples = _samples(network, arguments)
    if arguments.passes:
        return _show_passes(network, samples, arguments)
    with progress(f"Comparing {arguments.model}"):
        findings = compare(
            network,
            arguments.backends,
            reference=arguments.reference,
            inputs=samples,
            options=options,
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


def _samples(network: Network, arguments: argparse.Namespace) -> list[dict[str, NDArray[Any]]]:
    base = InputOptions(shapes=arguments.shape, seed=arguments.seed)
    if arguments.inputs == "random":
        wanted = [replace(base, seed=arguments.seed + at) for at in range(arguments.samples)]
    else:
        wanted = [replace(base, sources=[str(file)]) for file in _files(Path(arguments.inputs))]
    infos = {layer.name: layer.output.info for layer in network.inputs}
    with Runtime(creation_options(arguments)) as runtime:
        loaded = None
        if not all(info.is_static for info in infos.values()):
            loaded = runtime.load_model(network, [arguments.reference])
        check = None if loaded is None else loaded.prepare
        return [
            {feed.name: feed.array for feed in make_feeds(infos, options, network.metadata, check)}
            for options in wanted
        ]


def _files(folder: Path) -> Sequence[Path]:
    suffixes = ARRAY_SUFFIXES + PICTURE_SUFFIXES
    if not folder.is_dir():
        raise InvalidArgumentError(
            f"--inputs got {str(folder)!r}, expected a folder with a file per sample, or random"
        )
    found = sorted(each for each in folder.iterdir() if each.suffix.lower() in suffixes)
    if not found:
        raise InvalidArgumentError(
            f"--inputs got the folder {str(folder)!r}, which has no file ending in "
            f"{', '.join(suffixes)}"
        )
    return found
