# SPDX-License-Identifier: MIT
"""The measured choice of backends for one model."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn._arguments import instance, real, refused, texts
from armnn._dataclasses import replace
from armnn._installing import REFERENCE
from armnn.backends import CreationOptions
from armnn.backends.entries import BackendState, unknown_backend
from armnn.backends.preference import preferences
from armnn.backends.registry import BackendRegistry
from armnn.debugging.samples import checked_samples
from armnn.errors import PlacementError
from armnn.graph import Network
from armnn.optimizer import OptimizerOptions
from armnn.parsing import parse
from armnn.placement.measuring import Contest, asked
from armnn.placement.orders import orders_of
from armnn.processes.answering import SilenceError
from armnn.verdicts import Trial, Verdict
from armnn.verdicts.identity import (
    builds_of,
    identity_of_file,
    identity_of_network,
    this_machine,
)
from armnn.verdicts.parts import MeasuredPart, parts_from
from armnn.verdicts.transfer import merged, transferable, transferable_optimizer

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

THREADS: Final = "NumberOfThreads"
"""The option whose values are tried: one thread beside the backend's own choice."""
CHECK_SECONDS: Final = 600.0
"""How long the check of one choice may take; it computes every layer on the reference."""
PARTS_SECONDS: Final = 60.0
"""How long the parts of the choice are measured, one after the other."""
_PARTS_MODULE: Final = "armnn.placement.part_costs"
_CHECK_REPEATS: Final = 3
_LOADABLE: Final = (BackendState.KNOWN, BackendState.LOADED)


def tune(
    model: str | PathLike[str] | Network,
    backends: Sequence[str] | None = None,
    *,
    budget: float = 30.0,
    inputs: Mapping[str, NDArray[Any]] | None = None,
    options: OptimizerOptions | None = None,
    creation_options: CreationOptions | None = None,
    parser_options: Mapping[str, str | int] | None = None,
    tell: Callable[[str], object] = str,
) -> Verdict:
    """Measure which backends run a model fastest, and right.

    Every choice is measured as a whole in a process of its own: each backend alone, and all orders
    of preference that place the layers differently. The fastest choice is compared with CpuRef
    layer by layer; one that is wrong is never chosen.

    Args:
        model: The path of a model file, or a network.
        backends: The ids to choose from; those of all installed packages if left out.
        budget: Seconds for measuring; the check comes on top.
        inputs: By name; random ones if left out, which needs inputs of known shapes.
        options: How the network is prepared.
        creation_options: Those of a runtime.
        parser_options: Options of the parser.
        tell: Is called with the backends that are measured next.

    Raises:
        PlacementError: Nothing right could be measured; the message lists each choice's fault.
        ModelFileError: The model cannot be read.
        UnknownBackendError: A backend that is named does not exist.
        BackendUnavailableError: One that is named cannot be used.
        InvalidArgumentError: An argument is of another kind.
        NotStorableError: The network cannot be handed to another process.
    """
    began = time.monotonic()
    if not real(budget, "the budget") > 0:
        raise refused("the budget", budget, "more than 0 seconds")
    creation = instance(creation_options or CreationOptions(), CreationOptions, "creation_options")
    chosen = instance(options or OptimizerOptions(), OptimizerOptions, "the options")
    with tempfile.TemporaryDirectory(prefix="armnn-tune-") as folder:
        subject = _Subject.of(model, parser_options or {}, inputs, Path(folder))
        search = _Search(subject, creation, chosen, tell)
        trials = search.run(search.usable(backends), began + budget)
    entries = BackendRegistry(creation).entries()
    used = {backend for trial in trials for backend in trial.backends}
    builds = builds_of(used, entries)
    day = time.strftime("%Y-%m-%d")
    return Verdict(subject.identities, this_machine(), builds, day, tuple(trials))


class _Subject:
    """A model in files that a child process can read."""

    def __init__(self, path: Path, identities: tuple[str, ...], request: dict[str, Any]) -> None:
        self.path = path
        self.identities = identities
        self.request = request

    @classmethod
    def of(
        cls,
        model: str | PathLike[str] | Network,
        parser_options: Mapping[str, str | int],
        inputs: Mapping[str, NDArray[Any]] | None,
        folder: Path,
    ) -> _Subject:
        """Return the subject of a model."""
        if isinstance(model, Network):
            from armnn.storage.armnn_files import save

            network, path = model, folder / "model.armnn"
            save(network, path, beyond_arm_nn=True)
            identities: tuple[str, ...] = (identity_of_network(network),)
        else:
            path = Path(model)
            network = parse(path, parser_options=parser_options)
            identities = (identity_of_file(path), identity_of_network(network))
        (arrays,) = checked_samples(network, None if inputs is None else [inputs], 1)
        stored = folder / "inputs.npz"
        numbered = {f"input{number}": array for number, array in enumerate(arrays.values())}
        np.savez(stored, **numbered)  # type: ignore[arg-type]  # its stub has allow_pickle first
        request = {
            "model": os.fspath(path.resolve()),
            "parser_options": {} if isinstance(model, Network) else dict(parser_options),
            "inputs": os.fspath(stored),
            "repeats": _CHECK_REPEATS,
        }
        return cls(path, identities, request)


class _Search:
    """The choices for one model, and their trials."""

    def __init__(
        self,
        subject: _Subject,
        creation: CreationOptions,
        options: OptimizerOptions,
        tell: Callable[[str], object],
    ) -> None:
        self._creation = creation
        self._tell = tell
        self._given = options.model_options
        self._request: dict[str, Any] = {
            **subject.request,
            "creation_options": transferable(creation),
            "options": transferable_optimizer(options),
        }

    def usable(self, backends: Sequence[str] | None) -> list[str]:
        """Return the ids to choose from, CpuRef among them.

        No backend is loaded here: one that takes its process down does so in a child.
        """
        entries = BackendRegistry(self._creation).entries()
        there = {each.id: each for each in entries if each.state in _LOADABLE}
        if backends is None:
            found = [each.id for each in there.values() if each.is_static]
        else:
            named = texts(backends, "the backends", f"a list of ids such as {[REFERENCE]}")
            found = [
                each
                for each, optional in preferences(named).items()
                if each in there or not optional
            ]
        for backend_id in (*found, REFERENCE):
            if backend_id not in there:
                known = next((each for each in entries if each.id == backend_id), None)
                raise unknown_backend(backend_id, entries) if known is None else known.error()
        return list(dict.fromkeys((*found, REFERENCE)))

    def run(self, backend_ids: Sequence[str], deadline: float) -> list[Trial]:
        """Return all trials, the chosen one first."""
        answers, faults = self._answers(backend_ids, deadline)
        able = [each for each in backend_ids if each in answers]
        trials = [Trial(order) for order in orders_of(able, answers)]
        done = [*Contest(self._request, deadline, self._tell).run(trials), *faults]
        done = self._threads(done, deadline)
        chosen, *others = self._checked(done, deadline)
        sound = [each for each in (chosen, *others) if each.microseconds and not each.fault]
        among = [one for one in able if any(one in each.layers for each in sound)]
        return [replace(chosen, parts=self._parts(chosen, among)), *others]

    def _answers(
        self, backend_ids: Sequence[str], deadline: float
    ) -> tuple[dict[str, Sequence[bool]], list[Trial]]:
        """Return what each backend runs, and those that cannot say."""
        answers: dict[str, Sequence[bool]] = {}
        faults: list[Trial] = []
        waiting = list(backend_ids)
        while waiting:
            request = {**self._request, "backends": waiting}
            try:
                for row in asked(request, "ask", deadline - time.monotonic()):
                    backend_id = waiting.pop(0)
                    if "runs" in row:
                        answers[backend_id] = [bool(each) for each in row["runs"]]
                    else:
                        faults.append(Trial((backend_id,), fault=str(row["fault"])))
            except SilenceError as silence:  # at the backend that it was asking
                faults.append(Trial((waiting.pop(0),), fault=str(silence)))
        return answers, faults

    def _threads(self, trials: list[Trial], deadline: float) -> list[Trial]:
        """Measure the fastest trial with one thread, too."""
        if not trials or trials[0].microseconds is None or (os.cpu_count() or 1) < 2:
            return trials
        best = trials[0]
        free = [
            each
            for each in best.backends
            if each in best.layers and THREADS not in self._given.get(each, {})
        ]
        variants = [replace(best, options={each: {THREADS: 1}}) for each in free]
        if not variants:
            return trials
        again = Contest(self._request, deadline, self._tell).run([best, *variants])
        known = [each for each in again if each.microseconds is not None and not each.fault]
        return [*known, *trials[1:]] if known else trials

    def _checked(self, trials: Sequence[Trial], deadline: float) -> list[Trial]:
        """Put the fastest right trial first; note what is wrong."""
        wrong: list[Trial] = []
        waiting = list(trials)
        while waiting and _is_usable(waiting[0]):
            trial = waiting[0]
            self._tell(f"the check of {trial.title}")
            began = time.monotonic()
            fault = self._fault_of(trial)
            deadline += time.monotonic() - began  # it comes on top
            if not fault:
                return [trial, *wrong, *waiting[1:]]
            same = [each for each in waiting if each.backends == trial.backends]
            wrong += [replace(each, fault=fault or each.fault) for each in same]
            rest = [each for each in waiting if each not in same]
            waiting = self._measured_again(rest, deadline)
        listed = "\n".join(f"- {each}" for each in (*wrong, *waiting))
        raise PlacementError(
            f"no choice of backends runs the model and is right:\n{listed}\n"
            "Give more time (budget=, --budget), other backends or inputs of known shapes."
        )

    def _measured_again(self, trials: Sequence[Trial], deadline: float) -> list[Trial]:
        """Measure again what a wrong choice kept from turns."""
        usable = [each for each in trials if _is_usable(each)]
        if len(usable) < 2 or time.monotonic() >= deadline:
            return list(trials)
        found = {
            each.title: each for each in Contest(self._request, deadline, self._tell).run(usable)
        }
        known = [each for each in found.values() if _is_usable(each)]
        late = [each for each in usable if not _is_usable(found[each.title])]
        return [*known, *late, *(each for each in trials if each not in usable)]

    def _parts(self, chosen: Trial, among: Sequence[str]) -> tuple[MeasuredPart, ...]:
        """Measure each part of a choice on every backend."""
        if len(chosen.layers) < 2:
            return ()
        self._tell(f"the parts of {chosen.title}")
        request = {**self._request_of(chosen), "among": list(among)}
        rows: list[dict[str, Any]] = []
        with contextlib.suppress(SilenceError):  # what it has said by then counts
            rows.extend(asked(request, "measure_parts", PARTS_SECONDS, _PARTS_MODULE))
        return tuple(parts_from(rows))

    def _request_of(self, trial: Trial) -> dict[str, Any]:
        options = {**self._request["options"]}
        options["model_options"] = merged(self._given, trial.options, trial.backends)
        return {**self._request, "backends": list(trial.backends), "options": options}

    def _fault_of(self, trial: Trial) -> str:
        if trial.backends == (REFERENCE,):
            return ""
        request = self._request_of(trial)
        fault = "was not checked"
        try:
            for row in asked(request, "check", CHECK_SECONDS):
                fault = str(row["fault"])
        except SilenceError as silence:
            fault = f"was not checked: {silence}"
        return fault


def _is_usable(trial: Trial) -> bool:
    return trial.microseconds is not None and not trial.fault


def measure(request: dict[str, Any]) -> None:
    """Print the verdict of a measurement as JSON.

    Args:
        request: The arguments of :func:`tune`, as JSON can hold them.
    """
    options = OptimizerOptions(**request.pop("options"))
    creation = CreationOptions(**request.pop("creation_options"))
    verdict = tune(**request, options=options, creation_options=creation)
    print(json.dumps(verdict.as_dict()))
