# SPDX-License-Identifier: MIT
"""The programs of a model that is prepared or loaded.

Backends see a cache of programs; the programs go into the file of the prepared model, not into
files of their own. A network of programs alone is decoded without its graph.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from armnn.backends.cache import (
    Block,
    Entry,
    GrowingBlock,
    Program,
    ProgramCache,
    StaleEntryError,
)
from armnn.backends.calling import call, explained
from armnn.backends.contract import Backend, CachingBackend
from armnn.backends.encoding import UnstorableError, decoded_info
from armnn.backends.memory import HOST_FACTORY_ID
from armnn.errors import ArmnnError
from armnn.optimizer.participants import Candidate
from armnn.optimizer.plan import Plan, PlannedLayer, PlannedTensor
from armnn.storage.folder import FileBlock
from armnn.storage.reports import check_report, decoded_report

if TYPE_CHECKING:
    from armnn.graph import Layer, Network
    from armnn.optimizer import Participants


_log = logging.getLogger("armnn.backends.cache")  # the name that applications know


class ModelPrograms(ProgramCache):
    """The programs that backends find for one model."""

    def __init__(self, beside: ProgramCache | None = None, folder: str | None = None) -> None:
        """Begin without programs.

        Args:
            beside: The cache that has the programs of models that cannot be stored.
            folder: Where large programs are until they are stored, without a cache; in memory if
                left out.
        """
        self._beside = beside
        self._folder = folder
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
        if self._beside is not None:
            return self._beside.block()
        return super().block() if self._folder is None else FileBlock(self._folder)

    def note(self, backend_id: str, layers: str, outcome: str, start_ns: int) -> None:
        """Record an outcome; see :meth:`ProgramCache.note`."""
        if self._beside is not None:
            self._beside.note(backend_id, layers, outcome, start_ns)
        else:
            _log.info("%s: %s: %s", backend_id, layers, outcome)

    def encoded(self) -> tuple[list[dict[str, Any]], list[Block]]:
        """Return the programs used since :meth:`begin`, as JSON and blocks."""
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


def plan_of_programs(
    stored: Mapping[str, Any],
    participants: Participants,
    decode: Callable[[Mapping[str, Program]], Network],
) -> Plan | None:
    """Return the plan of a stored network, None if it has other layers than programs.

    A network with anything unusual is left to the decoder of graphs, and to its errors.

    Args:
        stored: The network, without constants.
        participants: The backends that take part.
        decode: Makes the graph around programs, by the name of their layers.

    Raises:
        StaleEntryError: A program does not fit any more, or the report is none.
    """
    programs: dict[str, Program] = {}
    try:
        plan = Plan(
            stored["name"],
            {},
            {},
            [],
            partial(decoded_report, stored["report"]),
            partial(decode, programs),
            is_derived=True,
            in_place=stored_in_place(stored),
        )
        held = _fill(plan, stored["layers"])
        for row in held:
            if _candidate_of(row, participants).handle_factory_preferences:
                return None  # its tensors may be in memory of its own
        for row, layer in zip(held, plan.layers, strict=True):
            layer.compiled = programs[layer.name] = program_of(row, participants)
        check_report(stored["report"])
    except StaleEntryError:
        raise
    except (ArmnnError, LookupError, TypeError, ValueError, AttributeError):
        return None
    return plan


def stored_in_place(stored: Mapping[str, Any]) -> dict[str, str]:
    """Return the outputs of a stored plan that may be in the memory of an input.

    Raises:
        ValueError: They are not names.
    """
    pairs = stored.get("in_place", {})
    if not isinstance(pairs, dict) or not all(isinstance(each, str) for each in pairs.values()):
        raise ValueError(f"its outputs in place are {pairs!r}: expected names")
    return pairs


def program_of(row: Mapping[str, Any], participants: Participants) -> Program:
    """Return the program of a stored layer.

    Raises:
        StaleEntryError: It does not fit any more.
        ValueError: Its backend does not take part.
    """
    candidate = _candidate_of(row, participants)
    if not isinstance(candidate.backend, CachingBackend):
        raise StaleEntryError(f"the backend {candidate.id!r} finds no programs in caches any more")
    try:
        found: Program = call(
            candidate.id, candidate.backend, "cached_program", row["program"], candidate.model
        )
    except StaleEntryError as error:
        raise StaleEntryError(f"of its program {row['name']!r}, {error}") from error
    return found


def keep_compiled(
    layer: Layer, participants: Participants, programs: ProgramCache
) -> Sequence[str]:
    """Store the object of a PreCompiled layer that is not a program; return its key.

    The key is empty if the backend cannot serialize it.

    Raises:
        UnstorableError: The backend failed.
    """
    (candidate,) = [each for each in participants.all if each.id == layer.backend]
    backend = candidate.backend
    version = backend.api_version.major, backend.api_version.minor
    if version < _SERIALIZE_SINCE or type(backend).serialize is Backend.serialize:
        return ()
    given = layer.compiled, candidate.model
    try:
        blob: bytes | None = call(candidate.id, backend, "serialize", *given, about=layer)
    except ArmnnError as error:
        raise UnstorableError(explained(error)) from error
    if blob is None:
        return ()
    key = "compiled", candidate.id, hashlib.sha256(blob).hexdigest()
    programs.write({}, [[blob]], *key)
    return key


def compiled_of(row: Mapping[str, Any], participants: Participants) -> object:
    """Return the program of a stored PreCompiled layer; see :func:`keep_compiled`.

    Raises:
        StaleEntryError: It is not there, or the backend cannot use it here.
        ValueError: Its backend does not take part.
    """
    candidate = _candidate_of(row, participants)
    cache, key = candidate.model.cache, row["compiled"]
    entry = None if cache is None else cache.read(*key)
    if entry is None:
        raise StaleEntryError(f"its part {row['name']!r} is not there any more")
    (block,) = entry[1]
    blob = bytes(block)
    if hashlib.sha256(blob).hexdigest() != key[-1]:
        raise StaleEntryError(f"its part {row['name']!r} is damaged")
    given = blob, candidate.model
    try:
        return call(candidate.id, candidate.backend, "deserialize", *given, about=row["name"])
    except Exception as error:  # of bytes that may be anyone's, such as struct.error
        raise StaleEntryError(f"of its part {row['name']!r}, {explained(error)}") from error


_SERIALIZE_SINCE: Final = (1, 3)
"""Backend API from which on a backend in Python is asked for the bytes of its compiled parts."""


def _candidate_of(row: Mapping[str, Any], participants: Participants) -> Candidate:
    (candidate,) = [each for each in participants.all if each.id == row["backend"]]
    return candidate


def _fill(plan: Plan, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the tensors and layers of rows to a plan; return the rows of programs.

    Raises:
        Exception: The network is another, or none: a LookupError, TypeError, ValueError,
            AttributeError or ArmnnError.
    """
    made: list[list[PlannedTensor]] = []
    held = []
    known: set[tuple[str, str]] = set()
    for row in rows:
        kind, name, places = row["type"], row["name"], row["inputs"]
        infos = [decoded_info(each) for each in row["outputs"]]
        if not all(type(number) is int and number >= 0 for at in places for number in at):
            raise ValueError("an input is not an output of another layer")
        read = [made[source][slot] for source, slot in places]
        expected = _row(kind, name, places, row["outputs"])
        tensors = [PlannedTensor(name, info, HOST_FACTORY_ID) for info in infos]
        known.add((kind, name))
        if kind == "Input" and len(infos) == 1 and not read:
            plan.inputs[name] = tensors[0]
        elif kind == "Output" and len(read) == 1:
            plan.outputs[name] = read[0]
        elif kind == "PreCompiled" and infos:
            slots = {} if len(infos) == 1 else {"num_output_slots": len(infos)}
            expected |= {
                "backend": row["backend"],
                "parameters": slots,
                "program": row["program"],
            }
            for tensor in (*read, *tensors):
                tensor.owner = tensor.owner or row["backend"]
            if len(tensors) > 1:
                for slot, tensor in enumerate(tensors):
                    tensor.name = f"{name}:{slot}"
            plan.layers.append(
                PlannedLayer(name, kind, row["backend"], tuple(read), tuple(tensors))
            )
            held.append(row)
        else:
            raise ValueError("it has other layers than inputs, programs and outputs")
        if row != expected or type(name) is not str or not all(info.is_static for info in infos):
            raise ValueError("it has a layer with parameters that stored programs do not keep")
        made.append(tensors)
    if type(plan.name) is not str or len(known) != len(rows):
        raise ValueError("it has no name, or two layers have the same one")
    return held


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
