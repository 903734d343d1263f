# SPDX-License-Identifier: MIT
"""The measured choice of backends for one model."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from os import PathLike
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from armnn.arguments import instance, real, refused, texts
from armnn.backends import BackendRegistry, BackendState, CreationOptions
from armnn.backends.loading import unknown_backend
from armnn.backends.selection import preferences
from armnn.errors import PlacementError
from armnn.graph import Network
from armnn.installing import CPU_REF
from armnn.optimizer import OptimizerOptions
from armnn.runtime.verdicts import Trial, Verdict, builds_of, this_machine
from armnn_backend_api.processes import NoReplyError
from armnn_tools.placement.measuring import Contest, asked
from armnn_tools.placement.requests import (
    following,
    request_for,
    transferable,
    transferable_optimizer,
)
from armnn_tools.threads import THREADS

CHECK_SECONDS: Final = 600.0
"""How long the check of one choice may take; it computes every layer on the reference."""
MOST_PERMUTED: Final = 5
"""Backends whose orders are all looked at; further ones are tried alone."""
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
        creation_options: The options of the runtime.
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
        identities, request = request_for(model, parser_options or {}, inputs, Path(folder))
        search = _Search(request, creation, chosen, tell)
        trials = search.run(search.usable(backends), began + budget)
    entries = BackendRegistry(creation).entries()
    used = {backend for trial in trials for backend in trial.backends}
    day = time.strftime("%Y-%m-%d")
    builds = builds_of(used, entries)
    return Verdict(identities, this_machine(), builds, day, tuple(trials))


class _Search:
    """The choices for one model, and their trials."""

    def __init__(
        self,
        request: Mapping[str, Any],
        creation: CreationOptions,
        options: OptimizerOptions,
        tell: Callable[[str], object],
    ) -> None:
        self._creation = creation
        self._tell = tell
        self._given = options.model_options
        self._request: dict[str, Any] = {
            **request,
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
            named = texts(backends, "the backends", f"a list of ids such as {[CPU_REF]}")
            found = [
                each
                for each, optional in preferences(named).items()
                if each in there or not optional
            ]
        for backend_id in (*found, CPU_REF):
            if backend_id not in there:
                known = next((each for each in entries if each.id == backend_id), None)
                raise unknown_backend(backend_id, entries) if known is None else known.error()
        return list(dict.fromkeys((*found, CPU_REF)))

    def run(self, backend_ids: Sequence[str], deadline: float) -> list[Trial]:
        """Return all trials, the chosen one first."""
        answers, faults = self._answers(backend_ids, deadline)
        able = [each for each in backend_ids if each in answers]
        trials = [Trial(order) for order in orders_of(able, answers)]
        done = [*Contest(self._request, deadline, self._tell).run(trials), *faults]
        return self._checked(self._threads(done, deadline), deadline)

    def _answers(
        self, backend_ids: Sequence[str], deadline: float
    ) -> tuple[dict[str, Sequence[bool]], list[Trial]]:
        """Return the layers that each backend runs, and trials of those that cannot say."""
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

    def _checked(self, trials: Sequence[Trial], deadline: float) -> list[Trial]:
        """Put the fastest right trial first; mark wrong ones."""
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
            f"no choice of backends ran the model with right results:\n{listed}\n"
            "Give more time (budget=), other backends or inputs of known shapes."
        )

    def _measured_again(self, trials: Sequence[Trial], deadline: float) -> list[Trial]:
        """Measure the trials again that a wrong one has kept from runs in turns."""
        usable = [each for each in trials if _is_usable(each)]
        if len(usable) < 2 or time.monotonic() >= deadline:
            return list(trials)
        found = {
            each.title: each for each in Contest(self._request, deadline, self._tell).run(usable)
        }
        known = [each for each in found.values() if _is_usable(each)]
        late = [each for each in usable if not _is_usable(found[each.title])]
        return [*known, *late, *(each for each in trials if each not in usable)]

    def _request_of(self, trial: Trial) -> dict[str, Any]:
        options = following(self._request["options"], trial, self._given)
        return {**self._request, "backends": list(trial.backends), "options": options}

    def _fault_of(self, trial: Trial) -> str:
        if trial.backends == (CPU_REF,):
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


def orders_of(
    backend_ids: Sequence[str], answers: Mapping[str, Sequence[bool]]
) -> list[tuple[str, ...]]:
    """Return the orders that place the layers differently.

    A backend that an order gives no layer is left out of it. Of orders with the same backend for
    each layer, the first is kept. Short orders come first, then those of preferred backends.

    Args:
        backend_ids: In the order of preference.
        answers: For each of them whether it runs each layer; nothing if that is not known, then
            each backend is tried before all others.
    """
    if not backend_ids:
        return []
    if not all(answers[each] for each in backend_ids):
        return [(each, *(other for other in backend_ids if other != each)) for each in backend_ids]
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    alone = [(each,) for each in backend_ids]
    for order in (*alone, *permutations(backend_ids[:MOST_PERMUTED])):
        runs = list(zip(*(answers[each] for each in order), strict=True))
        if all(map(any, runs)):
            placed = tuple(order[list(row).index(True)] for row in runs)
            used = tuple(each for each in order if each in placed)
            found.setdefault(placed, used or order)
    return sorted(found.values(), key=len)
