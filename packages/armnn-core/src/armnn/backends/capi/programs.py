# SPDX-License-Identifier: MIT
"""Compiled graphs: immutable, shared, and stored in envelopes of the host.

A stored program is serialized, written and read back. What is read is checked here first: envelope,
versions, device, graph and sha256. Then the backend judges the envelope (``check_blob``), and only
then does it see the bytes.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn._load_times import stage
from armnn.backends.cache import (
    Entry,
    Footprint,
    Program,
    ProgramCache,
    StaleEntryError,
)
from armnn.backends.capi.calls import (
    attempt,
    compile_details,
    exception_of,
    guarded,
    name_deadline,
    raise_stored,
)
from armnn.backends.capi.contexts import (
    NativeDevice,
    NativeModelContext,
    device_pointer,
    read_devices,
)
from armnn.backends.capi.library import NativeObject
from armnn.backends.capi.values import spelling_of
from armnn.backends.options import OptionValue
from armnn.errors import ArmnnError, BackendError, ExecutionError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.guarded import Failure
from armnn_backend_api.structs import Arena, reset_error

if TYPE_CHECKING:
    from armnn.backends.cache import Changes
    from armnn.backends.capi.graph import KeptGraph, NativeGraph
    from armnn.graph import Layer, Value


_lent: Final[dict[int, object]] = {}
_numbers: Final = itertools.count(1)


def _lend(memory: object) -> int:
    """Keep an object until :data:`_GIVE_BACK` is called with the number."""
    number = next(_numbers)
    _lent[number] = memory
    return number


def count_lent() -> int:
    """Return how many objects backends have."""
    return len(_lent)


def _give_back(number: int | None) -> None:
    _lent.pop(number or 0, None)


_GIVE_BACK: Final = abi.ReleaseFn(_give_back)
"""Ends a loan; any thread may call it."""


class NativeProgram(NativeObject, Program):
    """A compiled graph.

    Attributes:
        names: The names of its layers, by node id.
        device: The device that it was compiled for; None for the backend's first.
        envelope: The facts that it is stored under; None if it is not stored.
        kept: Its graph, if it may be compiled for other shapes.
        weigh: Finds the footprint out, if it is not known yet.
    """

    __slots__ = ("_footprint", "backend", "device", "envelope", "kept", "names", "weigh")

    def __init__(
        self,
        backend: NativeObject,
        pointer: int | None,
        names: tuple[str, ...],
        footprint: Footprint | None = None,
        device: NativeDevice | None = None,
    ) -> None:
        """Own the program that compile or deserialize returned.

        Raises:
            BackendError: The pointer was NULL.
        """
        library = backend.library
        if pointer is None:
            raise BackendError(
                f"backend {library.id!r} ({library.path}) returned no program and no error for "
                f"layer {names[0]!r}"
            )
        super().__init__(library, pointer, library.required("program_destroy"), backend)
        self.backend = backend
        self.names = names
        self.device = device
        self.envelope: Envelope | None = None
        self._footprint = footprint
        self.kept: KeptGraph[NativeProgram] | None = None
        self.weigh: Callable[[], Footprint | None] | None = None

    @property
    def footprint(self) -> Footprint | None:
        """The memory that it takes, None if not reported."""
        weigh = self.weigh
        if weigh is not None:
            self._footprint = weigh()
            self.weigh = None
        return self._footprint

    @property
    def layers(self) -> Sequence[Layer]:
        """Its layers, if its graph is kept."""
        return () if self.kept is None else self.kept.graph.layers

    @property
    def results(self) -> Sequence[Value]:
        """The values that it writes, if its graph is kept."""
        return () if self.kept is None else self.kept.graph.outputs

    def replanned(self, changes: Changes) -> NativeProgram | None:
        """Return its kept graph compiled with changes; None if refused.

        Raises:
            ArmnnError: The backend failed.
        """
        kept = self.kept
        made = None if kept is None else kept.compile(changes, self)
        if kept is not None and made is not None:
            made.kept = kept
            if made._footprint is None:
                made.weigh = functools.partial(kept.weighed, changes, self)
        return made

    @property
    def cache_key(self) -> Sequence[Any]:
        """Its graph's fingerprint, the names of its layers, and the options."""
        made = self.envelope
        return () if made is None else (made.graph_fingerprint, self.names, made.options)

    @property
    def title(self) -> str:
        """The layers in a word or two, for messages."""
        first, last = self.names[0], self.names[-1]
        return repr(first) if len(self.names) == 1 else f"{first!r} to {last!r}"

    @property
    def label(self) -> str:
        """The name of the PreCompiled layer that holds it."""
        first, last = self.names[0], self.names[-1]
        return first if len(self.names) == 1 else f"{first} to {last}"

    def context(self) -> NativeObject:
        """Return a new execution context.

        Raises:
            ArmnnError: The backend made none.
        """
        library, pointer = self.library, ctypes.c_void_p()
        create = library.required("context_create")
        failure = attempt(library, create, self.pointer, ctypes.byref(pointer))
        if failure is not None or pointer.value is None:
            action = f"make an execution context for {self.title}"
            if failure is not None:
                raise exception_of(failure, library, action)
            raise BackendError(
                f"backend {library.id!r} ({library.path}) failed to {action}: it returned neither "
                "a context nor an error"
            )
        return NativeObject(library, pointer.value, library.required("context_destroy"), self)

    def failure(self, code: int, error: abi.Error) -> ArmnnError:
        """Return a failed execute's exception; reset the error."""
        failure = Failure(code, error)
        reset_error(error)
        raise_stored()
        name_deadline(failure)
        made = exception_of(failure, self.library, f"execute {self.title}", self.names)
        return made if isinstance(made, ExecutionError) else _execution_error(made)


def _execution_error(cause: ArmnnError) -> ExecutionError:
    made = ExecutionError(str(cause))
    made.__cause__ = cause
    return made


_STALE_STATES: Final = {
    abi.BLOB_RECOMPILE: "the backend wants to compile it again",
    abi.BLOB_UNUSABLE: "the backend cannot use it here",
}
_PAYLOAD_LIMIT: Final = 1 << 36
_ALIGNMENT: Final = 64  # of blocks that are deserialized in place
_GOOD: Final = (abi.BLOB_OPTIMAL, abi.BLOB_USABLE)


@dataclass(frozen=True, slots=True)
class Envelope:
    """The facts of a serialized program: backend and versions, graph and device.

    Attributes:
        backend: The id of the backend.
        backend_version: Its own version.
        api_version: The Backend API version that it needs.
        device: The id of the device; empty for the backend's first.
        device_fingerprint: The backend's fingerprint of device, driver and library.
        graph_fingerprint: The sha256 of the graph with its constants.
        options: The user's options, as "name=value", in order.
    """

    backend: str
    backend_version: str
    api_version: str
    device: str
    device_fingerprint: str
    graph_fingerprint: str
    options: tuple[str, ...]

    def header(self) -> dict[str, Any]:
        """Return the envelope as data for JSON."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def json(self) -> str:
        """Return the envelope as JSON text, equal for equal values."""
        return json.dumps(self.header(), sort_keys=True)

    def difference(self, found: Envelope) -> str:
        """Return why another envelope does not fit; "" if it does."""
        for field in fields(self):
            ours, theirs = getattr(self, field.name), getattr(found, field.name)
            if ours != theirs:
                return f"its {field.name} is {theirs!r}, expected {ours!r}"
        return ""

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Envelope:
        """Return the envelope of :meth:`header`.

        Raises:
            StaleEntryError: It is not a header of an envelope.
        """
        texts = {name: value for name, value in header.items() if isinstance(value, str)}
        options = header.get("options")
        wanted = {field.name for field in fields(cls)}
        if texts.keys() | {"options"} != wanted or len(header) != len(wanted):
            raise StaleEntryError(
                f"its header has {sorted(header)}, expected texts {sorted(wanted)}"
            )
        if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
            raise StaleEntryError(f"its options are {options!r}, expected a list of texts")
        return cls(**texts, options=tuple(options))


def cached_program(
    backend: NativeObject,
    graph: NativeGraph,
    model: NativeModelContext,
    compile_now: Callable[[], NativeProgram],
) -> NativeProgram:
    """Return a graph's program from the cache, or compile it.

    A compiled program is stored.

    Raises:
        ArmnnError: It has to be compiled, and that failed.
    """
    library, cache = backend.library, model.cache
    if cache is None or not (library.function("serialize") and library.function("deserialize")):
        return compile_now()
    start = time.perf_counter_ns()
    envelope = _envelope_of(backend, graph.sign(), model)
    outcome = "compiled and stored"
    try:
        program = _stored(backend, model, cache, envelope, graph.names)
    except StaleEntryError as error:
        outcome = f"compiled again: {error}"
    else:
        if program is not None:
            cache.note(library.id, graph.title, "taken from the cache", start)
            return program
    program = compile_now()
    reason = _store(program, envelope, cache)
    if reason:
        outcome = f"compiled, not stored: {reason}"
    else:
        program.envelope = envelope
    cache.note(library.id, graph.title, outcome, start)
    return program


def stored_program(
    backend: NativeObject, model: NativeModelContext, key: Sequence[Any]
) -> NativeProgram:
    """Return a cached program whose graph is not available.

    Args:
        backend: Who compiled it.
        model: The backend's context of the network.
        key: Its :attr:`NativeProgram.cache_key`.

    Raises:
        StaleEntryError: It is not there, or does not fit any more.
    """
    cache = model.cache
    if cache is None:
        raise StaleEntryError("there is no cache")
    start = time.perf_counter_ns()
    fingerprint, names, options = key
    envelope = _envelope_of(backend, fingerprint, model)
    if envelope.options != tuple(options):
        had, given = (", ".join(each) or "none" for each in (options, envelope.options))
        raise StaleEntryError(
            f"it was compiled with the options of {backend.library.id} {had}, expected {given}: "
            "load it with the same options"
        )
    program = _stored(backend, model, cache, envelope, tuple(names))
    if program is None:
        raise StaleEntryError("the program is not there")
    cache.note(backend.library.id, program.title, "taken from the cache", start)
    return program


def _stored(
    backend: NativeObject,
    model: NativeModelContext,
    cache: ProgramCache,
    envelope: Envelope,
    names: tuple[str, ...],
) -> NativeProgram | None:
    """Return the program of an envelope, None without one."""
    entry = cache.read(*_key(envelope))
    if entry is None:
        return None
    program = _read(backend, model, envelope, names, entry)
    program.envelope = envelope
    return program


def _key(envelope: Envelope) -> tuple[str, ...]:
    return (envelope.backend, envelope.device, envelope.graph_fingerprint, *envelope.options)


def _envelope_of(backend: NativeObject, fingerprint: str, model: NativeModelContext) -> Envelope:
    library = backend.library
    device = model.device
    if device is None:
        device = next(iter(read_devices(backend)), None)
    return Envelope(
        backend=library.id,
        backend_version=library.version,
        api_version=str(library.api_version),
        device="" if device is None else device.id,
        device_fingerprint="" if device is None else device.fingerprint,
        graph_fingerprint=fingerprint,
        options=(*_spelt(model.defaults, "the runtime's "), *_spelt(model.options)),
    )


def _spelt(options: Mapping[str, OptionValue], whose: str = "") -> Iterator[str]:
    return (f"{whose}{key}={spelling_of(value)}" for key, value in options.items())


def _read(
    backend: NativeObject,
    model: NativeModelContext,
    envelope: Envelope,
    names: tuple[str, ...],
    entry: Entry,
) -> NativeProgram:
    header, blocks = entry
    found = Envelope.from_header(header)
    difference = envelope.difference(found)
    if difference:
        raise StaleEntryError(difference)
    if len(blocks) != 1:
        raise StaleEntryError(f"it has {len(blocks)} blocks, expected one")
    library, device = backend.library, device_pointer(model.device)
    check_blob = library.function("check_blob")
    if check_blob is not None:
        arena, state = Arena(), ctypes.c_int32(abi.BLOB_UNUSABLE)
        text = arena.text(found.json())
        failure = attempt(library, check_blob, backend.pointer, device, text, ctypes.byref(state))
        if failure is not None:
            raise StaleEntryError(failure.text or f"check_blob failed with code {failure.code}")
        if state.value not in _GOOD:
            unknown = f"check_blob answered {state.value}, which is not a state of armnn/backend.h"
            raise StaleEntryError(_STALE_STATES.get(state.value, unknown))
    pointer = ctypes.c_void_p()
    content = np.frombuffer(blocks[0], np.uint8)
    given = backend.pointer, device, content.ctypes.data, len(content)
    with compile_details() as details, stage("read"):
        in_place = library.deserialize_mapped
        if in_place is None or content.ctypes.data % _ALIGNMENT:
            failure = attempt(
                library, library.required("deserialize"), *given, ctypes.byref(pointer)
            )
        else:  # the program reads its constants where they are
            lent = _lend(content)
            failure = attempt(library, in_place, *given, _GIVE_BACK, lent, ctypes.byref(pointer))
    if failure is not None:
        raise StaleEntryError(failure.text or f"deserialize failed with code {failure.code}")
    return NativeProgram(
        backend, pointer.value, names, Footprint.from_details(details), model.device
    )


def _store(program: NativeProgram, envelope: Envelope, cache: ProgramCache) -> str:
    """Store a program; return the failure, "" without one."""

    def write(_arg: int | None, data: int | None, size: int) -> int:
        if data is None or block.size + size > _PAYLOAD_LIMIT:
            return abi.RESOURCE_EXHAUSTED if size else abi.OK
        block.append(memoryview((ctypes.c_char * size).from_address(data)))  # lent, not copied
        return abi.OK

    callback = abi.WriteFn(guarded(abi.INTERNAL)(write))
    try:
        block = cache.block()
        library = program.library
        failure = attempt(library, library.required("serialize"), program.pointer, callback, None)
    except OSError as error:
        return str(error)
    if failure is not None:
        return failure.text or f"serialize failed with code {failure.code}"
    cache.write(envelope.header(), [block], *_key(envelope))
    return ""
