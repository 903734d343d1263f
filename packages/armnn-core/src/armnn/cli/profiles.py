# SPDX-License-Identifier: MIT
"""The profiles of ``armnn run``: options, files, slowest layers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from armnn.cli.output import print_table
from armnn.cli.run_files import check_writable, writing
from armnn.errors import InvalidArgumentError
from armnn.profiling import (
    LayerTime,
    Recorder,
    layer_times,
    write_arm_nn_profile,
    write_chrome_trace,
)

if TYPE_CHECKING:
    from armnn.graph import Network
    from armnn.optimizer import Report

SLOWEST = 10
"""Layers that the table shows one by one."""

COLUMNS = ("layer", "type", "backend", "ms", "share", "multiply-adds", "GFLOP/s")


def add_profile_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options."""
    group.add_argument(
        "--profile",
        nargs="?",
        const="",
        type=_json_file,
        metavar="FILE.json",
        help="show the slowest layers; with a file, write a Chrome trace with an event per phase "
        "and layer (open it in Perfetto)",
    )
    group.add_argument(
        "--event-based-profiling",
        type=_json_file,
        metavar="FILE.json",
        help="write a profile in the structure of Arm NN's profiler",
    )
    group.add_argument(
        "--output-network-details",
        action="store_true",
        help="add the tensors and parameters of each layer to that profile",
    )


def recorder_of(arguments: argparse.Namespace) -> Recorder | None:
    """Return the recorder of the runs, None without a profile.

    Raises:
        InvalidArgumentError: A file cannot be written, or an option lacks the one it adds to.
    """
    wanted = {
        "--profile": arguments.profile,
        "--event-based-profiling": arguments.event_based_profiling,
    }
    if arguments.output_network_details and arguments.event_based_profiling is None:
        raise InvalidArgumentError(
            "--output-network-details adds to the profile of --event-based-profiling FILE.json: "
            "give both"
        )
    for option, name in wanted.items():
        if name:
            check_writable(option, Path(name))
    return None if all(name is None for name in wanted.values()) else Recorder()


def write_profiles(
    arguments: argparse.Namespace, recorder: Recorder, network: Callable[[], Network]
) -> dict[str, str]:
    """Write the requested files; return their paths by content.

    Args:
        arguments: The options.
        recorder: What was recorded.
        network: Returns the layers to describe.
    """
    written: dict[str, str] = {}
    if arguments.profile:
        with writing(Path(arguments.profile)):
            write_chrome_trace(recorder.events, arguments.profile)
        written["profile"] = arguments.profile
    if arguments.event_based_profiling is not None:
        described = network() if arguments.output_network_details else None
        with writing(Path(arguments.event_based_profiling)):
            write_arm_nn_profile(recorder.events, arguments.event_based_profiling, described)
        written["Arm NN profile"] = arguments.event_based_profiling
    return written


def times_of(
    arguments: argparse.Namespace, recorder: Recorder | None, report: Report
) -> list[LayerTime] | None:
    """Return the layers' times, None if not asked for."""
    if arguments.profile is None or recorder is None:
        return None
    return layer_times(recorder.events, report)


def show_slowest(times: Sequence[LayerTime]) -> None:
    """Print the slowest layers, and the others in one row."""
    rows: list[tuple[str, ...]] = [_row(time) for time in times[:SLOWEST]]
    others = times[SLOWEST:]
    if others:
        spent, share = (sum(getattr(t, name) for t in others) for name in ("milliseconds", "share"))
        rows.append((f"{len(others)} others", "", "", f"{spent:.3f}", f"{share:.1%}", "", ""))
    columns: Sequence[str] = COLUMNS
    if any(time.predicted_milliseconds is not None for time in times):
        told = [*map(_predicted, times[:SLOWEST]), ""]
        rows = [(*row, expected) for row, expected in zip(rows, told, strict=False)]
        columns = (*COLUMNS, "predicted ms")
    print_table("Slowest layers", columns, rows)


def _predicted(time: LayerTime) -> str:
    expected = time.predicted_milliseconds
    return "" if expected is None else f"{expected:.3f}"


def _row(time: LayerTime) -> tuple[str, ...]:
    return (
        time.layer,
        time.type,
        time.backend,
        f"{time.milliseconds:.3f}",
        f"{time.share:.1%}",
        "unknown" if time.multiply_adds is None else f"{time.multiply_adds:,}",
        "" if time.gflops is None else f"{time.gflops:.2f}",
    )


def _json_file(text: str) -> str:
    if text and not text.endswith(".json"):
        raise argparse.ArgumentTypeError(
            f"got {text!r}, expected a file ending in .json (the model stands before the option)"
        )
    return text
