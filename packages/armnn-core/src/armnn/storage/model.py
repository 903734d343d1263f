# SPDX-License-Identifier: MIT
"""The entries of one model: facts, the files beside it, prepared networks."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from os import stat_result
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from armnn.backends.cache import Block, Entry, Program, StaleEntryError
from armnn.backends.encoding import UnstorableError, decoded_info, encoded_info, member_of
from armnn.graph.aliases import Aliases
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Participants
from armnn.optimizer.plan import Cache, Count, Counter, NetworkFacts, Plan
from armnn.parsing import is_below, resolved_below
from armnn.storage.folder import VERSION, CacheFolder, stamp_in, stamp_of
from armnn.storage.programs import ModelPrograms, plan_of_programs
from armnn.tensor import TensorInfo, format_shape
from armnn.types import QuantizedArithmetic


class ExternalFiles:
    """The files beside one model.

    Args:
        model: The model's file; "" for content.
        digest_of: Returns the sha256 of a file.
        folder: The folder of content; that of the file is its own.
    """

    def __init__(self, model: str, digest_of: Callable[[str], str], folder: str = "") -> None:
        self._model, self._folder = model, folder or os.path.dirname(model)
        self._digest_of = digest_of

    def digests_of(self, files: Mapping[str, os.stat_result]) -> dict[str, str]:
        """Return the sha256 of files as they were read.

        Args:
            files: The status of each when it was opened.

        Raises:
            StaleEntryError: One is another now.
        """
        return {name: self._digest(name, stamp_in(status)) for name, status in files.items()}

    def check(self, recorded: Mapping[str, str]) -> None:
        """Check that the model's files did not change since an entry was written.

        Args:
            recorded: The sha256 of each.

        Raises:
            StaleEntryError: One is another, is gone, or is not below the model's folder.
        """
        for name, digest in recorded.items():
            if self._digest(name) != digest:
                raise _changed(name)

    def complete(self, recorded: dict[str, str], files: Mapping[str, os.stat_result]) -> None:
        """Check recorded files, and record those read, as above."""
        self.check(recorded)
        # Parsers that were made for armnn-core 1.2.0 read files that have no name.
        new = {name: files[name] for name in files if name and name not in recorded}
        recorded.update(self.digests_of(new))

    def _digest(self, name: str, stamp: tuple[int, ...] = ()) -> str:
        path = resolved_below(self._folder, name, self._model) if is_below(name) else ""
        if not path:
            raise StaleEntryError(f"its file {name!r} is not below the model's folder")
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe would wait
                raise StaleEntryError(f"its file {name!r} is not a regular one")
            digest = self._digest_of(path)
        except OSError as error:
            raise StaleEntryError(f"its file {name!r} cannot be read: {error.strerror}") from error
        if stamp and stamp_of(path) != stamp:
            raise _changed(name)
        return digest


def _changed(name: str) -> StaleEntryError:
    return StaleEntryError(f"its file {name!r} has changed")


def encoded_facts(facts: NetworkFacts) -> dict[str, Any]:
    """Return the facts of a network as JSON."""
    stored = {field.name: getattr(facts, field.name) for field in fields(facts)}
    for side in ("inputs", "outputs"):
        stored[side] = {name: encoded_info(info) for name, info in stored[side].items()}
    stored["aliases"] = [dict(facts.aliases.inputs), dict(facts.aliases.outputs)]
    stored["caches"] = {name: list(cache) for name, cache in facts.caches.items()}
    return stored | {"quantized_arithmetic": int(facts.quantized_arithmetic)}


def _decoded_cache(
    stored: Mapping[str, Any], name: str, output: str, axis: int, rows: Any, counted: Any
) -> Cache:
    """Return a cache of a network.

    Raises:
        ValueError: It names what the network has not.
    """
    counters = tuple([Counter(*each) for each in counted])
    inputs, kind = stored["inputs"], type(rows)
    named = [name, *(each.input for each in counters), *(rows[:1] if kind is list else [])]
    if output not in stored["outputs"] or any(each not in inputs for each in named):
        raise ValueError(f"the cache {name!r} has other tensors")
    if any(each.kind not in get_args(Count) for each in counters):
        raise ValueError(f"the cache {name!r} counts its rows in another way")
    if kind is list:
        rows = (str(rows[0]), range(inputs[rows[0]].rank or 0)[rows[1]])
    elif rows is not None and (kind is not int or rows < 0):
        raise ValueError(f"the cache {name!r} has {rows!r} rows")
    return Cache(output, range(inputs[name].rank or 1)[axis], rows, counters)


def decoded_facts(stored: dict[str, Any]) -> NetworkFacts:
    """Return the facts of :func:`encoded_facts`.

    Raises:
        StaleEntryError: It is something else.
    """
    try:
        for side in ("inputs", "outputs"):
            stored[side] = {name: decoded_info(info) for name, info in stored[side].items()}
        arithmetic = member_of(QuantizedArithmetic, stored.pop("quantized_arithmetic"))
        inputs, outputs = (dict(names) for names in stored.pop("aliases"))
        aliases = Aliases(inputs, outputs)
        stored["caches"] = {
            name: _decoded_cache(stored, name, *row)
            for name, row in stored.get("caches", {}).items()
        }
        return NetworkFacts(**stored, quantized_arithmetic=arithmetic, aliases=aliases)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise StaleEntryError(f"it is not a model: {error!r}") from error


class ModelStore:
    """The files of one model in a cache.

    A model of one set of input shapes has one file: the facts, the prepared network, the programs
    and the constants. One of several has a file of facts, and one for each set that was prepared
    without an earlier one. Each records the files beside the model that it was made of.

    Args:
        model: The model's file.
        cache: The cache.
        dependencies: All that the preparation of the model depends on but files beside it.
        programs: The programs that backends find while the model is prepared and loaded.
    """

    def __init__(
        self,
        model: str,
        cache: CacheFolder,
        dependencies: Mapping[str, Any],
        programs: ModelPrograms,
    ) -> None:
        self._model = model
        self._cache = cache
        self._key = ("model", repr(sorted({**dependencies, "format": VERSION}.items())))
        self._programs = programs
        self._first: Entry | None = None
        self._files: dict[str, str] = {}

    @property
    def files(self) -> dict[str, str]:
        """The sha256 of files beside it, once it has facts."""
        return dict(self._files)

    def facts(self) -> NetworkFacts | None:
        """Return the facts of the model, if they are stored."""
        start = time.perf_counter_ns()
        try:
            entry = self._cache.read(*self._key)
            if entry is None:
                return None
            files, facts = self._checked_files(entry), facts_in(entry)
            self._files, self._first = files, entry
            return facts
        except StaleEntryError as error:
            self._cache.note("model", "facts", f"parsed again: {error}", start)
            return None

    def keep_facts(self, facts: NetworkFacts, read: Mapping[str, stat_result]) -> None:
        """Store the facts of a model with open shapes.

        Args:
            facts: The facts.
            read: See :meth:`files_of`.

        Raises:
            StaleEntryError: A file is another by now.
        """
        self._files = self.files_of(read)
        self._cache.write({"facts": encoded_facts(facts), "files": self._files}, (), *self._key)

    def files_of(self, read: Mapping[str, stat_result]) -> dict[str, str]:
        """Return the sha256 of the files beside the model.

        Args:
            read: The status of each when it was opened.

        Raises:
            StaleEntryError: One is another by now, or than the facts were made of.
        """
        if not read:
            return self._like_the_facts({})

        files = ExternalFiles(self._model, self._cache.digests.of)
        return self._like_the_facts(files.digests_of(read))

    def prepared(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        values: Mapping[str, NDArray[Any]],
        facts: NetworkFacts,
        participants: Participants,
        options: OptimizerOptions,
    ) -> Plan | None:
        """Return the prepared network for input shapes, if stored."""
        start = time.perf_counter_ns()
        try:
            entry, self._first = self._first, None
            if not facts.is_static:
                entry = self._cache.read(*self._key, *_spelled(shapes, values))
            if entry is None or entry[0].get("network") is None:
                return None
            self._checked_files(entry)
            found = network_in(entry, self._programs, shapes, facts, participants, options)
        except StaleEntryError as error:
            self._cache.note("model", _title(shapes), f"prepared again: {error}", start)
            return None
        self._programs.begin()
        self._cache.note("model", _title(shapes), "taken from the cache", start)
        return found

    def keep(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        values: Mapping[str, NDArray[Any]],
        plan: Plan,
        facts: NetworkFacts,
        participants: Participants,
    ) -> None:
        """Store the prepared network for input shapes, if possible."""
        start = time.perf_counter_ns()
        outcome = "prepared and stored"
        header: dict[str, Any] = {}
        blocks: list[Block] = []
        try:
            header = {"facts": encoded_facts(facts)}
            header["files"] = self.files_of(plan.network.external_files)
            more, blocks = file_of(facts, plan, participants, self._programs)
            header |= more
        except (UnstorableError, StaleEntryError) as error:
            outcome = f"prepared, not stored: {error}"
            self._programs.put_beside()
        if facts.is_static and "files" in header:
            self._cache.write(header, blocks, *self._key)
        elif "network" in header:
            self._cache.write(header, blocks, *self._key, *_spelled(shapes, values))
        self._programs.begin()
        self._cache.note("model", _title(shapes), outcome, start)

    def _checked_files(self, entry: Entry) -> dict[str, str]:
        """Return the sha256 of each file that an entry records.

        The files of the facts were checked when the model was loaded.

        Raises:
            StaleEntryError: One is another now, or than the facts were made of.
        """
        recorded = entry[0].get("files", {})
        if not isinstance(recorded, dict):
            raise StaleEntryError(f"its files are {recorded!r}, expected digests by name")
        new = {name: recorded[name] for name in recorded if name not in self._files}
        if new:
            ExternalFiles(self._model, self._cache.digests.of).check(new)
        return self._like_the_facts(recorded)

    def _like_the_facts(self, files: dict[str, str]) -> dict[str, str]:
        for name, digest in self._files.items():
            if files.get(name) != digest:
                raise StaleEntryError(f"its file {name!r} has changed")
        return files


def file_of(
    facts: NetworkFacts, plan: Plan, participants: Participants, programs: ModelPrograms
) -> tuple[dict[str, Any], list[Block]]:
    """Return a plan as a file's header and blocks.

    Raises:
        UnstorableError: It cannot be stored.
        StaleEntryError: A program is gone.
    """
    from armnn.storage.prepared import encoded  # late: a prepared load does without

    network, arrays = encoded(plan, participants, programs)
    rows, blocks = programs.encoded()
    constants: list[Block] = [[_bytes_of(array)] for array in arrays]
    header = {"facts": encoded_facts(facts), "network": network, "constants": len(arrays)}
    return {**header, "programs": rows}, [*constants, *blocks]


def facts_in(entry: Entry) -> NetworkFacts:
    """Return the facts in a file.

    Raises:
        StaleEntryError: There are none.
    """
    stored = entry[0].get("facts")
    if not isinstance(stored, dict):
        raise StaleEntryError("it holds no facts of a model")
    return decoded_facts(dict(stored))


def network_in(
    entry: Entry,
    programs: ModelPrograms,
    shapes: Mapping[str, tuple[int, ...]],
    facts: NetworkFacts,
    participants: Participants,
    options: OptimizerOptions,
) -> Plan:
    """Return the prepared network in a file, sharing bytes.

    Raises:
        StaleEntryError: It is damaged, or does not fit any more.
    """
    header, blocks = entry
    network, constants, rows = (header.get(name) for name in ("network", "constants", "programs"))
    if not isinstance(network, dict) or not isinstance(rows, list):
        raise StaleEntryError("it holds no prepared network")
    if type(constants) is not int or not 0 <= constants <= len(blocks):
        raise StaleEntryError(f"it has {constants!r} constants, and {len(blocks)} blocks")
    programs.offer(rows, blocks[constants:])

    def decode(found: Mapping[str, Program] | None = None) -> Plan:
        from armnn.storage.prepared import decoded  # late: a prepared load does without

        return decoded(network, blocks[:constants], participants, options, found or {})

    plan = None
    if not constants:
        plan = plan_of_programs(network, participants, lambda found: decode(found).network)
    if plan is None:
        plan = decode()
    taken = {name: tensor.info for name, tensor in plan.inputs.items()}
    _check_ports(taken, plan.outputs, shapes, facts)
    return plan


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _check_ports(
    taken: Mapping[str, TensorInfo],
    made: Iterable[str],
    shapes: Mapping[str, tuple[int, ...]],
    facts: NetworkFacts,
) -> None:
    """Check that a network has the model's inputs and outputs.

    Raises:
        StaleEntryError: It does not.
    """
    wanted = {name: info.with_shape(shapes[name]) for name, info in facts.inputs.items()}
    if taken != wanted or list(made) != list(facts.outputs):
        raise StaleEntryError(f"it takes {taken} and makes {list(made)}")


def _spelled(
    shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
) -> tuple[str, ...]:
    """Return input shapes and values as parts of a key."""
    parts = [f"{name}={shape}" for name, shape in shapes.items()]
    for name, value in values.items():
        parts.append(f"{name} is {value.dtype} {np.ascontiguousarray(value).tobytes().hex()}")
    return tuple(parts)


def _title(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name}={format_shape(shape)}" for name, shape in shapes.items())
