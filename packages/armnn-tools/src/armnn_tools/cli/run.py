# SPDX-License-Identifier: MIT
"""``armnn run``: runs a model on files or made-up data, measures it and compares its outputs.

What it found out is shown by :mod:`armnn_tools.cli.results`.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import ProfilingSink
from armnn.errors import InvalidArgumentError, MemoryImportError
from armnn.graph import Network
from armnn.installing import CPU_ACC, CPU_REF
from armnn.optimizer.phases import layers_before_backends
from armnn.parsing import parse
from armnn.parsing.exporting import save
from armnn.profiling import (
    PLAIN_RUN,
    Recorder,
    imported_before,
    layer_times,
    write_arm_nn_profile,
    write_chrome_trace,
)
from armnn.runtime import LoadedNetwork, Runtime
from armnn_tools.cli.inputs import (
    Feed,
    InputOptions,
    explaining_open_shapes,
    input_sets,
    make_feeds,
    npz_names,
    read_npy,
    read_npz,
    split_named,
    texts_of_sets,
)
from armnn_tools.cli.options import (
    add_command,
    add_data_arguments,
    add_model_arguments,
    add_optimizer_arguments,
    backend_ids,
    natural_number,
    number,
    opened_runtime,
    optimizer_options,
    parser_options,
    positive_number,
    preparation,
    with_completed_ids,
)
from armnn_tools.cli.output import check_writable, print_json, printable, progress, writing
from armnn_tools.cli.pictures import PictureOptions, Resize
from armnn_tools.cli.results import (
    Labels,
    Latency,
    RunResult,
    SetResult,
    check_labels,
    class_counts,
    labels_in_metadata,
    read_labels,
    real_values,
)
from armnn_tools.debugging import Comparison, Tolerance, compare_outputs
from armnn_tools.debugging.other_runtimes import RUNTIMES, run_elsewhere

_EXAMPLES = f"""\
examples:
  armnn run model.onnx --input x=cat.png --labels classes.txt
  armnn run model.onnx --input ids=ids.npy --input mask=zeros --output scores=scores.npy
  armnn run model.tflite --input picture.png --report
  armnn run model.onnx --input audio=clip.npy --input sampling_rate=16000
  armnn run model.onnx --backends {CPU_ACC},{CPU_REF} --report --iterations 20 --profile trace.json
  armnn run model.onnx --input x=pictures --compare-with onnxruntime
  armnn run model.onnx --backends {CPU_ACC} --compare-output-with-backend {CPU_REF}
  armnn run model.onnx --backends Acme,{CPU_REF} --min-part 3 --report
  armnn run model.onnx --backends Acme,{CPU_REF} --isolate Acme
  armnn run model.onnx --reduce-fp32-to-fp16 --report --print-intermediate-layers
"""

_Run = Callable[[int], dict[str, NDArray[Any]]]
"""A function that runs the network on the set of inputs with a number."""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn run``."""
    description = "Run a model on files or made-up data."
    parser = add_command(subparsers, "run", summary, description, _EXAMPLES, run)
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    add_data_arguments(parser.add_argument_group("inputs"))
    _add_picture_arguments(parser.add_argument_group("pictures"))
    _add_output_arguments(parser.add_argument_group("outputs"))
    _add_comparing_arguments(parser.add_argument_group("comparing"))
    measuring = parser.add_argument_group("measuring")
    _add_measuring_arguments(measuring)
    _add_profile_arguments(measuring)


def _add_picture_arguments(group: argparse._ArgumentGroup) -> None:
    group.description = (
        "A pixel, 0 to 255, becomes (pixel * scale - mean) / std. What is not given is guessed "
        "from the input's shape and type, and the guess is printed."
    )
    group.add_argument("--layout", choices=("nchw", "nhwc"), help="where the channels are")
    group.add_argument(
        "--resize",
        metavar="WxH|shortest:N[+crop]",
        help="stretch to WxH; or scale the shorter side to N, and cut the input's size out of the "
        "middle (default: stretch to the input's size)",
    )
    group.add_argument(
        "--mean", type=_numbers, metavar="M[,M,M]", help="one for all channels, or one each"
    )
    group.add_argument("--std", type=_divisors, metavar="S[,S,S]", help="the same")
    group.add_argument(
        "--scale", type=number, metavar="X", help="default: 1/255, none for integer inputs"
    )
    group.add_argument("--color", choices=("rgb", "bgr", "gray"), help="the order of the channels")


def _add_output_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--output",
        metavar="NAME=FILE.npy",
        action="append",
        default=[],
        help="write an output to a file, or of several sets of inputs to files with a number "
        "(may be repeated)",
    )
    group.add_argument(
        "--dequantize-output",
        action="store_true",
        help="write the real values of quantized outputs",
    )
    group.add_argument(
        "--serialize-to",
        metavar="FILE.armnn",
        help="write the model in Arm NN's file format instead of running it",
    )
    group.add_argument(
        "--top-k",
        type=natural_number,
        metavar="N",
        help="show the N best classes (default: 5 if there are labels for them)",
    )
    group.add_argument(
        "--labels", metavar="FILE", help="the names of the classes, one a line (default: from the "
        "model's metadata, if it has them)",
    )  # fmt: skip
    group.add_argument(
        "--no-print-output", action="store_true", help="do not show the outputs' values"
    )
    group.add_argument(
        "--report",
        action="store_true",
        help="show which layers ran on which backend, and why; layers that were compiled together "
        "are one row",
    )
    group.add_argument(
        "--report-all", action="store_true", help="the same with a row for every layer"
    )
    group.add_argument(
        "--times",
        action="store_true",
        help="show what starting, loading and the first run took, stage by stage",
    )
    group.add_argument(
        "--record",
        metavar="FILE.json",
        type=_json_file,
        help="write what ran the model, where and why, for 'armnn verify'",
    )
    group.add_argument("--json", action="store_true", help="print everything as one JSON object")


def _add_measuring_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--cache-dir",
        metavar="DIR",
        help="keep the prepared model in a folder that only you may write to, and take it from "
        "there the next time",
    )
    group.add_argument(
        "--iterations",
        type=positive_number,
        default=1,
        metavar="N",
        help="how often to run and measure (default: 1)",
    )
    group.add_argument(
        "--warmup",
        type=natural_number,
        metavar="N",
        help="how often to run before that (default: 1, or 0 with intermediate tensors; with 0, "
        "the first measured run may also prepare a model whose shapes are open)",
    )
    group.add_argument(
        "--concurrent",
        type=positive_number,
        default=1,
        metavar="N",
        help="how many threads run the model at once, each all iterations (default: 1)",
    )
    group.add_argument(
        "--threshold-time",
        type=number,
        metavar="MS",
        help="fail with exit code 1 if a measured run takes more milliseconds",
    )
    group.add_argument(
        "--import-inputs-if-aligned",
        action="store_true",
        help="read the inputs where they are instead of copying them for each run, if their memory "
        "allows it; for one thread without profile",
    )


def _add_comparing_arguments(group: argparse._ArgumentGroup) -> None:
    group.description = "The exit code is 1 if an output differs by more than the tolerance."
    group.add_argument(
        "--compare-output",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="compare with a stored output, a .npy or .npz file, or a folder of them for several "
        "sets of inputs (may be repeated; NAME= may be left out if there is one output)",
    )
    with_completed_ids(
        group.add_argument(
            "--compare-output-with-backend",
            metavar="ID,...",
            type=backend_ids,
            help="compare with the model on these backends",
        )
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
        help="how far quantized outputs may be apart, in steps (default: %(default)s)",
    )


def _add_profile_arguments(group: argparse._ArgumentGroup) -> None:
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


def _json_file(text: str) -> str:
    if text and not text.endswith(".json"):
        raise argparse.ArgumentTypeError(
            f"got {text!r}, expected a file ending in .json (the model stands before the option)"
        )
    return text


def _numbers(text: str) -> tuple[float, ...]:
    """Read finite numbers with commas between them."""
    return tuple(number(part) for part in text.split(","))


def _divisors(text: str) -> tuple[float, ...]:
    """Read numbers above zero with commas between them."""
    values = _numbers(text)
    if min(values) <= 0:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected numbers above zero")
    return values


def input_options(arguments: argparse.Namespace) -> InputOptions:
    """Return the options for the data of the inputs.

    Raises:
        InvalidArgumentError: The value of ``--resize`` is malformed.
    """
    pictures = PictureOptions(
        layout=arguments.layout,
        resize=None if arguments.resize is None else Resize.parse(arguments.resize),
        mean=arguments.mean,
        std=arguments.std,
        scale=arguments.scale,
        color=arguments.color,
    )
    return InputOptions(
        arguments.input, arguments.shape, arguments.seed, pictures, arguments.quantize_input
    )


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
    recorder = _recorder(arguments)
    if arguments.record is not None:
        check_writable("--record", Path(arguments.record))
    if arguments.import_inputs_if_aligned and (recorder or arguments.concurrent > 1):
        raise InvalidArgumentError(
            "--import-inputs-if-aligned is for one thread without profile: leave out --concurrent, "
            "--profile and --event-based-profiling"
        )
    started = max(0.0, time.process_time() - imported_before())
    with opened_runtime(arguments) as runtime:
        start = time.perf_counter()
        with progress(f"Loading {arguments.model}"):
            loaded = runtime.load_model(
                arguments.model,
                arguments.backends,
                **preparation(arguments),
                profiler=recorder,
                cache_dir=arguments.cache_dir,
                parser_options=parser_options(arguments),
            )
        load_seconds = time.perf_counter() - start
        with progress("Preparing inputs"):
            sets = [
                make_feeds(loaded.inputs, options, loaded.metadata, loaded.prepare)
                for options in input_sets(input_options(arguments))
            ]
        files = _output_files(arguments.output, loaded, len(sets))
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
            files=_write_outputs(files, outputs, loaded, as_real_values=arguments.dequantize_output)
            | _write_profiles(runtime, sets[0], arguments, recorder)
            | _write_record(loaded, arguments.record),
            layer_times=None
            if recorder is None or arguments.profile is None
            else layer_times(recorder.events, loaded.report),
            times=times,
        )
    if arguments.json:
        print_json(result.as_dict())
    else:
        result.show()
    return 0 if result.is_good else 1


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
    with progress(f"Writing {path}"):
        save(network, path)
    if arguments.json:
        print_json({"model": arguments.model, "files": {"network": str(path)}})
    else:
        print(printable(f"Wrote network to {path}"))
    return 0


def _arrays(feeds: Sequence[Feed]) -> dict[str, NDArray[Any]]:
    return {feed.name: feed.array for feed in feeds}


def _times(started: float, loaded: LoadedNetwork, feeds: Sequence[Feed]) -> dict[str, float]:
    """Return the seconds of each stage, the first run included."""
    with progress("Running once"), explaining_open_shapes(feeds):
        loaded.run(_arrays(feeds))
    return {"start of the process": started, **loaded.load_times}


def _labels(
    given: Labels | None, loaded: LoadedNetwork, outputs: Mapping[str, NDArray[Any]]
) -> Labels | None:
    """Return the given labels, once checked, or those in the metadata of the model."""
    counts = class_counts(outputs)
    if given is None:
        return labels_in_metadata(loaded.metadata, list(counts.values()))
    check_labels(given, counts)
    return given


def _measured(
    loaded: LoadedNetwork,
    feeds: Sequence[Sequence[Feed]],
    arguments: argparse.Namespace,
    profiler: ProfilingSink | None,
) -> tuple[list[dict[str, NDArray[Any]]], Latency, Latency | None]:
    """Run the network on each set of inputs.

    Each thread makes all of the measured runs. To record a run takes time, so with a profiler the
    latency is that of as many runs without it before, which the profiler is told of. Runs that
    show intermediate tensors are not repeated.

    Args:
        loaded: The network.
        feeds: The data of each set of inputs.
        arguments: The options: how many runs, of how many threads, and so on.
        profiler: The sink of the events of the profiled runs; None without profile.

    Returns:
        The last outputs of each set, the times, and those of the profiled runs if there are both.
    """
    options = optimizer_options(arguments)
    shows_tensors = options["debug"] or options["debug_to_file"]
    warmup = int(not shows_tensors) if arguments.warmup is None else arguments.warmup
    threads = arguments.concurrent
    sets = [_arrays(each) for each in feeds]
    imports = ""
    is_both = profiler is not None and not shows_tensors
    total = len(sets) * (warmup + arguments.iterations * threads) * (2 if is_both else 1)

    def plainly(at: int) -> dict[str, NDArray[Any]]:
        if profiler is None:
            return loaded.run(sets[at])
        start = time.perf_counter_ns()
        made = loaded.run(sets[at])
        profiler.event("run without profile", start, time.perf_counter_ns(), category=PLAIN_RUN)
        return made

    def profiled(at: int) -> dict[str, NDArray[Any]]:
        return loaded.run(sets[at], profiler=profiler)

    def measured(run: _Run) -> tuple[list[dict[str, NDArray[Any]]], Latency]:
        def runs(_: int) -> tuple[list[dict[str, NDArray[Any]]], list[float]]:
            return _timed_runs(run, len(sets), arguments.iterations, advance)

        start = time.perf_counter()
        if threads == 1:
            made = [runs(0)]
        else:
            with ThreadPoolExecutor(threads) as pool:
                made = list(pool.map(runs, range(threads)))
        total_seconds = time.perf_counter() - start
        seconds = tuple(each for _, times in made for each in times)
        limit = arguments.threshold_time
        latency = Latency(seconds, warmup * len(sets), threads, total_seconds, limit, imports)
        return made[-1][0], latency

    def warm_up(sink: ProfilingSink | None) -> None:
        for arrays in sets:
            for _ in range(warmup):
                loaded.run(arrays, profiler=sink)
                advance()

    with explaining_open_shapes(feeds[0]), progress("Running", total) as advance:
        run: _Run = plainly
        if arguments.import_inputs_if_aligned:
            run, imports = _importing(loaded, sets, run)
        elif not is_both and profiler is not None:
            run = profiled
        warm_up(None)
        outputs, latency = measured(run)
        if not is_both:
            return outputs, latency, None
        warm_up(Recorder())
        outputs, latency_profiled = measured(profiled)
        return outputs, latency, latency_profiled


def _importing(
    loaded: LoadedNetwork, sets: Sequence[Mapping[str, NDArray[Any]]], copying: _Run
) -> tuple[_Run, str]:
    """Return a function that runs on imported inputs, and a sentence about them.

    Where the inputs cannot be imported, it is the function that copies, and the reason.
    """
    try:
        ids = [[*loaded.import_inputs(arrays, source="Malloc").values()] for arrays in sets]
        for each in ids:
            loaded.run({}, imported=each)
    except (MemoryImportError, InvalidArgumentError) as error:
        return copying, f"inputs are copied: {error}"
    return lambda at: loaded.run({}, imported=ids[at]), "inputs are imported"


def _timed_runs(
    run: _Run, sets: int, iterations: int, advance: Callable[[], None]
) -> tuple[list[dict[str, NDArray[Any]]], list[float]]:
    """Return the last outputs of each set of inputs, and the seconds of every run."""
    seconds: list[float] = []
    last: list[dict[str, NDArray[Any]]] = []
    for at in range(sets):
        for _ in range(iterations):
            start = time.perf_counter()
            outputs = run(at)
            seconds.append(time.perf_counter() - start)
            advance()
        last.append(outputs)
    return last, seconds


def _compared(
    runtime: Runtime,
    loaded: LoadedNetwork,
    sets: Sequence[Sequence[Feed]],
    outputs: Sequence[Mapping[str, NDArray[Any]]],
    arguments: argparse.Namespace,
) -> list[list[Comparison]]:
    """Return the comparisons of each set of inputs that the options ask for.

    Raises:
        InvalidArgumentError: A stored output cannot be read, or the network has no such output.
        ArmnnError: The model does not run on the other backends, or in the other runtime.
    """
    tolerance = Tolerance(arguments.tolerance, arguments.step_tolerance)
    stored = texts_of_sets(arguments.compare_output, "--compare-output", len(sets))
    others = arguments.compare_output_with_backend
    other = None
    if others is not None:
        with progress(f"Loading on {', '.join(others)}"):
            other = runtime.load_model(
                arguments.model, others, parser_options=parser_options(arguments)
            )
    found = []
    for texts, feeds, made in zip(stored, sets, outputs, strict=True):
        inputs = _arrays(feeds)
        expected: dict[str, Mapping[str, NDArray[Any]]] = {}
        if texts:
            expected["stored outputs"] = _stored_outputs(texts, loaded)
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
                compare_outputs(made, arrays, loaded.outputs, source=name, tolerance=tolerance)
                for name, arrays in expected.items()
            ]
        )
    return found


def _stored_outputs(texts: Sequence[str], loaded: LoadedNetwork) -> dict[str, NDArray[Any]]:
    """Return the outputs in the files of ``--compare-output``, by name."""
    named: list[str] = []
    for text in texts:
        # A .npz file without a name holds several outputs.
        if text.endswith(".npz") and Path(text).exists() and len(loaded.outputs) > 1:
            named += [f"{name}={text}" for name in npz_names(Path(text))]
        else:
            named.append(text)
    files = split_named(named, loaded.outputs, "--compare-output")
    return {name: _read_output(name, Path(text)) for name, text in files.items()}


def _read_output(name: str, path: Path) -> NDArray[Any]:
    if path.suffix not in (".npy", ".npz"):
        raise InvalidArgumentError(
            f"--compare-output got {str(path)!r} for {name!r}, expected a file ending in .npy or "
            ".npz"
        )
    return read_npy(path) if path.suffix == ".npy" else read_npz(path, name)


def _output_files(texts: Sequence[str], loaded: LoadedNetwork, sets: int) -> dict[str, list[Path]]:
    """Return the files that each output is written to, one per set of inputs.

    Where there are several sets, the number of the set, from 0 on, stands before the suffix.

    Raises:
        InvalidArgumentError: A name is not known, or a file cannot be written.
    """
    found: dict[str, list[Path]] = {}
    for name, text in split_named(texts, loaded.outputs, "--output").items():
        path = Path(text)
        if path.suffix != ".npy":
            raise InvalidArgumentError(
                f"--output got {text!r} for {name!r}, expected a file ending in .npy"
            )
        numbered = [path.with_stem(f"{path.stem}_{at}") for at in range(sets)]
        found[name] = [path] if sets == 1 else numbered
        for each in found[name]:
            check_writable("--output", each)
    return found


def _write_outputs(
    files: Mapping[str, Sequence[Path]],
    outputs: Sequence[Mapping[str, NDArray[Any]]],
    loaded: LoadedNetwork,
    *,
    as_real_values: bool,
) -> dict[str, str]:
    """Write outputs to their files; return the path of each by its output."""
    written: dict[str, str] = {}
    for name, paths in files.items():
        for at, (path, arrays) in enumerate(zip(paths, outputs, strict=True)):
            array = arrays[name]
            if as_real_values:
                array = real_values(array, loaded.outputs[name])
            with writing(path):
                np.save(path, array)
            title = f"output {name}" if len(paths) == 1 else f"output {name} of set {at}"
            written[title] = str(path)
    return written


def _recorder(arguments: argparse.Namespace) -> Recorder | None:
    """Return a recorder for the runs, None without a profile.

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


def _write_profiles(
    runtime: Runtime,
    feeds: Sequence[Feed],
    arguments: argparse.Namespace,
    recorder: Recorder | None,
) -> dict[str, str]:
    """Write the profiles that the options ask for; return the path of each by its kind."""
    written: dict[str, str] = {}
    if recorder is None:
        return written
    with progress("Writing the profile"):
        if arguments.profile:
            with writing(Path(arguments.profile)):
                write_chrome_trace(recorder.events, arguments.profile)
            written["profile"] = arguments.profile
        if arguments.event_based_profiling is not None:
            wants_details = arguments.output_network_details
            described = _profiled_layers(runtime, feeds, arguments) if wants_details else None
            with writing(Path(arguments.event_based_profiling)):
                write_arm_nn_profile(recorder.events, arguments.event_based_profiling, described)
            written["Arm NN profile"] = arguments.event_based_profiling
    return written


def _write_record(loaded: LoadedNetwork, path: str | None) -> dict[str, str]:
    """Write the record of execution, if there is a file for it; return its path by its kind."""
    if path is None:
        return {}
    with progress("Writing the record"), writing(Path(path)):
        loaded.record().write(path)
    return {"record": path}


def _profiled_layers(
    runtime: Runtime, feeds: Sequence[Feed], arguments: argparse.Namespace
) -> Network:
    """Return the layers that were profiled, as they were before backends replaced them."""
    network = parse(arguments.model, parser_options=parser_options(arguments))
    options = optimizer_options(arguments) | {"debug": False, "debug_to_file": False}
    optimized = runtime.optimize(network, arguments.backends, **options)
    shapes = {feed.name: feed.array.shape for feed in feeds}
    head, _ = layers_before_backends(network, shapes, optimized.participants, optimized.options)
    return head
