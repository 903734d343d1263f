# SPDX-License-Identifier: MIT
"""Probes one file: opens and uses it like a runtime.

The parent gets a reply when a step begins and, at the end, the result. A step that does not
return, for whatever reason, is thus known by its name.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any

from armnn_backend_api import BackendVersion, is_compatible
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.device_memory import DeviceMemory, DeviceTableError
from armnn_backend_api.exports import Exports, LibraryError, check_id, open_library
from armnn_backend_api.memory import UnmappedError, read_memory
from armnn_backend_api.structs import MESSAGE_LIMIT
from armnn_backend_api.table import read_text
from armnn_dynamic_loader.child.calls import (
    Calls,
    DefectError,
    UnavailableError,
    left_running,
    running_threads,
)
from armnn_dynamic_loader.child.describing import describe, stated_disturbances
from armnn_dynamic_loader.child.executing import ComputedLayer
from armnn_dynamic_loader.child.graphs import ProbeGraph, supports_of
from armnn_dynamic_loader.child.host import ProbingHost
from armnn_dynamic_loader.child.storing import store_and_read

if TYPE_CHECKING:
    from armnn_backend_api.processes import Channel


class Probe:
    """One file, step by step."""

    def __init__(self, request: dict[str, Any], channel: Channel) -> None:
        self._path: str = request["path"]
        self._core = BackendVersion(*request["api_version"])
        self._layers: list[dict[str, Any]] = request["layers"]
        self._envelope: dict[str, object] = request["envelope"]
        self._channel = channel
        self._host = ProbingHost(request["search_path"])
        for library in request["beside"]:
            with contextlib.suppress(OSError):
                ctypes.CDLL(library)
        self._threads = running_threads()
        self._calls = Calls(channel)

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

    def _read(self) -> abi.BackendApi | None:
        """Return the table; None if the major version differs."""
        enter, send = self._calls.enter, self._channel.send
        enter("dlopen")
        library = open_library(self._path)
        self._check_left_running("while it was loaded")
        enter("exports")
        exports = Exports(library)
        enter("id")
        backend_id = exports.id()
        send(id=backend_id)
        check_id(backend_id)
        enter("version")
        version = exports.version()
        send(api_version=[version.major, version.minor])
        if not is_compatible(version, self._core):
            return None
        enter("factory")
        address = exports.factory()
        self._check_left_running("by one of its exports")
        enter("table")
        table = exports.table(address, backend_id, version)
        own = read_text("version of the table", table.version)
        send(version=own)
        self._envelope |= {
            "backend": backend_id,
            "backend_version": own,
            "api_version": str(version),
        }
        return table

    def _use(self, table: abi.BackendApi) -> None:
        self._calls.enter("create")
        backend = ctypes.c_void_p()
        self._calls.call(table.create, self._host.table, None, 0, backend)
        self._calls.check_made("create", backend)
        self._calls.name("describe")
        self._calls.allow(stated_disturbances(table, backend))  # before create is judged
        self._calls.name("create")
        self._calls.enter("describe")
        describe(table, backend)
        device = DeviceMemory.needed_by(table, backend, self._call_of_device)
        for layer in self._query(table, backend):
            is_first = bool(layer.get("is_stored"))
            computed = ComputedLayer(
                self._calls, table, backend, layer, device=device, is_first=is_first
            )
            computed.run()
            if is_first:
                store_and_read(self._calls, table, backend, computed.program, self._envelope)
            self._calls.enter("end")
            table.program_destroy(computed.program)
        self._calls.enter("end")
        table.destroy(backend)
        if bool(table.shutdown):
            table.shutdown()
        self._calls.check_process()

    def _call_of_device(self, function: Any, *arguments: object) -> None:
        self._calls.call(function, *arguments, claims="has memory of a device, which")

    def _query(self, table: abi.BackendApi, backend: ctypes.c_void_p) -> list[dict[str, Any]]:
        """Return a claimed layer, in all of its sizes."""
        self._calls.enter("query")
        claimed: list[dict[str, Any]] = []
        graph = ProbeGraph([layer for layer in self._layers if not layer.get("is_made_up")])
        supports = supports_of(graph)
        stride = ctypes.sizeof(abi.Support)
        self._calls.call(table.query, backend, None, graph.struct, supports, stride)
        for layer, support in zip(graph.layers, supports, strict=True):
            if support.level not in (abi.NOT_SUPPORTED, abi.SUPPORTED, abi.PREFERRED):
                raise DefectError(f"answers {support.level} for {layer['type']}, expected 0 to 2")
            if support.level == abi.NOT_SUPPORTED:
                _check_reason(layer, support)
            elif not claimed or layer["type"] == claimed[0]["type"]:
                claimed.append(layer)
        self._check_honesty(table, backend)
        if claimed:
            claimed[0] = {**claimed[0], "is_stored": True}
        return claimed

    def _check_honesty(self, table: abi.BackendApi, backend: ctypes.c_void_p) -> None:
        """Refuse a backend that claims an unknown layer type.

        An error of the backend is no such claim.
        """
        graph = ProbeGraph([layer for layer in self._layers if layer.get("is_made_up")])
        (support,) = supports = supports_of(graph)
        stride = ctypes.sizeof(abi.Support)
        with contextlib.suppress(DefectError, UnavailableError):
            self._calls.call(table.query, backend, None, graph.struct, supports, stride)
        if support.level != abi.NOT_SUPPORTED:
            raise DefectError(
                f"claims the layer type {graph.layers[0]['type']!r}, which does not exist"
            )

    def _check_left_running(self, when: str) -> None:
        self._calls.check_process()  # first: without free descriptors threads cannot be counted
        left = left_running(self._threads)
        if left:
            raise DefectError(f"left {left} running that began {when}")


def _check_reason(layer: dict[str, Any], support: abi.Support) -> None:
    reason = support.reason
    if reason.data and reason.size:
        try:
            read_memory(reason.data, min(reason.size, MESSAGE_LIMIT))
        except UnmappedError as error:
            raise DefectError(f"refuses {layer['type']} with a stale reason: {error}") from None


def main(request: dict[str, Any], channel: Channel) -> None:
    """Try the file of a request out."""
    try:
        Probe(request, channel).run()
    except (DefectError, DeviceTableError) as defect:
        channel.send(defect=str(defect))
    except UnavailableError as unavailable:
        channel.send(unavailable=str(unavailable))
    else:
        channel.send(passed=True)
