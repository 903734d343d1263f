# SPDX-License-Identifier: MIT
"""The width of the terminal is what shutil says."""

from __future__ import annotations

import fcntl
import os
import pty
import shutil
import struct
import sys
import termios
from collections.abc import Iterator
from typing import TextIO

import pytest

from armnn.cli.terminal import columns


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """Make a terminal of 57 columns the standard output."""
    monkeypatch.delenv("COLUMNS", raising=False)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 57, 0, 0))
    with os.fdopen(ours), os.fdopen(theirs, "w") as made:
        monkeypatch.setattr(sys, "__stdout__", made)
        yield made


def test_a_terminal_has_the_width_that_it_has(terminal: TextIO) -> None:
    assert columns() == shutil.get_terminal_size().columns == 57
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    assert columns() == shutil.get_terminal_size().columns == 80


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("given", "expected"), [("133", 133), ("1", 1), ("0", 57), ("-3", 57), ("wide", 57), ("", 57)]
)
def test_the_environment_overrides_it(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: int
) -> None:
    monkeypatch.setenv("COLUMNS", given)
    assert columns() == shutil.get_terminal_size().columns == expected


@pytest.mark.parametrize("kind", ["none", "closed", "file"])
def test_without_a_terminal_it_is_80(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    with (tmp_path_factory.mktemp("files") / "output").open("w") as file:
        if kind == "closed":
            file.close()
        monkeypatch.setattr(sys, "__stdout__", None if kind == "none" else file)
        assert columns() == shutil.get_terminal_size().columns == 80
