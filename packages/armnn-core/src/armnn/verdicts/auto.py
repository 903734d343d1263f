# SPDX-License-Identifier: MIT
"""``backends="auto"``: the choice of an earlier measurement."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from armnn.backends.crashes import is_ours_alone
from armnn.backends.registry import BackendRegistry
from armnn.errors import PlacementError
from armnn.graph import Network
from armnn.optimizer import OptimizerOptions
from armnn.verdicts.files import (
    SUFFIX,
    Verdict,
    builds_of,
    found_verdict,
    identity_of_file,
    identity_of_network,
    read_verdicts,
    this_machine,
    user_verdicts,
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """The backends in place of ``"auto"``.

    Attributes:
        backends: The ids in the order of preference; None for the usual order.
        options: The caller's, with those of the verdict.
        text: Where the choice comes from.
    """

    backends: tuple[str, ...] | None
    options: OptimizerOptions
    text: str


def choose(
    model: Path | Network,
    options: OptimizerOptions,
    registry: BackendRegistry,
) -> Choice:
    """Return the backends of a verdict, else the usual ones.

    Args:
        model: The model's file, or a network without one.
        options: The caller's.
        registry: The backends of the runtime.

    Raises:
        PlacementError: The file of verdicts that the options name cannot be used.
    """
    plain = replace(options, verdicts="")
    verdict, reason = _verdict(model, options.verdicts, registry)
    if verdict is None:
        text = f"not measured: {reason}; armnn tune measures, until then the usual order holds"
        _log.warning("backends='auto' for %s: %s", _title(model), text)
        known = {backend.id for backend in registry.find_usable()}
        usual = {each: named for each, named in options.model_options.items() if each in known}
        return Choice(None, replace(plain, model_options=usual), text)
    chosen = verdict.chosen
    given = merged(options.model_options, chosen.options, chosen.backends)
    return Choice(chosen.backends, replace(plain, model_options=given), str(verdict))


def _verdict(
    model: Path | Network, file: str, registry: BackendRegistry
) -> tuple[Verdict | None, str]:
    """Return the verdict that holds, else why none does."""
    if isinstance(model, Network):
        identities: Sequence[str] = (identity_of_network(model),)
    else:
        identities = (identity_of_file(model),)
    machine = this_machine()
    reason = "no file of verdicts has this model on this machine"
    for path in _files(model, file):
        try:
            verdict = found_verdict(read_verdicts(path), identities, machine)
        except PlacementError as error:
            if file:
                raise
            reason = str(error)
            continue
        if verdict is None:
            continue
        change = verdict.change_since(builds_of(verdict.chosen.backends, registry.entries()))
        if not change:
            return verdict, ""
        reason = f"the verdict in {str(path)!r} holds no more: {change}"
    return None, reason


def _files(model: Path | Network, file: str) -> list[Path]:
    """Return the files of verdicts to look into, in order."""
    if file:
        return [Path(file)]
    beside = [] if isinstance(model, Network) else [model.with_name(model.name + SUFFIX)]
    mine = user_verdicts()
    found = [path for path in beside if path.is_file()]
    if mine is not None and mine.is_file() and is_ours_alone(mine):
        found.append(mine)
    return found


def _title(model: Path | Network) -> str:
    return repr(model.name if isinstance(model, Network) else str(model))


def merged(
    given: Mapping[str, Mapping[str, Any]],
    chosen: Mapping[str, Mapping[str, Any]],
    backends: Sequence[str],
) -> dict[str, dict[str, Any]]:
    """Return a choice's options under the caller's, for its backends."""
    found = {each: {**chosen.get(each, {}), **given.get(each, {})} for each in backends}
    return {backend: options for backend, options in found.items() if options}
