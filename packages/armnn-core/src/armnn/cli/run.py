# SPDX-License-Identifier: MIT
"""``armnn run``: runs a model, shows its results and times."""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._installing import FAST, REFERENCE
from armnn.cli.inputs import Feed, make_feeds, split_named
from armnn.cli.model_options import (
    add_model_arguments,
    backend_options,
    creation_options,
    layer_backends,
    parser_options,
)
from armnn.cli.open_shapes import explaining_open_shapes
from armnn.cli.optimizer_options import add_optimizer_arguments, optimizer_options
from armnn.cli.output import print_json, progress
from armnn.cli.results import Labels, check_labels, class_counts, labels_in_metadata, read_labels
from armnn.cli.run_options import add_run_arguments, input_options
from armnn.cli.run_result import Latency, RunResult
from armnn.errors import InvalidArgumentError
from armnn.profiling import Recorder, write_chrome_trace
from armnn.runtime import Runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.runtime import LoadedNetwork

_EXAMPLES = f"""\
examples:
  armnn run model.onnx --input x=cat.png --labels classes.txt
  armnn run model.onnx --input ids=ids.npy --input mask=zeros --output scores=scores.npy
  armnn run model.tflite --input picture.png --report
  armnn run model.onnx --input audio=clip.npy --input sampling_rate=16000
  armnn run model.onnx --backends {FAST},{REFERENCE} --report --iterations 20 --profile trace.json
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``armnn run``."""
    parser = subparsers.add_parser(
        "run",
        help="run a model",
        description="Run a model on files or made-up data.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=run)
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    add_run_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run a model as the command line says.

    Return the exit status.

    Raises:
        ArmnnError: The model, a backend, an input or an option is not usable.
    """
    labels = None if arguments.labels is None else read_labels(Path(arguments.labels))
    recorder = None if arguments.profile is None else Recorder()
    if arguments.profile is not None:
        _check_writable("--profile", Path(arguments.profile))
    with Runtime(creation_options(arguments)) as runtime:
        start = time.perf_counter()
        with progress(f"Loading {arguments.model}"):
            loaded = _load(runtime, arguments, recorder)
        load_seconds = time.perf_counter() - start
        targets = _targets(arguments, loaded)
        feeds = make_feeds(loaded.inputs, input_options(arguments), loaded.metadata, loaded.prepare)
        with explaining_open_shapes(feeds):
            outputs, latency = _measure(loaded, feeds, arguments, recorder)
        labels = _labels(labels, loaded, outputs)
        result = RunResult(
            model=arguments.model,
            load_seconds=load_seconds,
            feeds=tuple(feeds),
            output_infos=loaded.outputs,
            outputs=None if arguments.no_print_output else outputs,
            labels=labels,
            top_k=arguments.top_k,
            latency=latency,
            report=loaded.report,
            show_report=arguments.report or arguments.report_all,
            all_layers=arguments.report_all,
            peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            files=_write_files(targets, outputs, arguments.profile, recorder),
        )
    if arguments.json:
        print_json(result.as_dict())
    else:
        result.show()
    return 0


def _load(
    runtime: Runtime, arguments: argparse.Namespace, recorder: Recorder | None
) -> LoadedNetwork:
    return runtime.load_model(
        arguments.model,
        arguments.backends,
        backend_options=backend_options(arguments.option),
        layer_backends=layer_backends(arguments.layer_backend),
        strict=arguments.strict,
        **optimizer_options(arguments),
        profiler=recorder,
        cache_dir=arguments.cache_dir,
        parser_options=parser_options(arguments),
    )


def _measure(
    loaded: LoadedNetwork,
    feeds: list[Feed],
    arguments: argparse.Namespace,
    recorder: Recorder | None,
) -> tuple[dict[str, NDArray[Any]], Latency]:
    """Run the network; return the last outputs and measured times."""
    arrays = {feed.name: feed.array for feed in feeds}
    seconds = []
    outputs: dict[str, NDArray[Any]] = {}
    with progress("Running", arguments.warmup + arguments.iterations) as advance:
        for _ in range(arguments.warmup):
            loaded.run(arrays)
            advance()
        for _ in range(arguments.iterations):
            start = time.perf_counter()
            outputs = loaded.run(arrays, profiler=recorder)
            seconds.append(time.perf_counter() - start)
            advance()
    return outputs, Latency(tuple(seconds), arguments.warmup)


def _labels(
    given: Labels | None, loaded: LoadedNetwork, outputs: Mapping[str, NDArray[Any]]
) -> Labels | None:
    counts = class_counts(outputs)
    if given is None:
        return labels_in_metadata(loaded.metadata, list(counts.values()))
    check_labels(given, counts)
    return given


def _targets(arguments: argparse.Namespace, loaded: LoadedNetwork) -> dict[str, Path]:
    """Return each output's target file, checked to be writable."""
    named = split_named(arguments.output, loaded.outputs, "--output")
    targets = {name: Path(text) for name, text in named.items()}
    for name, path in targets.items():
        if path.suffix != ".npy":
            raise InvalidArgumentError(
                f"--output got {str(path)!r} for {name!r}, expected a file ending in .npy"
            )
        _check_writable("--output", path)
    return targets


def _check_writable(option: str, path: Path) -> None:
    """Raise InvalidArgumentError before a run for unwritable files."""
    place = path if path.exists() else path.parent
    if path.is_dir() or not place.exists() or not os.access(place, os.W_OK):
        raise InvalidArgumentError(
            f"{option} got {str(path)!r}, which cannot be written; expected a file in a folder "
            "that exists and is yours to write"
        )


def _write_files(
    targets: Mapping[str, Path],
    outputs: Mapping[str, NDArray[Any]],
    profile: str | None,
    recorder: Recorder | None,
) -> dict[str, str]:
    """Write the requested files; return their paths by content."""
    written: dict[str, str] = {}
    for name, path in targets.items():
        with _writing(path):
            np.save(path, outputs[name])
        written[f"output {name}"] = str(path)
    if profile is not None and recorder is not None:
        with _writing(Path(profile)):
            write_chrome_trace(recorder.events, profile)
        written["profile"] = profile
    return written


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Say which file could not be written."""
    try:
        yield
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot write {str(path)!r}: {error.strerror or error}"
        ) from error
