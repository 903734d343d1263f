# SPDX-License-Identifier: MIT
"""``backends="auto"``: the choice of an earlier measurement."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from armnn.backends.crashes import is_ours_alone
from armnn.errors import PlacementError
from armnn.graph import Network
from armnn.verdicts.files import (
    SUFFIX,
    Verdict,
    found_verdict,
    read_verdicts,
    user_verdicts,
    verdict_of,
    write_verdict,
)
from armnn.verdicts.identity import (
    builds_of,
    identity_of_file,
    identity_of_network,
    this_machine,
)
from armnn.verdicts.transfer import merged, transferable, transferable_optimizer
from armnn_backend_api.processes import Bounds, PythonCall, run

if TYPE_CHECKING:
    from armnn.backends import CreationOptions
    from armnn.backends.registry import BackendRegistry
    from armnn.optimizer import OptimizerOptions
    from armnn.parsing import ParserOptions

_log = logging.getLogger(__name__)

_MEASURE: Final = "armnn.placement.tuning:measure"
MOST_SECONDS: Final = 3600.0
"""How long a measurement may take beyond its budget: the checks compute every layer twice."""


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
    creation_options: CreationOptions,
    parser_options: ParserOptions | None = None,
) -> Choice:
    """Return the backends of a verdict, else the usual ones.

    Args:
        model: The model's file, or a network without one.
        options: The caller's.
        registry: The backends of the runtime.
        creation_options: Those of the runtime, for a measurement.
        parser_options: Those of the model, for a measurement.

    Raises:
        PlacementError: The file of verdicts that the options name cannot be used, or the
            measurement that they ask for found nothing.
    """
    plain = replace(options, verdicts="", auto_budget=0.0)
    verdict, reason = _verdict(model, options.verdicts, registry)
    if verdict is None and options.auto_budget:
        verdict = _measured(options, model, creation_options, parser_options)
    if verdict is None:
        text = f"not measured: {reason}; armnn tune measures, until then the usual order holds"
        _log.warning("backends='auto' for %s: %s", _title(model), text)
        known = {backend.id for backend in registry.find_usable()}
        usual = {each: named for each, named in options.model_options.items() if each in known}
        return Choice(None, replace(plain, model_options=usual), text)
    chosen = verdict.chosen
    given = merged(options.model_options, chosen.options, chosen.backends)
    placed = dict(options.layer_backends)
    if isinstance(model, Path) or {*chosen.layer_backends} <= {each.name for each in model.layers}:
        placed = {**chosen.layer_backends, **placed}
    followed = replace(plain, model_options=given, layer_backends=placed)
    return Choice(chosen.backends, followed, str(verdict))


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


def _measured(
    options: OptimizerOptions,
    model: Path | Network,
    creation_options: CreationOptions,
    parser_options: ParserOptions | None,
) -> Verdict:
    """Measure in a child process; keep the verdict if possible."""
    with tempfile.TemporaryDirectory(prefix="armnn-auto-") as folder:
        path, identity = model, ""
        if isinstance(model, Network):
            from armnn.storage.armnn_files import save  # late: few models are networks

            path, identity = Path(folder, "model.armnn"), identity_of_network(model)
            save(model, path, beyond_arm_nn=True)
        request = {
            "model": str(path),
            "budget": options.auto_budget,
            "options": transferable_optimizer(options),
            "creation_options": transferable(creation_options),
            "parser_options": dict(parser_options or {}),
        }
        bounds = Bounds(seconds=options.auto_budget + MOST_SECONDS)
        ending = run(PythonCall(_MEASURE, [request]), bounds)
    if not ending.is_success:
        words = ending.errors.decode(errors="replace").strip().splitlines()[-1:]
        detail = "".join(each if each.isprintable() else "?" for each in "".join(words))[:2000]
        raise PlacementError(f"the measurement for {_title(model)} ended with {ending}: {detail}")
    verdict = verdict_of(ending.output)
    if identity:
        verdict = replace(verdict, models=(identity,))
    kept = Path(options.verdicts) if options.verdicts else user_verdicts()
    if kept is not None:
        try:
            write_verdict(kept, verdict)
        except PlacementError as error:
            _log.warning("The verdict is not kept: %s", error)
    return verdict


def _title(model: Path | Network) -> str:
    return repr(model.name if isinstance(model, Network) else str(model))
