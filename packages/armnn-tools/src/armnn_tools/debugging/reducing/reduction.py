# SPDX-License-Identifier: MIT
"""Reduction of a failing model to the smallest one."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from armnn.arguments import instance, real, refused
from armnn.backends import CreationOptions
from armnn.errors import InvalidArgumentError
from armnn.graph import Network
from armnn.installing import CPU_REF
from armnn.optimizer import OptimizerOptions
from armnn.parsing import parse
from armnn_tools.debugging.reducing.failure import SUFFIX
from armnn_tools.debugging.reducing.judge import Judge
from armnn_tools.debugging.reducing.result import Reduction, Result
from armnn_tools.debugging.reducing.search import Progress, Recorder, Search
from armnn_tools.debugging.reducing.variants import Variant
from armnn_tools.debugging.reducing.worker import Job
from armnn_tools.debugging.samples import checked_samples

Arrays = Mapping[str, NDArray[Any]]

CHECKS: Final = ("compare", "crash")
"""The checks that a model is tried for, besides a command."""


@dataclass(frozen=True, slots=True)
class ReduceOptions:
    """How long a model is reduced.

    Attributes:
        time_limit: Seconds after which the smallest model so far is taken.
        try_limit: Seconds after which one try counts as a hang.
        layer: The name of the wrong layer that is meant, if there are several; the first by
            default.
    """

    time_limit: float = 300.0
    try_limit: float = 10.0
    layer: str = ""

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError unless there is some time."""
        for name in ("time_limit", "try_limit"):
            if not real(getattr(self, name), f"the {name}") > 0:
                raise refused(f"the {name}", getattr(self, name), "more than 0 seconds")


def reduce(
    model: str | PathLike[str] | Network,
    backends: Sequence[str],
    target: str | PathLike[str],
    *,
    check: str = "compare",
    reference: str = CPU_REF,
    inputs: Sequence[Arrays] | None = None,
    options: OptimizerOptions | None = None,
    creation_options: CreationOptions | None = None,
    limits: ReduceOptions | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Reduction:
    """Write the smallest model that fails as a model does.

    Layers are deleted, what they would have computed becomes recorded inputs, and what is left is
    made simpler, as long as the failure stays the same. Each step is tried in a child process.

    Args:
        model: The path of a model file, or a network.
        backends: Ids in the order of preference, as for ``load_model``.
        target: The file to be written; one ending in .onnx becomes .armnn where ONNX has no form
            for the layers. Beside it come its inputs, the expected outputs and a script.
        check: "compare" for wrong layers, "crash" for crashes, hangs and errors; anything else is
            a command with "{model}" and perhaps "{inputs}" in it, which fails while its exit status
            stays as with the whole model.
        reference: The id of the backend that defines what is right.
        inputs: One mapping from names to arrays per sample; random ones if left out. The first
            sample that fails is taken.
        options: How the network is prepared.
        creation_options: The options of the runtime; another process must be able to read them.
        limits: How long it may take, and which layer is meant.
        progress: Is called after each try.

    Raises:
        InvalidArgumentError: The model does not fail, or an argument is of another kind.
        BackendError: The reference cannot be used, or does not compute a layer.
    """
    network = model if isinstance(model, Network) else parse(model)
    given = checked_samples(network, inputs, 1)
    chosen = OptimizerOptions() if options is None else options
    instance(chosen, OptimizerOptions, "the options")
    creation = CreationOptions() if creation_options is None else creation_options
    instance(creation, CreationOptions, "the creation_options")
    bounds = ReduceOptions() if limits is None else limits
    command = () if check in CHECKS else _command(check)
    path = Path(target)
    with tempfile.TemporaryDirectory(prefix="armnn-reduce-") as name:
        folder = Path(name)
        job = Job(check, tuple(backends), reference, chosen, creation)
        suffix = path.suffix if command else SUFFIX
        judge = Judge(job, folder, command, suffix, bounds.try_limit)
        recorder = Recorder(reference, rewrite=chosen.rewrite)
        try:
            return _reduced(judge, recorder, network, given, path, bounds, progress)
        finally:
            judge.close()
            recorder.close()


def _reduced(
    judge: Judge,
    recorder: Recorder,
    network: Network,
    samples: Sequence[Arrays],
    target: Path,
    bounds: ReduceOptions,
    progress: Callable[[Progress], object] | None,
) -> Reduction:
    """Search, at first with many tries per process.

    A backend may keep something of one try for the next. A model that fails only because of that
    does not show the failure in a fresh process; then each try has a process of its own.
    """
    began = time.monotonic()
    for judge.is_fresh in (False, True):
        search = Search(judge, recorder, began + bounds.time_limit, progress)
        whole = _begin(search, network, samples, bounds.layer)
        is_complete = search.run()
        result = Result(search, whole, target, began).written(is_complete=is_complete)
        if result.confirmed == result.runs or not is_complete:
            break
        judge.forget()
    return result


def _begin(search: Search, network: Network, samples: Sequence[Arrays], layer: str) -> Variant:
    """Return the first segment that fails, of the first sample.

    Raises:
        InvalidArgumentError: None fails, or not in the way that is checked.
    """
    judge, backends = search.judge, ", ".join(search.judge.job.backends)
    limit = judge.seconds
    if judge.job.check == "compare":  # the whole model takes longer than its parts
        judge.seconds = max(limit, search.until - time.monotonic())
    for inputs in samples:
        for segment in search.recorder.segments(network, inputs):
            found = search.begin(segment, layer)
            if found:
                judge.seconds = limit
                return segment
    ended = judge.last
    if ended is not None and judge.job.check == "compare":
        advice = (
            "reduce it with the check crash"
            if ended.kind != "error"
            else "repair the network first"
        )
        raise InvalidArgumentError(
            f"{network.name!r} cannot be compared on {backends}: {ended}; {advice}"
        )
    what = {"compare": "no layer is wrong", "crash": "it neither crashes nor hangs nor fails"}
    expectation = what.get(judge.job.check, "the command ends with status 0")
    named = f" of the name {layer!r}" if layer else ""
    raise InvalidArgumentError(
        f"nothing to reduce: {expectation}{named} in {network.name!r} on {backends} with "
        f"{len(samples)} set(s) of inputs; give inputs with which it fails"
    )


def _command(check: str) -> list[str]:
    words = shlex.split(check)
    if not any("{model}" in word for word in words):
        raise refused(
            "the check", check, "compare, crash, or a command with {model} in the model's place"
        )
    return words
