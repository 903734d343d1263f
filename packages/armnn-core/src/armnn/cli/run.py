# SPDX-License-Identifier: MIT
"""``armnn run``: runs a model, shows its results and times."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn._installing import FAST, REFERENCE
from armnn._load_times import imported_before
from armnn.cli.comparing import comparisons
from armnn.cli.input_sets import input_sets
from armnn.cli.inputs import Feed, make_feeds
from armnn.cli.measuring import Latency, measure
from armnn.cli.model_options import (
    add_model_arguments,
    backend_options,
    layer_backends,
    opened_runtime,
    parser_options,
)
from armnn.cli.open_shapes import explaining_open_shapes
from armnn.cli.optimizer_options import add_optimizer_arguments, optimizer_options
from armnn.cli.output import print_json, printable, progress
from armnn.cli.profiles import recorder_of, times_of, write_profiles
from armnn.cli.results import Labels, check_labels, class_counts, labels_in_metadata, read_labels
from armnn.cli.run_files import check_writable, output_files, write_outputs
from armnn.cli.run_options import add_run_arguments, input_options
from armnn.cli.run_result import RunResult, SetResult
from armnn.errors import InvalidArgumentError
from armnn.parsing import parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.debugging import Comparison
    from armnn.graph import Network
    from armnn.profiling import Recorder
    from armnn.runtime import LoadedNetwork, Runtime

_EXAMPLES = f"""\
examples:
  armnn run model.onnx --input x=cat.png --labels classes.txt
  armnn run model.onnx --input ids=ids.npy --input mask=zeros --output scores=scores.npy
  armnn run model.tflite --input picture.png --report
  armnn run model.onnx --input audio=clip.npy --input sampling_rate=16000
  armnn run model.onnx --backends {FAST},{REFERENCE} --report --iterations 20 --profile trace.json
  armnn run model.onnx --input x=pictures --compare-with onnxruntime
  armnn run model.onnx --backends {FAST} --compare-output-with-backend {REFERENCE}
  armnn run model.onnx --backends Acme,{REFERENCE} --min-part 3 --report
  armnn run model.onnx --backends Acme,{REFERENCE} --isolate Acme
  armnn run model.onnx --reduce-fp32-to-fp16 --report --print-intermediate-layers
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn run``."""
    parser = subparsers.add_parser(
        "run",
        help=summary,
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

    Return the exit status: 1 if an output differs from what it is compared with, or a run takes
    too long.

    Raises:
        ArmnnError: The model, a backend, an input or an option is not usable.
    """
    if arguments.serialize_to is not None:
        return _serialize(arguments)
    labels = None if arguments.labels is None else read_labels(Path(arguments.labels))
    recorder = recorder_of(arguments)
    if arguments.import_inputs_if_aligned and (recorder or arguments.concurrent > 1):
        raise InvalidArgumentError(
            "--import-inputs-if-aligned is for one thread without profile: leave out --concurrent, "
            "--profile and --event-based-profiling"
        )
    started = max(0.0, time.process_time() - imported_before())
    with opened_runtime(arguments) as runtime:
        start = time.perf_counter()
        with progress(f"Loading {arguments.model}"):
            loaded = _load(runtime, arguments, recorder)
        load_seconds = time.perf_counter() - start
        with progress("Preparing inputs"):
            sets = [
                make_feeds(loaded.inputs, options, loaded.metadata, loaded.prepare)
                for options in input_sets(input_options(arguments))
            ]
        files = output_files(arguments.output, loaded, len(sets))
        times = _times(started, loaded, sets[0]) if arguments.times else None
        outputs, latency, profiled = _measured(loaded, sets, arguments, recorder)
        compared = _compared(runtime, loaded, sets, outputs, arguments)
        result = RunResult(
            model=arguments.model,
            load_seconds=load_seconds,
            sets=tuple(
                SetResult(tuple(feeds), None if arguments.no_print_output else made, tuple(rows))
                for feeds, made, rows in zip(sets, outputs, compared, strict=True)
            ),
            output_infos=loaded.outputs,
            labels=_labels(labels, loaded, outputs[0]),
            top_k=arguments.top_k,
            latency=latency,
            profiled=profiled,
            report=loaded.report,
            planned=loaded.planned_report,
            faults=loaded.faults,
            show_report=arguments.report or arguments.report_all,
            all_layers=arguments.report_all,
            peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            files=write_outputs(files, outputs, loaded, as_real_values=arguments.dequantize_output)
            | _profiles(runtime, sets[0], arguments, recorder),
            layer_times=times_of(arguments, recorder, loaded.report),
            times=times,
        )
    if arguments.json:
        print_json(result.as_dict())
    else:
        result.show()
    return 0 if result.is_good else 1


def _times(started: float, loaded: LoadedNetwork, feeds: Sequence[Feed]) -> dict[str, float]:
    """Return the seconds of each stage, the first run included."""
    with progress("Running once"), explaining_open_shapes(feeds):
        loaded.run(_arrays(feeds))
    return {"start of the process": started, **loaded.load_times}


def _serialize(arguments: argparse.Namespace) -> int:
    """Write the model as an .armnn file; return 0."""
    path = Path(arguments.serialize_to)
    if path.suffix != ".armnn":
        raise InvalidArgumentError(
            f"--serialize-to got {str(path)!r}, expected a file ending in .armnn"
        )
    check_writable("--serialize-to", path)
    with progress(f"Reading {arguments.model}"):
        network = parse(arguments.model, parser_options=parser_options(arguments))
    from armnn.storage.armnn_files import save  # late: few runs write one

    with progress(f"Writing {path}"):
        save(network, path)
    if arguments.json:
        print_json({"model": arguments.model, "files": {"network": str(path)}})
    else:
        print(printable(f"Wrote network to {path}"))
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


def _measured(
    loaded: LoadedNetwork,
    sets: Sequence[Sequence[Feed]],
    arguments: argparse.Namespace,
    recorder: Recorder | None,
) -> tuple[list[dict[str, NDArray[Any]]], Latency, Latency | None]:
    options = optimizer_options(arguments)
    is_quiet = not (options["debug"] or options["debug_to_file"])  # else each run shows tensors
    warmup = int(is_quiet) if arguments.warmup is None else arguments.warmup
    with explaining_open_shapes(sets[0]):
        return measure(
            loaded,
            [_arrays(feeds) for feeds in sets],
            warmup=warmup,
            iterations=arguments.iterations,
            threads=arguments.concurrent,
            limit_ms=arguments.threshold_time,
            profiler=recorder,
            runs_plain=is_quiet,
            import_inputs=arguments.import_inputs_if_aligned,
        )


def _compared(
    runtime: Runtime,
    loaded: LoadedNetwork,
    sets: Sequence[Sequence[Feed]],
    outputs: Sequence[Mapping[str, NDArray[Any]]],
    arguments: argparse.Namespace,
) -> list[list[Comparison]]:
    def load_on(backends: Sequence[str]) -> LoadedNetwork:
        return runtime.load_model(
            arguments.model, backends, parser_options=parser_options(arguments)
        )

    both = [(_arrays(feeds), made) for feeds, made in zip(sets, outputs, strict=True)]
    return comparisons(arguments, loaded, both, load_on)


def _profiles(
    runtime: Runtime,
    feeds: Sequence[Feed],
    arguments: argparse.Namespace,
    recorder: Recorder | None,
) -> dict[str, str]:
    if recorder is None:
        return {}

    def layers() -> Network:
        """Return the layers that were profiled, before backends replaced them."""
        network = parse(arguments.model, parser_options=parser_options(arguments))
        options = optimizer_options(arguments) | {"debug": False, "debug_to_file": False}
        optimized = runtime.optimize(network, arguments.backends, **options)
        shapes = {feed.name: feed.array.shape for feed in feeds}
        from armnn.optimizer.phases import layers_before_backends  # late: only profiles show them

        return layers_before_backends(
            network, shapes, optimized.participants, optimized.options
        ).head

    with progress("Writing the profile"):
        return write_profiles(arguments, recorder, layers)


def _arrays(feeds: Sequence[Feed]) -> dict[str, NDArray[Any]]:
    return {feed.name: feed.array for feed in feeds}


def _labels(
    given: Labels | None, loaded: LoadedNetwork, outputs: Mapping[str, NDArray[Any]]
) -> Labels | None:
    counts = class_counts(outputs)
    if given is None:
        return labels_in_metadata(loaded.metadata, list(counts.values()))
    check_labels(given, counts)
    return given
