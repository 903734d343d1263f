# SPDX-License-Identifier: MIT
"""The recipe of examples/serving/ as a process."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RECIPE = REPOSITORY / "examples" / "serving" / "serve.py"
CHAT = RECIPE.with_name("chat.py")
PATIENCE = 120.0
"""Seconds for what takes a few on a machine with nothing else to do."""


@dataclass
class Server:
    """A running recipe.

    Attributes:
        process: Its process.
        http: Host and port.
        grpc: Host and port.
        lines: What it has printed, each line as it comes; None at the end.
    """

    process: subprocess.Popen[str]
    http: str
    grpc: str
    lines: queue.SimpleQueue[str | None]

    def wait_for(self, text: str) -> list[str]:
        """Return the lines up to one that has a text."""
        seen: list[str] = []
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                line = None
            assert line is not None, "".join(seen)
            seen.append(line)
            if text in line:
                return seen

    def stop(self) -> int:
        """Ask it to end; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def launched(
    *arguments: str, environment: dict[str, str] | None = None, recipe: Path = RECIPE
) -> Server:
    """Return a server that has just been started."""
    ports = free_port(), free_port()
    options = ["--http_port", str(ports[0]), "--grpc_port", str(ports[1])]
    process = subprocess.Popen(
        [sys.executable, "-u", recipe, *arguments, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return Server(process, f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}", lines)
