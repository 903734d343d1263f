# SPDX-License-Identifier: MIT
"""Tries of variants in a child process, with kept findings."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from armnn.errors import ArmnnError, BackendError, InvalidArgumentError
from armnn_backend_api.processes import (
    Bounds,
    Ending,
    JsonChild,
    NoReplyError,
    Program,
    run,
)
from armnn_tools.debugging.reducing.failure import SUFFIX, Failure, write_arrays, write_model
from armnn_tools.debugging.reducing.variants import Variant
from armnn_tools.debugging.reducing.worker import Job

Arrays = Mapping[str, NDArray[Any]]

_SERVE = "armnn_tools.debugging.reducing.worker:serve"
_START_SECONDS = 60.0
_OUTPUT_BYTES = 1 << 30


class Worker:
    """A child process that tries variants, started on demand."""

    def __init__(self, job: Job, folder: Path) -> None:
        self._job = folder / "job"
        self._child: JsonChild | None = None
        try:
            self._job.write_bytes(pickle.dumps(job))
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise InvalidArgumentError(
                f"the options cannot be given to another process, where each step is tried: {error}"
            ) from error

    def failures(self, model: Path, inputs: Path, repeats: int, seconds: float) -> list[Failure]:
        """Return the failures of a model.

        Args:
            model: Its file.
            inputs: The pickled inputs.
            repeats: How often it runs.
            seconds: How long it may take.

        Raises:
            BackendError: A backend does not exist there, or cannot be used.
            InvalidArgumentError: The process does not start.
        """
        child = self._started()
        try:
            reply = child.ask([str(model), str(inputs), repeats], seconds)
        except NoReplyError as error:
            self.close()
            return [Failure.of_ending(error.ending or Ending("killed"))]
        if "unusable" in reply:
            raise BackendError(
                f"{reply['unusable']} Each step is tried in a process of its own, where the "
                "backend has to be an installed package or a file: register_backend() of this "
                "process has no effect there"
            )
        if "error" in reply:
            return [Failure.of_error(*reply["error"])]
        return [Failure.of_finding(each) for each in reply["wrong"]]

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _started(self) -> JsonChild:
        if self._child is None:
            bounds = Bounds(output=_OUTPUT_BYTES)
            self._child = JsonChild(_SERVE, str(self._job), bounds)
            try:
                self._child.reply(_START_SECONDS)
            except NoReplyError as error:
                self.close()
                words = b"" if error.ending is None else error.ending.errors
                raise InvalidArgumentError(
                    f"the process in which steps are tried does not start: {error.ending}: "
                    f"{words.decode(errors='replace')[-500:]}"
                ) from error
        return self._child


@dataclass(slots=True)
class Judge:
    """Tells whether variants fail, in a process of their own.

    Attributes:
        job: The job that is tried.
        folder: Where variants are written.
        command: A command to run, in the place of the job's check; "{model}" and "{inputs}" are
            the paths.
        suffix: The suffix of the files that the command gets.
        seconds: How long one try may take.
        is_fresh: Whether each try has a process of its own.
        tries: How many variants were tried.
        last: The failure of the last one, if it could not be tried to the end.
    """

    job: Job
    folder: Path
    command: Sequence[str] = ()
    suffix: str = SUFFIX
    seconds: float = 10.0
    is_fresh: bool = False
    tries: int = 0
    last: Failure | None = None
    _known: dict[bytes, list[Failure]] | None = None
    _worker: Worker | None = None

    def failures(self, variant: Variant, repeats: int) -> list[Failure]:
        """Return the failures of a variant."""
        model, inputs = self.folder / f"variant{self.suffix}", self.folder / "inputs"
        try:
            write_model(variant.network, model)
        except ArmnnError:
            return []
        inputs.write_bytes(pickle.dumps(dict(variant.inputs), protocol=5))
        return self.failures_of(model, inputs, repeats)

    def failures_of(self, model: Path, inputs: Path, repeats: int) -> list[Failure]:
        """Return the failures of a model in a file."""
        digest = hashlib.sha256(repr((model.suffix, repeats)).encode())
        for path in (model, inputs):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        known = self._known = {} if self._known is None else self._known
        key = digest.digest()
        if key not in known:
            self.tries += 1
            known[key] = self._tried(model, inputs, repeats)
        found = known[key]
        self.last = next((each for each in found if each.finding is None), None)
        return found

    def forget(self) -> None:
        """Drop the kept findings."""
        self._known = None

    def close(self) -> None:
        """End the child process."""
        if self._worker is not None:
            self._worker.close()

    def _tried(self, model: Path, inputs: Path, repeats: int) -> list[Failure]:
        if self.command:
            return self._commanded(model, inputs)
        if self._worker is None:
            self._worker = Worker(self.job, self.folder)
        try:
            return self._worker.failures(model, inputs, repeats, self.seconds)
        finally:
            if self.is_fresh:
                self._worker.close()

    def _commanded(self, model: Path, inputs: Path) -> list[Failure]:
        arrays = inputs.with_suffix(".npz")
        write_arrays(arrays, pickle.loads(inputs.read_bytes()))
        paths = {"{model}": str(model), "{inputs}": str(arrays)}
        words = list(self.command)
        for mark, path in paths.items():
            words = [word.replace(mark, path) for word in words]
        ending = run(Program(words), Bounds(seconds=self.seconds))
        if ending.cause == "deadline":
            return [Failure("hang")]
        return [] if ending.is_success else [Failure("command", (str(ending),))]
