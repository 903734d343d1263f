# SPDX-License-Identifier: MIT
"""Probes one file: opens and uses it like a runtime.

The parent reads on a pipe which step begins and, at the end, the result. A step that does not
return, for whatever reason, is thus known by its name.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from armnn_backend_api import BackendVersion, is_compatible
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.exports import Exports, LibraryError, check_id, open_library
from armnn_backend_api.structs import new_error, struct, text_of
from armnn_backend_api.table import read_text
from armnn_dynamic_loader.child.graphs import Execution, ProbeGraph, supports_of
from armnn_dynamic_loader.child.host import ProbingHost
from armnn_dynamic_loader.child.surroundings import Surroundings, left_running

LARGEST_OUTPUT: Final = 1 << 24
"""Bytes that the process may write to any one file, stdout and stderr among them."""

_SHOWN: Final = 200
_PR_SET_PDEATHSIG: Final = 1


class DefectError(Exception):
    """The file breaks the contract.

    The text is the rest of a sentence.
    """


class UnavailableError(Exception):
    """The backend lacks a device or library that it needs.

    That is no defect.
    """


class Channel:
    """The pipe to the parent.

    Each line begins with a word that only the two processes know.
    """

    def __init__(self, descriptor: int, nonce: str) -> None:
        self._descriptor = descriptor
        self._nonce = nonce
        self._owner = os.getpid()

    def send(self, kind: str, content: object) -> None:
        """Write one line.

        Raises:
            SystemExit: This is a copy of the process that the file made, or the pipe is closed.
        """
        if os.getpid() != self._owner:
            sys.exit("a copy of the process")
        line = f"{self._nonce} {json.dumps([kind, content])}\n".encode()
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError:
            sys.exit("it closes file descriptors that are not its own")


class Probe:
    """One file, step by step."""

    def __init__(self, request: dict[str, Any], channel: Channel) -> None:
        self._path: str = request["path"]
        self._core = BackendVersion(*request["api_version"])
        self._layers: list[dict[str, Any]] = request["layers"]
        self._channel = channel
        self._host = ProbingHost(request["search_path"])
        self._libc = ctypes.CDLL(None)
        self._surroundings = Surroundings()

    def run(self) -> None:
        """Go through the steps.

        Raises:
            DefectError: The file is not fit to be loaded.
            UnavailableError: It may be, but this cannot be told without its device.
        """
        try:
            table = self._read()
        except LibraryError as error:
            what = "cannot be opened" if error.stage == "dlopen" else "has a defect"
            raise DefectError(f"{what}: {error.reason}") from None
        if table is not None:
            self._use(table)

    # -- the steps ------------------------------------------------------------------------------

    def _read(self) -> abi.BackendApi | None:
        """Return the table; None if the major version differs."""
        self._enter("dlopen")
        library = open_library(self._path)
        self._check_left_running("while it was loaded")
        self._enter("exports")
        exports = Exports(library)
        self._enter("id")
        backend_id = exports.id()
        self._channel.send("id", backend_id)
        check_id(backend_id)
        self._enter("version")
        version = exports.version()
        self._channel.send("api_version", [version.major, version.minor])
        if not is_compatible(version, self._core):
            return None
        self._enter("factory")
        address = exports.factory()
        self._check_left_running("by one of its exports")
        self._enter("table")
        table = exports.table(address, backend_id, version)
        self._channel.send("version", read_text("version of the table", table.version))
        return table

    def _use(self, table: abi.BackendApi) -> None:
        self._enter("create")
        backend = ctypes.c_void_p()
        self._call(table.create, self._host.table, None, 0, backend)
        self._check_made("create", backend)
        claimed = self._query(table, backend)
        if claimed is not None:
            self._compute(table, backend, claimed)
        self._enter("end")
        table.destroy(backend)
        if bool(table.shutdown):
            table.shutdown()
        self._check_manners()

    def _query(self, table: abi.BackendApi, backend: ctypes.c_void_p) -> dict[str, Any] | None:
        """Return a layer that the backend takes, None without one."""
        self._enter("query")
        claimed = None
        graph = ProbeGraph([layer for layer in self._layers if not layer.get("is_made_up")])
        supports = supports_of(graph)
        stride = ctypes.sizeof(abi.Support)
        self._call(table.query, backend, None, graph.struct, supports, stride)
        for layer, support in zip(graph.layers, supports, strict=True):
            if support.level not in (abi.NOT_SUPPORTED, abi.SUPPORTED, abi.PREFERRED):
                raise DefectError(f"answers {support.level} for {layer['type']}, expected 0 to 2")
            if support.level == abi.NOT_SUPPORTED:
                text_of(support.reason)  # a stale pointer shows up here
            elif claimed is None:
                claimed = layer
        self._check_honesty(table, backend)
        return claimed

    def _check_honesty(self, table: abi.BackendApi, backend: ctypes.c_void_p) -> None:
        """Refuse a backend that claims an unknown layer type.

        An error of the backend is no such claim.
        """
        graph = ProbeGraph([layer for layer in self._layers if layer.get("is_made_up")])
        (support,) = supports = supports_of(graph)
        stride = ctypes.sizeof(abi.Support)
        with contextlib.suppress(DefectError, UnavailableError):
            self._call(table.query, backend, None, graph.struct, supports, stride)
        if support.level != abi.NOT_SUPPORTED:
            raise DefectError(
                f"claims the layer type {graph.layers[0]['type']!r}, which does not exist"
            )

    def _compute(
        self, table: abi.BackendApi, backend: ctypes.c_void_p, layer: dict[str, Any]
    ) -> None:
        self._enter("compile")
        program, context = ctypes.c_void_p(), ctypes.c_void_p()
        graph, arguments = ProbeGraph([layer]), struct(abi.CompileArgs)
        claims = f"claims {layer['type']}, but then"
        self._call(table.compile, backend, None, graph.struct, arguments, program, claims=claims)
        self._check_made("compile", program)
        self._call(table.context_create, program, context, claims=claims)
        self._check_made("context_create", context)
        self._enter("execute")
        execution = Execution(layer, self._sizes(table, program))
        self._call(table.execute, context, execution.arguments, claims=claims)
        damage = execution.damage()
        if damage:
            raise DefectError(f"{damage} of {layer['type']}")
        self._enter("end")
        table.context_destroy(context)
        table.program_destroy(program)

    # -- what they have in common ---------------------------------------------------------------

    def _enter(self, step: str) -> None:
        self._check_manners()
        self._channel.send("step", step)

    def _check_manners(self) -> None:
        """Refuse a file that printed or changed the process's state."""
        change = self._surroundings.change()
        if change:
            raise DefectError(change)
        self._libc.fflush(None)
        if os.fstat(1).st_size:
            text = os.pread(1, _SHOWN, 0).decode(errors="replace")
            raise DefectError(f"prints to stdout: {text!r}")

    def _check_left_running(self, when: str) -> None:
        left = left_running()
        if left:
            raise DefectError(f"left {left} running that began {when}")

    def _call(self, function: Callable[..., int], *arguments: object, claims: str = "") -> None:
        error = new_error()
        code = function(*arguments, error)
        if code == abi.OK:
            return
        message = text_of(error.message) or "no message"
        if bool(error.release):
            error.release(error)
        if code == abi.UNAVAILABLE:
            raise UnavailableError(message)
        raise DefectError(f"{claims or 'has a defect: it'} answers code {code}: {message}")

    def _check_made(self, name: str, handle: ctypes.c_void_p) -> None:
        if not handle.value:
            raise DefectError(f"answers ARMNN_OK from {name}, but makes nothing")

    def _sizes(self, table: abi.BackendApi, program: ctypes.c_void_p) -> Callable[[bool, int], int]:
        """Return a function from tensor to its size in bytes.

        The backend may touch as many bytes of the input or output.
        """

        def size_of(is_output: bool, index: int) -> int:
            requirement = struct(abi.IoRequirement)
            if bool(table.io_requirement):
                self._call(table.io_requirement, program, int(is_output), index, requirement)
            if requirement.min_bytes > LARGEST_OUTPUT:
                raise DefectError(f"asks for {requirement.min_bytes} bytes for a small tensor")
            return requirement.min_bytes

        return size_of


def main() -> None:
    """Read the request from stdin and try the file out."""
    request = json.load(sys.stdin)
    channel = Channel(request["descriptor"], request["nonce"])
    _confine()
    try:
        Probe(request, channel).run()
    except DefectError as defect:
        channel.send("defect", str(defect))
    except UnavailableError as unavailable:
        channel.send("unavailable", str(unavailable))
    else:
        channel.send("passed", None)


def _confine() -> None:
    """Forbid core files and large files; end with the parent."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_OUTPUT, hard))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
