# SPDX-License-Identifier: MIT
"""``python -m armnn``: the command of armnn-tools; version and worker need the core alone."""

from __future__ import annotations

import sys

from armnn.__about__ import __version__
from armnn.backends.worker.worker import serve_socket, serve_standard_streams
from armnn.errors import ArmnnError
from armnn.installing import import_tool
from armnn.storage.blobs import Blobs
from armnn_backend_api import BACKEND_API_VERSION


def version() -> str:
    """Return the versions of the core and of its Backend API."""
    return f"armnn-core {__version__} (Backend API {BACKEND_API_VERSION})"


def serve() -> None:
    """Serve a backend over standard input and output, as the command ``worker`` does.

    Raises:
        InvalidArgumentError: Standard input is a terminal.
    """
    serve_standard_streams(Blobs)


def serve_isolated(descriptor: int) -> None:
    """Serve a backend to the process that isolates it, over a socket."""
    serve_socket(descriptor, Blobs)


def main() -> int:
    """Run ``worker``, ``--version`` or a command of armnn-tools; return the exit code."""
    try:
        if sys.argv[1:] == ["worker"]:
            serve()
            return 0
        if sys.argv[1:] == ["--version"]:
            print(version())
            return 0
        command = import_tool("command", "the command armnn")
    except ArmnnError as error:
        print(f"armnn: error: {error}", file=sys.stderr)
        return 1
    return int(command.main())


if __name__ == "__main__":
    sys.exit(main())
