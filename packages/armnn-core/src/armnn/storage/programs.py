# SPDX-License-Identifier: MIT
"""The programs of a model that is prepared or loaded.

Backends see a cache of programs; the programs go into the file of the prepared model, not into
files of their own. A network that is one program is decoded without its graph.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from armnn.backends.cache import (
    Block,
    CachedProgram,
    Entry,
    GrowingBlock,
    ProgramCache,
    StaleEntryError,
)
from armnn.backends.calling import call
from armnn.backends.contract import CachingBackend
from armnn.backends.encoding import decoded_info
from armnn.errors import ArmnnError
from armnn.optimizer.participants import Candidate
from armnn.optimizer.prepared import ProgramLayer, ProgramPorts, SingleProgram
from armnn.storage.reports import check_report, decoded_report
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    from armnn.optimizer import Participants, Prepared


_log = logging.getLogger("armnn.backends.cache")  # the name that applications know


class ModelPrograms(ProgramCache):
    """The programs that backends find for one model."""

    def __init__(self, beside: ProgramCache | None = None) -> None:
        """Begin without programs.

        Args:
            beside: The cache that has the programs of models that cannot be stored.
        """
        self._beside = beside
        self._found: dict[tuple[str, ...], Entry] = {}
        self._made: dict[tuple[str, ...], tuple[dict[str, Any], Sequence[Block]]] = {}
        self._used: dict[tuple[str, ...], None] = {}

    def read(self, *key: str) -> Entry | None:
        """Return a program; see :meth:`ProgramCache.read`."""
        entry = self._found.get(key)
        if entry is None and key in self._made:
            header, blocks = self._made[key]
            entry = header, [memoryview(b"".join(block)) for block in blocks]
        if entry is None and self._beside is not None:
            entry = self._beside.read(*key)
        if entry is not None:
            self._used[key] = None
        return entry

    def write(self, header: Mapping[str, Any], blocks: Sequence[Block], *key: str) -> None:
        """Keep a program until it is stored with its model."""
        self._made[key] = dict(header), blocks
        self._found.pop(key, None)
        self._used[key] = None

    def block(self) -> GrowingBlock:
        """Return a block; see :meth:`ProgramCache.block`."""
        return super().block() if self._beside is None else self._beside.block()

    def note(self, backend_id: str, layers: str, outcome: str, start_ns: int) -> None:
        """Record an outcome; see :meth:`ProgramCache.note`."""
        if self._beside is not None:
            self._beside.note(backend_id, layers, outcome, start_ns)
        else:
            _log.info("%s: %s: %s", backend_id, layers, outcome)

    def encoded(self) -> tuple[list[dict[str, Any]], list[Block]]:
        """Return what was used since :meth:`begin`, as JSON and blocks."""
        rows: list[dict[str, Any]] = []
        blocks: list[Block] = []
        for key in self._used:
            if key in self._made:
                header, made = self._made[key]
            else:
                header, found = self._found.get(key) or self._read_beside(key)
                made = [[block] for block in found]
            rows.append({"key": list(key), "header": header, "blocks": len(made)})
            blocks += made
        return rows, blocks

    def begin(self) -> None:
        """Begin with a further file; the programs of others go."""
        self._found.clear()
        self._made.clear()
        self._used.clear()

    def offer(self, rows: Sequence[dict[str, Any]], blocks: Sequence[memoryview]) -> None:
        """Take the programs of :meth:`encoded` from a file.

        Raises:
            StaleEntryError: They are something else.
        """
        left = iter(blocks)
        try:
            for row in rows:
                key = tuple(str(each) for each in row["key"])
                own = [next(left) for _ in range(row["blocks"])]
                self._found[key] = dict(row["header"]), own
        except (LookupError, TypeError, ValueError, StopIteration) as error:
            raise StaleEntryError(f"its programs cannot be read: {error!r}") from error

    def put_beside(self) -> None:
        """Store new programs in files of their own."""
        for key, (header, blocks) in self._made.items():
            if self._beside is not None:
                self._beside.write(header, blocks, *key)
        self.begin()

    def _read_beside(self, key: tuple[str, ...]) -> Entry:
        entry = None if self._beside is None else self._beside.read(*key)
        if entry is None:
            raise StaleEntryError("a program is not there any more")
        return entry


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
    return SingleProgram(stored["name"], layer, ports, candidate, report, decode, is_derived=True)


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
        found: CachedProgram = call(
            candidate.id, candidate.backend, "cached_program", row["program"], candidate.model
        )
    except StaleEntryError as error:
        raise StaleEntryError(f"of its program {row['name']!r}, {error}") from error
    return found


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
    known = list(inputs)
    outputs: dict[str, int | str] = {}
    for row in rows[count + 1 :]:
        ((source, at),) = row["inputs"]
        outputs[row["name"]] = at if source == count else known[source]
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
        *(
            _row("Output", each, [[known.index(at), 0] if at in inputs else [count, at]], [])
            for each, at in outputs.items()
        ),
    ]
    names, places = [name, *inputs, held["name"], *outputs], range(len(made))
    is_plain = (
        rows == expected
        and sorted(order) == list(range(len(inputs)))
        and all(type(each) is str for each in names)
        and all(at in inputs or (type(at) is int and at in places) for at in outputs.values())
        and all(info.is_static for info in (*inputs.values(), *made))
    )
    if not is_plain or len(inputs) != count:
        raise ValueError("it has other layers than inputs, a program and outputs")
    return held, ProgramPorts(inputs, tuple(known[at] for at in order), outputs, made)


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
