# SPDX-License-Identifier: MIT
"""The comparisons of ``armnn run``: options, execution, table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn.cli.arguments import backend_ids, natural_number, number
from armnn.cli.arrays import npz_names, read_npy, read_npz
from armnn.cli.input_sets import texts_of_sets
from armnn.cli.inputs import split_named
from armnn.cli.output import print_table, progress
from armnn.debugging import Comparison, OutputDifference, Tolerance, compare_outputs
from armnn.debugging.other_runtimes import RUNTIMES, run_elsewhere
from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from armnn.runtime import LoadedNetwork

Arrays = Mapping[str, "NDArray[Any]"]

COLUMNS = (
    "output",
    "verdict",
    "largest difference",
    "RMS error",
    "beyond",
    "first",
    "got, expected",
)


def add_comparing_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options."""
    group.description = "The exit code is 1 if an output differs by more than the tolerance."
    group.add_argument(
        "--compare-output",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="compare with a stored output, a .npy or .npz file, or a folder of them for several "
        "sets of inputs (may be repeated; NAME= may be left out if there is one output)",
    )
    group.add_argument(
        "--compare-output-with-backend",
        metavar="ID,...",
        type=backend_ids,
        help="compare with the model on these backends",
    )
    group.add_argument(
        "--compare-with", choices=tuple(RUNTIMES), help="compare with another runtime, if installed"
    )
    group.add_argument(
        "--tolerance",
        type=number,
        default=Tolerance().of_range,
        metavar="X",
        help="how far real outputs may be apart, as a part of the expected output's range "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--step-tolerance",
        type=natural_number,
        default=Tolerance().steps,
        metavar="N",
        help="how far quantised outputs may be apart, in steps (default: %(default)s)",
    )


def comparisons(
    arguments: argparse.Namespace,
    loaded: LoadedNetwork,
    sets: Sequence[tuple[Arrays, Arrays]],
    load_on: Callable[[Sequence[str]], LoadedNetwork],
) -> list[list[Comparison]]:
    """Return the comparisons of each set of inputs.

    Args:
        arguments: The options.
        loaded: The network that ran.
        sets: Inputs and outputs of each set.
        load_on: Loads the model on other backends.

    Raises:
        InvalidArgumentError: A stored output cannot be read, or is of no output.
        ArmnnError: The model does not run on the other backends, or elsewhere.
    """
    tolerance = Tolerance(arguments.tolerance, arguments.step_tolerance)
    stored = texts_of_sets(arguments.compare_output, "--compare-output", len(sets))
    others = arguments.compare_output_with_backend
    other = None
    if others is not None:
        with progress(f"Loading on {', '.join(others)}"):
            other = load_on(others)
    found = []
    for texts, (inputs, outputs) in zip(stored, sets, strict=True):
        expected: dict[str, Arrays] = {}
        if texts:
            expected["stored outputs"] = _stored(texts, loaded)
        if other is not None:
            with progress(f"Running on {', '.join(others)}"):
                expected[", ".join(others)] = other.run(inputs)
        if arguments.compare_with is not None:
            with progress(f"Running {arguments.compare_with}"):
                expected[arguments.compare_with] = run_elsewhere(
                    arguments.compare_with, arguments.model, loaded, inputs
                )
        found.append(
            [
                compare_outputs(outputs, arrays, loaded.outputs, source=name, tolerance=tolerance)
                for name, arrays in expected.items()
            ]
        )
    return found


def show_comparison(comparison: Comparison) -> None:
    """Print a comparison as a table."""
    title = f"Compared with {comparison.source}, within {comparison.tolerance}"
    print_table(title, COLUMNS, [_row(output) for output in comparison.outputs])


def _row(output: OutputDifference) -> tuple[str, ...]:
    if output.problem:
        return (output.name, "differs", output.problem, "", "", "", "")
    far = f"{output.count} of {output.total}" if output.count else ""
    place = "" if output.first is None else str(list(output.first))
    values = "" if output.first is None else f"{output.got:g}, {output.expected:g}"
    return (
        output.name,
        "agrees" if output.agrees else "differs",
        f"{output.largest:.3g} {output.unit}".rstrip(),
        f"{output.rms_error:.3g}",
        far,
        place,
        values,
    )


def _stored(texts: Sequence[str], loaded: LoadedNetwork) -> dict[str, NDArray[Any]]:
    named = list(_with_names(texts, loaded))
    files = split_named(named, loaded.outputs, "--compare-output")
    return {name: _read(name, Path(text)) for name, text in files.items()}


def _with_names(texts: Sequence[str], loaded: LoadedNetwork) -> Iterator[str]:
    """Yield NAME=FILE; a bare .npz serves all outputs in it."""
    for text in texts:
        if text.endswith(".npz") and Path(text).exists() and len(loaded.outputs) > 1:
            yield from (f"{name}={text}" for name in npz_names(Path(text)))
        else:
            yield text


def _read(name: str, path: Path) -> NDArray[Any]:
    if path.suffix not in (".npy", ".npz"):
        raise InvalidArgumentError(
            f"--compare-output got {str(path)!r} for {name!r}, expected a file ending in .npy or "
            ".npz"
        )
    return read_npy(path) if path.suffix == ".npy" else read_npz(path, name)
