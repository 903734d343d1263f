# SPDX-License-Identifier: MIT
"""``armnn compare``: names the layers that a backend computes wrongly."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError
from armnn.graph import Network
from armnn.installing import CPU_ACC, CPU_REF, import_companion
from armnn.parsing import parse
from armnn_backend_api.processes import Bounds, Program, run
from armnn_tools.cli.inputs import add_sample_arguments, samples_for
from armnn_tools.cli.options import (
    add_command,
    backend_options,
    creation_options,
    layer_backends,
    opened_runtime,
    parser_options,
    positive_number,
    quiet_preparation,
)
from armnn_tools.cli.output import print_json, print_table, printable, progress, told_apart
from armnn_tools.debugging import (
    CompareOptions,
    Findings,
    LayerFinding,
    compare,
    compare_with_tool,
    find_wrong_pass,
)
from armnn_tools.debugging.other_runtimes import first_states, runtime_of

_EXAMPLES = f"""\
examples:
  armnn compare model.onnx --backends {CPU_ACC}
  armnn compare model.onnx --backends GpuAcc,{CPU_REF} --inputs pictures --every-layer
  armnn compare model.tflite --backends {CPU_ACC} --samples 3 --json
  armnn compare model.onnx --backends {CPU_ACC} --option {CPU_ACC}.FastMathEnabled=true
  armnn compare SmolLM2 --backends {CPU_ACC} --prompt "The capital of France is"
  armnn compare model.onnx --tools
  armnn compare model.onnx --passes
  armnn compare model.onnx --backends {CPU_ACC} --vary ARMNN_CPUACC_ISA=avx2,sse2
"""

_COLUMNS = ("", "layer", "type", "backend", "verdict", "error", "allowed", "wrong runs", "first")

_VARY_SECONDS = 3600.0
"""How long the comparison with one value of --vary may take."""


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
        compare_model,
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
        "--tools",
        action="store_true",
        help="compare the reference's layers with those of onnxruntime (.onnx) or LiteRT "
        "(.tflite), by name: does the model's own runtime agree? Works without --backends",
    )
    group.add_argument(
        "--vary",
        metavar="NAME=VALUE,...",
        help="compare with each value of an environment variable, in a process of its own, as in "
        "ARMNN_CPUACC_ISA=avx2,sse2",
    )
    text = parser.add_argument_group("the folder of a language model in the place of MODEL")
    text.add_argument(
        "-p", "--prompt", metavar="TEXT", help="generate text, and name the first different token"
    )
    text.add_argument(
        "--max-tokens",
        type=positive_number,
        default=32,
        metavar="N",
        help="compare so many tokens at most (default: %(default)s)",
    )
    text.add_argument("--file", metavar="NAME", help="its ONNX file, where there are several")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def compare_model(arguments: argparse.Namespace) -> int:
    """Compare as the command line says.

    Return the exit status: 1 if a layer is wrong.

    Raises:
        ArmnnError: The model, a backend, an input or an option is not usable.
    """
    _check(arguments)
    if arguments.vary is not None:
        return _vary(arguments)
    text = _compared_text(arguments) if Path(arguments.model).is_dir() else None
    if text is not None:
        arguments.model = str(text.model)
    with progress(f"Reading {arguments.model}"):
        network = parse(arguments.model, parser_options=parser_options(arguments))
    samples = samples_for(network, arguments) if text is None else [text.inputs]
    if arguments.passes:
        return _show_passes(network, samples, arguments)
    if arguments.tools and arguments.inputs == "random":
        first = first_states(network)
        samples = [{**sample, **first} for sample in samples]
    tool = _compared_with_tool(samples, arguments) if arguments.tools else None
    network.clear()  # the weights are read again when they are needed
    findings = _compared(samples, arguments) if arguments.backends else None
    if arguments.json:
        # Without backends it is the runtime that is compared, and 'armnn view' draws that.
        chosen = findings or tool
        found = {} if chosen is None else chosen.as_dict()
        by_tool = {} if tool is None else {"tools": {_name(arguments): tool.as_dict()}}
        told = {} if text is None else {"text": text.as_dict()}
        print_json({"model": arguments.model, "samples": len(samples), **found, **by_tool, **told})
    else:
        if text is not None:
            print(printable(str(text)))
        if tool is not None:
            _show_tool(tool, _name(arguments), arguments)
        if findings is not None:
            _show(findings, arguments.every_layer, tool)
    return 0 if all(each is None or each.agrees for each in (findings, tool, text)) else 1


def _compared_text(arguments: argparse.Namespace) -> Any:
    """Return the findings of generating text on the backends and on the reference."""
    if not (arguments.prompt and arguments.backends):
        raise InvalidArgumentError(
            f"{arguments.model!r} is a folder: give --prompt, to compare a language model's text, "
            "and --backends; or the file of a model"
        )
    module = import_companion("armnn_generate", "comparison", "comparing generated text")
    with progress(f"Generating text with {arguments.model}"), opened_runtime(arguments) as runtime:
        return module.compare_text(
            arguments.model,
            arguments.backends,
            arguments.prompt,
            reference=[arguments.reference],
            max_tokens=arguments.max_tokens,
            file=arguments.file,
            runtime=runtime,
            backend_options=backend_options(arguments.option),
            layer_backends=layer_backends(arguments.layer_backend),
        )


def _check(arguments: argparse.Namespace) -> None:
    """Raise InvalidArgumentError for options that exclude each other."""
    if not (arguments.backends or arguments.passes or arguments.tools):
        raise InvalidArgumentError(
            f"compare needs the backends to look at: name them, as in --backends {CPU_ACC}"
        )
    alone = {"--passes": arguments.passes, "--tools": arguments.tools, "--vary": arguments.vary}
    given = [name for name, value in alone.items() if value]
    if len(given) > 1:
        raise InvalidArgumentError(
            f"{' and '.join(given)} answer questions of their own: give one of them"
        )
    if arguments.tools and parser_options(arguments):
        raise InvalidArgumentError(
            "--tools compares a whole file by its suffix: choose no format, signature or subgraph"
        )


def _compared(
    samples: Sequence[dict[str, NDArray[Any]]], arguments: argparse.Namespace
) -> Findings:
    with progress(f"Comparing {arguments.model}"):
        return compare(
            arguments.model,
            arguments.backends,
            reference=arguments.reference,
            inputs=samples,
            options=quiet_preparation(arguments),
            creation_options=creation_options(arguments),
            thoroughness=CompareOptions(arguments.every_layer, arguments.repeats),
            parser_options=parser_options(arguments),
        )


def _compared_with_tool(
    samples: Sequence[dict[str, NDArray[Any]]], arguments: argparse.Namespace
) -> Findings:
    with progress(f"Running {arguments.model} elsewhere"):
        return compare_with_tool(
            arguments.model,
            reference=arguments.reference,
            inputs=samples,
            creation_options=creation_options(arguments),
        )


def _name(arguments: argparse.Namespace) -> str:
    return runtime_of(Path(arguments.model))


def _show(findings: Findings, every_layer: bool, tool: Findings | None = None) -> None:
    """Print the findings as a table, and a sentence that sums them up.

    Args:
        findings: The findings of the comparison.
        every_layer: Whether layers that are right are listed, too.
        tool: The findings on the reference's layers by the model's own runtime.
    """
    first = findings.first
    listed = [v for v in findings.by_layer if every_layer or v.is_wrong or v.note]
    rows = [_row(finding, finding is first) for finding in listed]
    columns: tuple[str, ...] = _COLUMNS
    if tool is not None:
        columns = (*_COLUMNS, "reference")
        pairs = zip(rows, listed, strict=True)
        rows = [(*row, _confirmed(finding, tool)) for row, finding in pairs]
    if rows:
        print_table("Layers, in the order of the graph", columns, rows)
    print(printable(_summary(findings)))


def _confirmed(finding: LayerFinding, tool: Findings) -> str:
    """Return a phrase on whether another runtime confirms the reference of a layer."""
    found = [each for each in tool.by_layer if each.layers[-1] in finding.layers]
    if not found:
        return "not named elsewhere"
    named = found[0].backend
    return f"{named} differs" if any(e.is_wrong for e in found) else f"{named} agrees"


def _show_tool(findings: Findings, name: str, arguments: argparse.Namespace) -> None:
    """Print the layers in which the reference and the model's own runtime differ."""
    wrong, compared = findings.wrong, len(findings.by_layer)
    listed = [v for v in findings.by_layer if arguments.every_layer or v.is_wrong]
    if listed:
        rows = [_row(finding, finding is findings.first) for finding in listed]
        print_table(f"{name} beside {arguments.reference}", _COLUMNS, rows)
    layers = "layer that has" if compared == 1 else "layers that have"
    outcome = f"differ in {len(wrong)}" if wrong else "agree in all"
    print(f"{name} and {arguments.reference} {outcome} of {compared} {layers} a name in the file.")


def _show_passes(
    network: Network, samples: Sequence[dict[str, NDArray[Any]]], arguments: argparse.Namespace
) -> int:
    """Print the pass that makes the model wrong; return 1 if there is one, else 0."""
    with progress(f"Looking for a wrong pass in {arguments.model}"):
        finding = find_wrong_pass(
            network,
            reference=arguments.reference,
            inputs=samples,
            creation_options=creation_options(arguments),
        )
    if arguments.json:
        print_json({"model": arguments.model, "agrees": finding.agrees, **asdict(finding)})
    elif finding.agrees:
        print(f"No pass makes the model wrong: {finding.changes} changes are right.")
    else:
        gone, came = (", ".join(each) or "nothing" for each in (finding.layers, finding.added))
        print(
            printable(
                f"Wrong: the pass {finding.name}, change {finding.number} of {finding.changes}. "
                f"It takes out {gone}; it puts in {came}; the output {finding.output!r} has "
                f"{finding.figures.kind}."
            )
        )
    return 0 if finding.agrees else 1


def _row(finding: LayerFinding, is_first: bool) -> tuple[str, ...]:
    figures = finding.figures
    unit = figures.unit and f" {figures.unit}"
    place = "" if figures.first is None else str(list(figures.first))
    if figures.first is not None:
        got, expected = told_apart(figures.got, figures.expected)
        place += f": {got}, expected {expected}"
    measured = bool(figures.unit)
    return (
        "first" if is_first else "",
        " + ".join(finding.layers),
        " + ".join(finding.types),
        finding.backend,
        finding.note or str(figures.kind) or "right",
        f"{figures.largest:.3g}{unit}" if measured else "",
        f"{figures.allowed:.3g}" if measured else "",
        f"{finding.wrong_runs} of {finding.runs}" if finding.is_wrong else "",
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
    if not findings.by_layer:
        return "No layer is wrong: the model's values agree with the reference's."
    return "No layer is wrong."


def _vary(arguments: argparse.Namespace) -> int:
    """Compare with each value of an environment variable; return 1 if a layer is wrong with one.

    Each comparison has a process of its own, as libraries read variables once.

    Raises:
        InvalidArgumentError: The value of ``--vary`` is not NAME=VALUE,...
    """
    name, values = _split_variable(arguments.vary)
    found = {}
    with progress(f"Comparing for each {name}", len(values)) as advance:
        for value in values:
            found[value] = _compared_with_value(arguments, name, value)
            advance()
    if arguments.json:
        print_json({"model": arguments.model, "variable": name, "values": found})
    else:
        rows = [
            (value, _finding_with_value(each), _wrong_layers(each)) for value, each in found.items()
        ]
        print_table(f"Wrong layers by {name}", (name, "verdict", "layers"), rows)
    return 0 if all(each.get("agrees") for each in found.values()) else 1


def _split_variable(text: str) -> tuple[str, Sequence[str]]:
    name, equals, listed = text.partition("=")
    values = list(dict.fromkeys(each for each in listed.split(",") if each))
    if not equals or not name or not values:
        raise InvalidArgumentError(
            f"--vary got {text!r}, expected NAME=VALUE,... as in OMP_NUM_THREADS=1,2"
        )
    return name, values


def _compared_with_value(arguments: argparse.Namespace, name: str, value: str) -> dict[str, Any]:
    """Return the JSON object of a comparison, or the error that ended it."""
    command = [sys.executable, "-m", "armnn", *_without_vary(arguments.words), "--json"]
    ending = run(
        Program(command), Bounds(seconds=_VARY_SECONDS), environment={**os.environ, name: value}
    )
    try:
        found: dict[str, Any] = json.loads(ending.output)
        if "error" in found:
            return {"agrees": False, "error": found["error"]["message"]}
    except ValueError:
        lines = ending.errors.decode(errors="replace").strip().splitlines() or [str(ending)]
        return {"agrees": False, "error": lines[-1].removeprefix("armnn: error: ")}
    return found


def _without_vary(words: Sequence[str]) -> list[str]:
    """Return a command line without ``--vary``, which may be shortened, and its value."""
    kept: list[str] = []
    left = iter(words)
    for word in left:
        option, equals, _ = word.partition("=")
        if len(option) < len("--v") or not "--vary".startswith(option):
            kept.append(word)
        elif not equals:
            next(left)
    return kept


def _finding_with_value(found: dict[str, Any]) -> str:
    return found.get("error") or ("right" if found["agrees"] else "wrong")


def _wrong_layers(found: dict[str, Any]) -> str:
    wrong = (each for each in found.get("verdicts", ()) if each["wrong"])
    return ", ".join(" + ".join(each["layers"]) for each in wrong)
