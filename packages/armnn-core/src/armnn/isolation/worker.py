# SPDX-License-Identifier: MIT
"""The worker process: serves one backend over a connection."""

from __future__ import annotations

import faulthandler
import fcntl
import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from armnn.__about__ import __version__
from armnn.backends import BACKEND_API_VERSION, Backend, BackendRegistry
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.errors import BackendUnavailableError
from armnn.isolation import codec
from armnn.isolation.framing import PROTOCOL, Frame, Kind, ProtocolError
from armnn.isolation.serving import OUT_OF_THE_WAY, Answer, Served
from armnn.isolation.transport import GoneError, Transport
from armnn_backend_api.files import FileState, change_in


def serve_socket(descriptor: int) -> None:
    """Serve the host at the other end of a socket."""
    own = _moved(descriptor)
    _watch_faults()
    serve(Transport(own, own))


def serve_standard_streams() -> None:
    """Serve the host at standard input and output.

    What the backend prints goes to standard error.
    """
    reading, writing = _moved(0, keep=True), _moved(1, keep=True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    _watch_faults()
    serve(Transport(reading, writing))


def serve(transport: Transport) -> None:
    """Answer requests until the host has gone."""
    served: Served | None = None
    try:
        while True:
            request = transport.receive()
            if request.kind is not Kind.REQUEST:
                raise ProtocolError(f"got a frame of kind {request.kind.name}, expected a request")
            try:
                if served is None:
                    served, answer = _greeted(request.document, transport)
                else:
                    answer = served.answer(request.document, request.blobs)
                blobs = [codec.blob_of(each) for each in answer.arrays]
                reply = Frame(Kind.REPLY, request.sequence, answer.document, blobs)
            except Exception as error:
                reply = Frame(Kind.FAILURE, request.sequence, codec.encoded_error(error))
            transport.send(reply)
    except GoneError:
        if served is not None:
            served.close()
    except ProtocolError as error:
        sys.exit(f"armnn worker: {error}")


def _greeted(request: Mapping[str, Any], transport: Transport) -> tuple[Served, Answer]:
    """Load the backend that a host asks for.

    Raises:
        ProtocolError: It is no greeting.
        ArmnnError: The backend cannot be loaded.
    """
    if request.get("do") != "hello":
        raise ProtocolError("the first request is no greeting")
    wanted = codec.mapping(request.get("backend"))
    _check_unchanged(wanted.get("examined"))
    backend = _loaded(codec.text(wanted.get("id")), codec.path(wanted.get("origin")))
    document = {
        "protocol": [PROTOCOL.major, PROTOCOL.minor],
        "api": [BACKEND_API_VERSION.major, BACKEND_API_VERSION.minor],
        "core": __version__,
        "pid": os.getpid(),
    }
    return Served(backend, transport.received), Answer(document)


def _check_unchanged(examined: Any) -> None:
    """Refuse files that changed after the host examined them.

    Raises:
        ProtocolError: It is no list of paths with states.
        BackendUnavailableError: One has changed, or cannot be read.
    """
    try:
        rows = [(str(path), FileState(*map(int, state))) for path, state in examined or ()]
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"got {examined!r} for examined files") from error
    change = change_in(rows)
    if change:
        raise BackendUnavailableError(change)


def _loaded(backend_id: str, origin: str) -> Backend:
    if not origin:
        return BackendRegistry().get(backend_id)
    if os.path.isabs(origin):
        return NativeBackend(NativeLibrary.open(origin, id=backend_id))
    module, _, attribute = origin.partition(":")
    found: Any = importlib.import_module(module)
    for name in filter(None, attribute.split(".")):
        found = getattr(found, name)
    if not isinstance(found, Backend):
        found = found()
    if not isinstance(found, Backend) or found.id != backend_id:
        raise BackendUnavailableError(
            f"{origin!r} makes {found!r}, expected backend {backend_id!r}"
        )
    return found


def _moved(descriptor: int, *, keep: bool = False) -> int:
    own = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    if not keep:
        os.close(descriptor)
    return own


def _watch_faults() -> None:
    """Let fatal signals write Python's frames to standard error."""
    try:
        where = _moved(2, keep=True)
    except OSError:
        return  # there is none
    faulthandler.enable(where, all_threads=False)


if __name__ == "__main__":
    serve_standard_streams()
