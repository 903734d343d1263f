# SPDX-License-Identifier: MIT
"""Backends over a real ssh, on this machine.

    python -m tools.boards.ssh_board [pytest arguments]

Debian's openssh-server is unpacked into .cache/ssh and started on 127.0.0.1 with a key that lives
as long as the test. A network runs on ``ssh://USER@127.0.0.1/CpuAcc``, loses its connection and
gets another one; then a part of the conformance kit runs over it. Nothing is installed, and the
files of ssh in the home folder are neither read nor written.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armnn import Network, Runtime, TensorInfo
from tools import ROOT

CACHE = ROOT / ".cache" / "ssh"
PACKAGES = ("openssh-server", "libwrap0")
LAYERS = "Activation,Addition,Convolution2d,Gather"
START_SECONDS = 20.0

SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PidFile none
UsePAM no
PasswordAuthentication no
StrictModes no
SetEnv PATH={path}
"""
CLIENT = """\
Port {port}
IdentityFile {folder}/client
IdentitiesOnly yes
UserKnownHostsFile {folder}/known
StrictHostKeyChecking accept-new
LogLevel ERROR
"""
AS_ROOT = """\
mount --bind {folder}/passwd /etc/passwd
mount -t tmpfs none /run
mkdir -m 755 /run/sshd
exec "$@"
"""
"""In a mount namespace of its own: sshd of root wants a user and a folder that are not here."""


def server() -> tuple[Path, Path]:
    """Return Debian's sshd and the folder of its libraries."""
    program = CACHE / "usr/sbin/sshd"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", *PACKAGES], check=True, cwd=CACHE)
        for package in CACHE.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, CACHE], check=True)
    (library,) = CACHE.rglob("libwrap.so.0")
    return program, library.parent


@contextlib.contextmanager
def sshd(folder: Path) -> Iterator[None]:
    """Run a server to which ``ssh`` here connects."""
    for name in ("host", "client"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    for name, text in (("server", SERVER), ("config", CLIENT), ("as_root", AS_ROOT)):
        (folder / name).write_text(text.format(port=port, folder=folder, path=path))
    users = Path("/etc/passwd").read_text()
    (folder / "passwd").write_text(f"{users}sshd:x:987:65534::/run/sshd:/usr/sbin/nologin\n")
    program, libraries = server()
    command = [str(program), "-D", "-e", "-f", str(folder / "server")]
    if os.geteuid() == 0:
        command = ["unshare", "--mount", "sh", "-e", str(folder / "as_root"), *command]
    real = shutil.which("ssh") or "ssh"
    wrapper = folder / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {real} -F {folder}/config "$@"\n')
    wrapper.chmod(0o755)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stderr=log)
    os.environ["PATH"] = f"{wrapper.parent}:{os.environ['PATH']}"
    try:
        until = time.monotonic() + START_SECONDS
        while b"Server listening" not in (folder / "log").read_bytes():
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"sshd does not start: {(folder / 'log').read_text()}")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


def main(arguments: Sequence[str]) -> int:
    """Run a network and the kit; return 1 for failures."""
    with tempfile.TemporaryDirectory() as temporary, sshd(Path(temporary)):
        name = f"ssh://{getpass.getuser()}@127.0.0.1/CpuAcc"
        run_network(name)
        logins = (Path(temporary) / "log").read_text().count("Accepted publickey")
        print(f"{name}: computes, loses its connection and computes again; {logins} logins")
        kit = ["--pyargs", "armnn_conformance", "--armnn-backend", name, "--armnn-layers", LAYERS]
        done = subprocess.run([sys.executable, "-m", "pytest", *kit, *arguments], check=False)
    return int(done.returncode != 0)


def run_network(name: str) -> None:
    """Check results over ssh, across a lost connection.

    Raises:
        AssertionError: A result is another one, or another backend gave it.
    """
    network = Network("over ssh")
    x = network.add_input("x", TensorInfo((4, 16)))
    network.add_output("y", network.add_activation(x, function="TanH", a=1.0, b=1.0, name="tanh"))
    given = {"x": np.linspace(-3, 3, 64, dtype=np.float32).reshape(4, 16)}
    with Runtime() as runtime:
        here = runtime.load_model(network, ["CpuAcc"]).run(given)["y"]
        model = runtime.load_model(network, [name, "CpuRef"])
        assert dict(model.report.layers_by_backend) == {name: 1}
        assert model.run(given)["y"].tobytes() == here.tobytes()
        assert not model.faults
        backend: Any = runtime.registry.get(name)
        connection = backend.supervisor.link().pid
        os.kill(connection, signal.SIGKILL)
        np.testing.assert_allclose(model.run(given)["y"], np.tanh(given["x"]), atol=1e-6)
        assert len(model.faults) == 1, model.faults
        assert backend.supervisor.wait(START_SECONDS), "no new connection is made"
        assert model.run(given)["y"].tobytes() == here.tobytes()
        assert len(model.faults) == 1, model.faults
        print(model.faults[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
