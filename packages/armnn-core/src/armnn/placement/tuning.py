# SPDX-License-Identifier: MIT
"""The measured choice of backends for one model."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from armnn.__about__ import __version__
from armnn._arguments import instance, real, refused, texts
from armnn._installing import REFERENCE
from armnn.backends import CreationOptions
from armnn.backends.entries import BackendState, unknown_backend
from armnn.backends.registry import BackendRegistry
from armnn.backends.selection import preferences
from armnn.errors import PlacementError
from armnn.optimizer import OptimizerOptions
from armnn.placement.cuts import LEAST_MICROSECONDS, cut_trial, leading_backends
from armnn.placement.measuring import Contest, asked
from armnn.placement.orders import orders_of
from armnn.placement.subject import Subject
from armnn.verdicts import Trial, Verdict
from armnn.verdicts.files import CORE
from armnn.verdicts.identity import (
    builds_of,
    this_machine,
)
from armnn.verdicts.parts import MeasuredPart, parts_from
from armnn.verdicts.transfer import following, transferable, transferable_optimizer
from armnn_backend_api.processes import NoReplyError

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from armnn.graph import Network

THREADS: Final = "NumberOfThreads"
"""The option whose values are tried: one thread beside the backend's own choice."""
CHECK_SECONDS: Final = 600.0
"""How long the check of one choice may take; it computes every layer on the reference."""
PARTS_SECONDS: Final = 60.0
"""How long the parts of the choice are measured, one after the other."""
CUTS_SHARE: Final = 0.7
"""The part of the time left in which stretches of the network are measured."""
_MODULES: Final = {
    "measure_parts": "armnn.placement.part_costs",
    "measure_cuts": "armnn.placement.cuts",
}
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

    Every choice is measured as a whole in a process of its own: each backend alone, all orders of
    preference that place the layers differently, and the most promising plan that gives stretches
    of the network to other backends than the fastest order. The fastest choice is compared with
    CpuRef layer by layer; one that is wrong is never chosen.

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
        subject = Subject.of(model, parser_options or {}, inputs, Path(folder))
        search = _Search(subject, creation, chosen, tell)
        trials = search.run(search.usable(backends), began + budget)
    entries = BackendRegistry(creation).entries()
    used = {backend for trial in trials for backend in trial.backends}
    builds = {**builds_of(used, entries), CORE: __version__}
    day = time.strftime("%Y-%m-%d")
    return Verdict(subject.identities, this_machine(), builds, day, tuple(trials))


class _Search:
    """The choices for one model, and their trials."""

    def __init__(
        self,
        subject: Subject,
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
        done = self._cut(self._threads(done, deadline), able, deadline)
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
            except NoReplyError as error:
                if waiting:  # at the backend that it was asking, not when it had answered all
                    faults.append(Trial((waiting.pop(0),), fault=str(error)))
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

    def _cut(self, trials: list[Trial], able: Sequence[str], deadline: float) -> list[Trial]:
        """Measure the most promising plan with cuts, too."""
        usable = [each for each in trials if _is_usable(each)]
        leading = leading_backends(usable)
        left = deadline - time.monotonic()
        if len(leading) < 2 or left <= 0 or (usable[0].microseconds or 0) < LEAST_MICROSECONDS:
            return trials
        self._tell("cuts of the network")
        order = tuple(dict.fromkeys((*usable[0].backends, *able)))
        request = self._request_of(replace(usable[0], backends=order))
        rows = self._said({**request, "leading": leading}, "measure_cuts", CUTS_SHARE * left)
        found = cut_trial(usable[0], rows)
        if found is None or time.monotonic() >= deadline:
            return trials
        again = Contest(self._request, deadline, self._tell).run([usable[0], found])
        known = [each for each in again if _is_usable(each)]
        return [*known, *(each for each in trials if each is not usable[0])] if known else trials

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
            same = [
                each
                for each in waiting
                if (each.backends, each.layer_backends) == (trial.backends, trial.layer_backends)
            ]
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
        return tuple(parts_from(self._said(request, "measure_parts", PARTS_SECONDS)))

    def _said(self, request: dict[str, Any], function: str, seconds: float) -> list[dict[str, Any]]:
        """Return the answers of a child until it ends."""
        rows: list[dict[str, Any]] = []
        with contextlib.suppress(NoReplyError):
            rows.extend(asked(request, function, seconds, _MODULES[function]))
        return rows

    def _request_of(self, trial: Trial) -> dict[str, Any]:
        options = following(self._request["options"], trial, self._given)
        return {**self._request, "backends": list(trial.backends), "options": options}

    def _fault_of(self, trial: Trial) -> str:
        if trial.backends == (REFERENCE,):
            return ""
        request = self._request_of(trial)
        fault = "was not checked"
        try:
            for row in asked(request, "check", CHECK_SECONDS):
                fault = str(row["fault"])
        except NoReplyError as error:
            fault = f"was not checked: {error}"
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
