# SPDX-License-Identifier: MIT
"""Programs that outlive the process, in the host's envelopes.

They are serialised, stored and read back. What is read is checked here first: envelope, versions,
device, graph and sha256. Then the backend judges the envelope (``check_blob``), and only then does
it see the bytes.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn._load_times import stage
from armnn.backends.cache import Entry, Footprint, ProgramCache, StaleEntryError
from armnn.backends.ffi.calls import compile_details, guarded
from armnn.backends.ffi.errors import attempt
from armnn.backends.ffi.values import spelling_of
from armnn.backends.native.contexts import NativeModelContext, device_pointer, read_devices
from armnn.backends.native.lifetimes import NativeObject
from armnn.backends.native.programs.program import GIVE_BACK, NativeProgram, lend
from armnn.backends.options import OptionValue
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena

if TYPE_CHECKING:
    from armnn.backends.native.programs.graph import NativeGraph

_VERDICTS: Final = {
    abi.BLOB_RECOMPILE: "the backend wants to compile it again",
    abi.BLOB_UNUSABLE: "the backend cannot use it here",
}
_PAYLOAD_LIMIT: Final = 1 << 36
_ALIGNMENT: Final = 64  # of what is deserialised where it is
_GOOD: Final = (abi.BLOB_OPTIMAL, abi.BLOB_USABLE)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a serialised program was made by, of and for.

    Attributes:
        backend: The id of the backend.
        backend_version: Its own version.
        api_version: The Backend API version that it needs.
        device: The id of the device; empty for the backend's first.
        device_fingerprint: What the backend says of device, driver and library.
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
        """Return it as JSON can hold it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def json(self) -> str:
        """Return it as JSON, equal for equal values."""
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
            StaleEntryError: It is none.
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
        program.fingerprint = envelope.graph_fingerprint
    cache.note(library.id, graph.title, outcome, start)
    return program


def stored_program(
    backend: NativeObject, model: NativeModelContext, fingerprint: str, names: tuple[str, ...]
) -> NativeProgram:
    """Return a cached program whose graph is not available.

    Args:
        backend: Who compiled it.
        model: What the backend knows of the network.
        fingerprint: See :attr:`NativeProgram.fingerprint`.
        names: The names of its layers, by node id.

    Raises:
        StaleEntryError: It is not there, or does not fit any more.
    """
    cache = model.cache
    if cache is None:
        raise StaleEntryError("there is no cache")
    start = time.perf_counter_ns()
    envelope = _envelope_of(backend, fingerprint, model)
    program = _stored(backend, model, cache, envelope, names)
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
    program.fingerprint = envelope.graph_fingerprint
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
        arena, verdict = Arena(), ctypes.c_int32(abi.BLOB_UNUSABLE)
        text = arena.text(found.json())
        failure = attempt(check_blob, backend.pointer, device, text, ctypes.byref(verdict))
        if failure is not None:
            raise StaleEntryError(failure.text or f"check_blob failed with code {failure.code}")
        if verdict.value not in _GOOD:
            unknown = f"the backend's verdict on it is {verdict.value}, which is unknown"
            raise StaleEntryError(_VERDICTS.get(verdict.value, unknown))
    pointer = ctypes.c_void_p()
    content = np.frombuffer(blocks[0], np.uint8)
    given = backend.pointer, device, content.ctypes.data, len(content)
    with compile_details() as details, stage("read"):
        in_place = library.deserialize_mapped
        if in_place is None or content.ctypes.data % _ALIGNMENT:
            failure = attempt(library.required("deserialize"), *given, ctypes.byref(pointer))
        else:  # the program reads its constants where they are
            lent = lend(content)
            failure = attempt(in_place, *given, GIVE_BACK, lent, ctypes.byref(pointer))
    if failure is not None:
        raise StaleEntryError(failure.text or f"deserialize failed with code {failure.code}")
    return NativeProgram(backend, pointer.value, names, Footprint.from_details(details))


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
        failure = attempt(program.library.required("serialize"), program.pointer, callback, None)
    except OSError as error:
        return str(error)
    if failure is not None:
        return failure.text or f"serialize failed with code {failure.code}"
    cache.write(envelope.header(), [block], *_key(envelope))
    return ""
