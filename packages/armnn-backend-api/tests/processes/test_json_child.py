# SPDX-License-Identifier: MIT
"""Children that get requests and send replies."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from armnn_backend_api.processes import (
    Bounds,
    Channel,
    JsonChild,
    NoReplyError,
    one_line,
    wait_for_any,
)

FOR_A_WHILE = Bounds(seconds=20)

FUNCTIONS = """\
import os, signal, sys, time

def echo(first, channel):
    channel.send(first=first)
    for request in channel.requests():
        channel.send(request=request)

def write(first, channel):
    os.write(channel._descriptor, b'{"not": "ours"}\\nno line\\n')
    channel.send(right=True)

def number(first, channel):
    os.write(channel._descriptor, f"{channel._nonce} 3\\n".encode())

def fill(first, channel):
    os.write(channel._descriptor, b"x" * (1 << 21))

def crash(first, channel):
    print("the last words", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

def sleep(first, channel):
    channel.send(sleeping=True)
    time.sleep(30)

def copy(first, channel):
    if os.fork() == 0:
        channel.send(copy=True)
    os.wait()
    channel.send(original=True)

def shut(first, channel):
    os.close(channel._descriptor)
    channel.send(late=True)

def replace(first, channel):
    reads, writes = os.pipe()
    os.dup2(writes, channel._descriptor)
    channel.send(late=True)

def prints(first, channel):
    print("printed", flush=True)
    channel.send()
"""


@pytest.fixture
def path(tmp_path: Path) -> list[str]:
    """Return the import path of a bare child with the functions above."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    import armnn_backend_api

    return [str(tmp_path), str(Path(armnn_backend_api.__file__).parents[1])]


def started(function: str, path: list[str], bounds: Bounds = FOR_A_WHILE) -> JsonChild:
    return JsonChild(f"functions:{function}", {"given": [1, "ä\udc80"]}, bounds, path=path)


def test_requests_are_replied_to_in_order(path: list[str]) -> None:
    with started("echo", path) as child:
        assert child.reply() == {"first": {"given": [1, "ä\udc80"]}}
        assert child.ask(0.5) == {"request": 0.5}
        child.send([None])
        child.send("x" * 100_000)
        assert [child.reply(), child.reply()] == [{"request": [None]}, {"request": "x" * 100_000}]
        child.close(seconds=20)
        ending = child.poll()
        assert ending is not None
        assert ending.is_success


def test_what_a_library_writes_is_no_reply(path: list[str]) -> None:
    with started("write", path) as child:
        assert child.reply() == {"right": True}
        with pytest.raises(NoReplyError, match=r"^ended without a reply$") as raised:
            child.reply()
    assert raised.value.ending is not None
    assert raised.value.ending.is_success


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("number", r"^sent an invalid reply: got 3, expected an object$"),
        ("fill", r"^sent an invalid reply: more than 1048576 bytes$"),
        ("crash", r"^its process ended with SIGKILL: the last words$"),
        ("shut", r"^its process ended with exit code 1: it closes file descriptors that are not"),
        ("replace", r"^its process ended with exit code 1: it closes file descriptors that are"),
    ],
)
def test_an_end_and_an_invalid_reply_are_errors(
    function: str, message: str, path: list[str]
) -> None:
    with started(function, path) as child, pytest.raises(NoReplyError, match=message):
        child.reply()


def test_a_child_that_takes_too_long_is_ended(path: list[str]) -> None:
    began = time.monotonic()
    with started("sleep", path) as child:
        assert child.reply() == {"sleeping": True}
        with pytest.raises(NoReplyError, match=r"^its process ended with exceeded time$") as raised:
            child.reply(0.05)
        assert child.poll() is not None
    assert raised.value.ending is not None
    assert raised.value.ending.cause == "deadline"
    assert time.monotonic() - began < 10


def test_a_copy_of_a_child_sends_nothing(path: list[str]) -> None:
    with started("copy", path) as child:
        assert child.reply() == {"original": True}


def test_a_file_gets_what_a_child_prints(path: list[str], tmp_path: Path) -> None:
    with (tmp_path / "output").open("w+b") as file:
        request = "functions:prints", None, FOR_A_WHILE
        with JsonChild(*request, path=path, output=file.fileno()) as child:
            assert child.reply() == {}
        file.seek(0)
        assert file.read() == b"printed\n"


def test_several_children_are_waited_for_at_once(path: list[str]) -> None:
    found: dict[str, list[object]] = {"write": [], "sleep": []}
    with started("write", path) as quick, started("sleep", path, Bounds(seconds=0.5)) as slow:
        running = {"write": quick, "sleep": slow}
        while running:
            assert wait_for_any(running.values(), 20)
            for name, child in tuple(running.items()):
                if child.poll() is not None:
                    found[name] += [*running.pop(name).replies(), str(child.poll())]
    assert found == {
        "write": [{"right": True}, "exit code 0"],
        "sleep": [{"sleeping": True}, "exceeded time"],
    }


def test_children_leave_no_descriptors(path: list[str]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with started("echo", path) as first:
        first.reply()
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(TypeError):
        JsonChild("functions:echo", object(), FOR_A_WHILE, path=path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_channel_reads_requests_that_come_in_pieces() -> None:
    reads, writes = os.pipe()
    requests = Channel(reads, "word").requests()
    os.write(writes, b'[1]\n{"a"')
    assert next(requests) == [1]
    os.write(writes, b": 2}\n")
    os.close(writes)
    assert list(requests) == [{"a": 2}]
    os.close(reads)


def test_an_error_is_one_printable_line() -> None:
    assert one_line(ValueError("two\nlines  \x1b[1m")) == "two lines ?[1m"
    assert len(one_line(ValueError("x" * 1000))) == 500
