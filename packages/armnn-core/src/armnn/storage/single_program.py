# SPDX-License-Identifier: MIT
"""Decoding of a single program, without its graph."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from armnn.backends.base import CachingBackend
from armnn.backends.cache import StaleEntryError
from armnn.errors import ArmnnError
from armnn.optimizer.single_program import ProgramLayer, ProgramPorts, SingleProgram
from armnn.storage.infos import decoded_info
from armnn.storage.reports import check_report, decoded_report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from armnn.backends.cache import CachedProgram
    from armnn.optimizer import Participants, Prepared
    from armnn.optimizer.candidate import Candidate
    from armnn.tensor import TensorInfo


def single_program(
    stored: Mapping[str, Any],
    participants: Participants,
    decode: Callable[[CachedProgram], Prepared],
) -> SingleProgram | None:
    """Return a stored network, None without a single program.

    A network with anything unusual is left to the decoder of graphs, and to its errors.

    Args:
        stored: The network, without constants.
        participants: The backends that take part.
        decode: See :class:`SingleProgram`.

    Raises:
        StaleEntryError: The program does not fit any more, or the report is none.
    """
    try:
        row, ports = _ports_of(stored["name"], stored["layers"])
        candidate = _candidate_of(row, participants)
        if candidate.backend.handle_factory_preferences:
            return None  # its tensors may be in memory of its own
        program = program_of(row, participants)
        check_report(stored["report"], stored["parts"])
    except StaleEntryError:
        raise
    except (ArmnnError, LookupError, TypeError, ValueError, AttributeError):
        return None
    layer = ProgramLayer(row["name"], row["backend"], program)
    report = partial(decoded_report, stored["report"], stored["parts"])
    return SingleProgram(stored["name"], layer, ports, candidate, report, decode)


def program_of(row: Mapping[str, Any], participants: Participants) -> CachedProgram:
    """Return the program of a stored layer.

    Raises:
        StaleEntryError: It does not fit any more.
        ValueError: Its backend does not take part.
    """
    candidate = _candidate_of(row, participants)
    if not isinstance(candidate.backend, CachingBackend):
        raise StaleEntryError(f"the backend {candidate.id!r} finds no programs in caches any more")
    try:
        return candidate.backend.cached_program(row["program"], candidate.model)
    except StaleEntryError as error:
        raise StaleEntryError(f"of its program {row['name']!r}, {error}") from error


def _candidate_of(row: Mapping[str, Any], participants: Participants) -> Candidate:
    (candidate,) = [each for each in participants.all if each.id == row["backend"]]
    return candidate


def _ports_of(name: object, rows: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ProgramPorts]:
    """Return the row of the only program, and the ports.

    Raises:
        Exception: The network is another, or none: a LookupError, TypeError, ValueError,
            AttributeError or ArmnnError.
    """
    count = [row["type"] for row in rows].index("PreCompiled")
    held, made = rows[count], tuple(map(decoded_info, rows[count]["outputs"]))
    inputs = {row["name"]: _only_info(row) for row in rows[:count]}
    outputs = {row["name"]: row["inputs"][0][1] for row in rows[count + 1 :]}
    order = [at for at, _ in held["inputs"]]
    slots = {} if len(made) == 1 else {"num_output_slots": len(made)}
    expected = [
        *(_row("Input", row["name"], [], row["outputs"]) for row in rows[:count]),
        {
            **_row("PreCompiled", held["name"], [[at, 0] for at in order], held["outputs"]),
            "backend": held["backend"],
            "parameters": slots,
            "program": held["program"],
        },
        *(_row("Output", each, [[count, at]], []) for each, at in outputs.items()),
    ]
    names, places = [name, *inputs, held["name"], *outputs], range(len(made))
    is_plain = (
        rows == expected
        and sorted(order) == list(range(len(inputs)))
        and all(type(each) is str for each in names)
        and all(type(at) is int and at in places for at in outputs.values())
        and all(info.is_static for info in (*inputs.values(), *made))
    )
    if not is_plain or len(inputs) != count:
        raise ValueError("it has other layers than inputs, a program and outputs")
    return held, ProgramPorts(inputs, tuple(list(inputs)[at] for at in order), outputs, made)


def _only_info(row: Mapping[str, Any]) -> TensorInfo:
    (info,) = row["outputs"]
    return decoded_info(info)


def _row(
    kind: str, name: object, inputs: Sequence[object], outputs: Sequence[object]
) -> dict[str, Any]:
    """Return the row of a layer without backend and parameters."""
    return {
        "type": kind,
        "name": name,
        "backend": None,
        "inputs": inputs,
        "outputs": outputs,
        "parameters": {},
    }
