# SPDX-License-Identifier: MIT
"""Children are bounded, with all that they start."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_backend_api.processes import (
    Bounds,
    Child,
    Ending,
    Program,
    PythonCall,
    ending_of,
    reduced_environment,
    run,
)

FOR_A_WHILE = Bounds(seconds=20)


def shell(script: str) -> Program:
    return Program(["/bin/sh", "-c", script])


def is_there(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if holds():
            return True
        threading.Event().wait(0.005)
    return False


# -- one-shot runs ---------------------------------------------------------------------------------


def test_a_function_is_called_in_a_fresh_interpreter() -> None:
    ending = run(PythonCall("builtins:print", ("a", 2)), FOR_A_WHILE)
    assert ending.is_success
    assert ending.output == b"a 2\n"
    assert str(ending) == "exit code 0"


def test_a_bare_interpreter_has_the_given_folders_and_no_numpy(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import json, sys\n"
        "def tell():\n"
        "    print(json.dumps([sys.path[0], 'numpy' in sys.modules, 'armnn' in sys.modules]))\n"
    )
    ending = run(PythonCall("own:tell", (), [str(tmp_path)]), FOR_A_WHILE)
    assert json.loads(ending.output) == [str(tmp_path), False, False]


def test_a_call_without_folders_imports_what_this_process_imports() -> None:
    ending = run(PythonCall("armnn_backend_api.processes:signal_name", (11,)), FOR_A_WHILE)
    assert ending.is_success, ending.errors


@pytest.mark.parametrize("path", [None, "/a:/b"])
def test_what_a_child_starts_has_the_import_path_of_the_host(
    path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    if path is not None:
        monkeypatch.setenv("PYTHONPATH", path)
    ending = run(PythonCall("os:system", ('echo "${PYTHONPATH-unset}"',)), FOR_A_WHILE)
    assert ending.output.decode().strip() == (path or "unset")


def test_a_program_reads_what_it_is_given() -> None:
    assert run(Program(["cat"]), FOR_A_WHILE, stdin=b"a word").output == b"a word"


def test_a_program_that_is_not_there_says_so() -> None:
    ending = run(Program(["no-such-program"]), FOR_A_WHILE)
    assert ending.status == 1
    assert b"'no-such-program' cannot be started: No such file or directory" in ending.errors


@pytest.mark.parametrize(
    ("script", "text", "status"),
    [
        ("exit 3", "exit code 3", 3),
        ("kill -SEGV $$", "SIGSEGV", -11),
        ("kill -9 $$", "SIGKILL", -9),
    ],
)
def test_an_ending_names_signal_or_status(script: str, text: str, status: int) -> None:
    ending = run(shell(script), FOR_A_WHILE)
    assert (str(ending), ending.status, ending.cause) == (text, status, "ended")
    assert not ending.is_success


def test_an_unknown_signal_has_its_number() -> None:
    assert ending_of(-99) == "signal 99"


# -- bounds ----------------------------------------------------------------------------------------


def test_a_child_ends_at_its_deadline() -> None:
    began = time.monotonic()
    ending = run(shell("trap '' TERM INT; sleep 100"), Bounds(seconds=0.2))
    assert ending.cause == "deadline"
    assert str(ending) == "exceeded time"
    assert time.monotonic() - began < 3


def test_private_memory_is_bounded() -> None:
    ending = run(PythonCall("builtins:bytearray", (1 << 30,)), Bounds(seconds=20, memory=1 << 28))
    assert ending.status == 1
    assert b"MemoryError" in ending.errors


def test_the_memory_of_all_children_together_is_bounded() -> None:
    zeros = "(head -c 30000000 /dev/zero; sleep 100)"  # its reader keeps them as long as it lives
    many = f"for i in 1 2 3 4 5 6; do {zeros} | tail & done; sleep 100"
    ending = run(shell(many), Bounds(seconds=60, memory=100_000_000))
    assert ending.cause == "memory"
    assert str(ending) == "exceeded memory"


def test_output_is_bounded() -> None:
    ending = run(shell("yes || true"), Bounds(seconds=20, output=5000))
    assert len(ending.output) == 5000


def test_descriptors_are_bounded_and_none_is_inherited() -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        listing = run(shell("ulimit -n; ls /proc/self/fd"), Bounds(seconds=20, descriptors=77))
    finally:
        os.close(reading)
        os.close(writing)
    limit, *numbers = listing.output.decode().split()
    assert limit == "77"
    assert {int(number) for number in numbers} <= {0, 1, 2, 3}  # 3: the folder that is listed


def test_a_child_has_the_signals_of_a_fresh_process() -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    try:
        ending = run(shell("grep -E 'SigBlk|SigIgn' /proc/self/status"), FOR_A_WHILE)
    finally:
        signal.signal(signal.SIGUSR1, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])
    own = (1 << 31) - 1  # the C library ignores some of the others in what it spawns
    masks = [int(line.split()[1], 16) & own for line in ending.output.decode().splitlines()]
    assert masks == [0, 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1]


def test_a_reduced_environment_lacks_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    monkeypatch.setenv("my_password", "x")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    reduced = reduced_environment()
    assert "CUDA_VISIBLE_DEVICES" in reduced
    assert not {"GITHUB_TOKEN", "my_password"} & reduced.keys()
    ending = run(Program(["env"]), FOR_A_WHILE, environment=reduced)
    assert b"GITHUB_TOKEN" not in ending.output


# -- what a child leaves ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "start",
    ["sleep 100 &", "setsid sleep 100 &", "(setsid sleep 100 &);", "setsid sh -c 'sleep 100 &';"],
    ids=["background", "setsid", "double fork", "session in session"],
)
def test_escaped_processes_are_ended_and_named(start: str) -> None:
    ending = run(shell(f"{start} sleep 0.05; exit 0"), FOR_A_WHILE)
    assert ending.cause == "ended"
    assert ending.left == ("sleep",)


def test_a_fork_bomb_is_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    bomb = f"bomb() {{ echo $$ >> {pids}; setsid sh -c 'echo $$ >> {pids}; sleep 50' & sleep 0.01;"
    ending = run(shell(f"{bomb} bomb & bomb; }}; bomb"), Bounds(seconds=0.3))
    assert ending.cause == "deadline"
    assert not [pid for pid in map(int, pids.read_text().split()) if is_there(pid)]


def test_a_signal_to_the_parent_hits_the_guard() -> None:
    ending = run(shell("kill -USR1 $PPID; sleep 100"), FOR_A_WHILE)
    assert (ending.cause, ending.sent) == ("signalled", signal.SIGUSR1)
    assert str(ending) == "SIGUSR1 sent to its parent process"


def test_a_child_that_kills_its_guard_is_found(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"setsid sh -c 'echo $$ > {pid}; sleep 100' & sleep 0.2; kill -9 $PPID; sleep 100"
    ending = run(shell(script), FOR_A_WHILE)
    assert ending.cause == "guard"
    assert str(ending) == "a killed guard process"
    assert not is_there(int(pid.read_text()))


def test_a_child_that_stops_its_guard_is_ended() -> None:
    ending = run(shell("kill -STOP $PPID; sleep 100"), Bounds(seconds=0.1))
    assert ending.cause == "deadline"


@pytest.mark.parametrize("handling", ["ignored", "reaped by a handler"])
def test_the_status_is_known_whatever_the_host_does_with_its_children(handling: str) -> None:
    def reap(*_: object) -> None:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    handler = signal.SIG_IGN if handling == "ignored" else reap
    before = signal.signal(signal.SIGCHLD, handler)
    try:
        ending = run(shell("exit 7"), FOR_A_WHILE)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert ending == Ending("ended", 7)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_with_its_host(number: signal.Signals) -> None:
    host = (
        "import sys\n"
        "from armnn_backend_api.processes import Bounds, Child, Program\n"
        "child = Child(Program(['sh', '-c', 'setsid sleep 300 & echo $! >&2; echo $$ >&2; wait']),"
        " Bounds(), stderr=1)\n"
        "child.wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", host], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pids = [int(process.stdout.readline()) for _ in range(2)]
        assert all(map(is_there, pids))
        process.send_signal(number)
        assert wait_until(lambda: not any(map(is_there, pids)))


# -- workers ---------------------------------------------------------------------------------------


def test_a_worker_talks_over_an_inherited_socket_until_it_is_closed() -> None:
    ours, theirs = socket.socketpair()
    echo = "import socket, sys; s = socket.socket(fileno=int(sys.argv[1]))\n"
    echo += "while data := s.recv(100): s.send(data.upper())"
    command = Program([sys.executable, "-c", echo, str(theirs.fileno())])
    with ours, Child(command, Bounds(), descriptors=[theirs.fileno()]) as worker:
        theirs.close()
        for word in (b"one", b"two"):
            ours.send(word)
            assert ours.recv(100) == word.upper()
        assert worker.wait(0.01) is None
        assert worker.pid is not None
        assert is_there(worker.pid)
    assert worker.ending == Ending("killed")
    assert not is_there(worker.pid)


def test_a_worker_has_pipes_of_the_caller() -> None:
    (for_it, writing), (reading, its) = os.pipe(), os.pipe()
    with Child(Program(["cat"]), Bounds(), stdin=for_it, stdout=its) as worker:
        os.close(for_it)
        os.close(its)
        os.write(writing, b"ping")
        assert os.read(reading, 100) == b"ping"
        os.close(writing)
        assert worker.wait(10) == Ending("ended", 0)
        assert os.read(reading, 100) == b""  # the guard does not hold it open
    os.close(reading)


def test_the_end_of_a_worker_is_seen_by_its_descriptor() -> None:
    with Child(Program(["sleep", "100"]), Bounds()) as worker:
        assert wait_until(lambda: worker.poll() is None and worker.pidfd is not None)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGSEGV)
        assert worker.wait(10) == Ending("ended", -signal.SIGSEGV)


def test_a_worker_outlives_the_thread_that_started_it() -> None:
    started: list[Child] = []

    def start() -> None:
        started.append(Child(Program(["sleep", "100"]), Bounds()))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    (worker,) = started
    try:
        assert worker.wait(0.3) is None
    finally:
        worker.close()
    assert worker.ending == Ending("killed")
    assert wait_until(lambda: "armnn-processes" not in {t.name for t in threading.enumerate()})


def test_a_forked_copy_of_the_host_does_not_end_its_workers() -> None:
    with Child(Program(["sleep", "100"]), Bounds()) as worker:
        copy = os.fork()
        if not copy:
            worker.close()
            os._exit(0)
        os.waitpid(copy, 0)
        assert worker.wait(0.1) is None


def test_children_leave_no_descriptor_and_no_zombie() -> None:
    run(Program(["true"]), FOR_A_WHILE)
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        run(Program(["true"]), FOR_A_WHILE)
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
