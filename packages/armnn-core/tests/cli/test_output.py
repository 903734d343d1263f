# SPDX-License-Identifier: MIT
"""Tables, JSON and the progress display."""

from __future__ import annotations

import io
import json
import math
import re
import time
from contextlib import redirect_stderr

import pytest

from armnn.cli import output
from armnn.cli.output import print_json, print_table, progress, stages


def test_a_table_in_a_pipe_has_one_line_per_row_however_long(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "word " * 200
    print_table("Title", ["a", "b"], [("1", long.strip()), ("2", "short")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0] == ["Title"]
    assert lines[1] == ["a", "b"]
    assert lines[3] == ["1", *["word"] * 200]
    assert lines[4] == ["2", "short"]


@pytest.mark.parametrize("cell", ["[1, 3]", "[bold]x[/bold]", "[/]", ":smile:", "a\\[b]"])
def test_cells_are_shown_as_they_are(cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ["shape"], [(cell,)])
    assert cell in capsys.readouterr().out


def test_a_table_without_rows_shows_its_headings(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ["first", "second"], [])
    assert capsys.readouterr().out.split()[:2] == ["first", "second"]


def test_a_terminal_that_has_no_such_signs_gets_others(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    print_table("Größe", ["name"], [("né",)])
    stream.flush()
    shown = stream.buffer.getvalue().decode()  # type: ignore[attr-defined]  # BytesIO, see above
    assert shown.splitlines() == ["Gr\\xf6\\xdfe", "", " name", " ----", " n\\xe9", ""]


def test_json_has_only_what_json_has(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"a": [1.5, math.nan, math.inf, -math.inf], 3: {"b": (True, None, "ü")}}
    print_json(document)
    text = capsys.readouterr().out
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": [1.5, "NaN", "Infinity", "-Infinity"],
        "3": {"b": [True, None, "ü"]},
    }


def test_a_title_is_shown_by_a_terminal_that_lacks_its_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "20")
    print_table("classes of größe/" + "x" * 30, ["class"], [["1"]])
    stream.seek(0)
    title = stream.read().partition("\n\n")[0]
    assert title == "classes of gr\\xf6\\xdfe/\nxxxxxxxxxx~xxxxxxxxx"


def make_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make stdout, which pytest has replaced, a terminal."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def painted(text: str) -> list[str]:
    return re.findall(r"\x1b\[3\dm\w+", text)


def test_a_backend_has_one_colour_in_all_cells_and_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch)
    rows = [("a", "AcmeNpu", ""), ("b", "AcmeRef", "AcmeNpu: no AcmeNpuX")]
    print_table("", ["layer", "backend", "why"], rows)
    first, second, third = painted(capsys.readouterr().out)
    assert (first[5:], second[5:], third[5:]) == ("AcmeNpu", "AcmeRef", "AcmeNpu")
    assert first == third
    assert first[:5] != second[:5]
    print_table("", ["id"], [("AcmeRef",)])
    assert painted(capsys.readouterr().out) == [second]


def test_states_that_are_faults_are_red(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch)
    rows = [("loaded",), ("failed",), ("wrong values",), ("right",)]
    print_table("", ["verdict"], rows)
    assert painted(capsys.readouterr().out) == ["\x1b[31mfailed", "\x1b[31mwrong"]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_without_colours_gets_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    make_terminal(monkeypatch)
    monkeypatch.setenv(name, value)
    print_table("", ["backend"], [("AcmeNpu",)])
    assert "\x1b" not in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(output, "PROGRESS_DELAY_SECONDS", 0.01)


def wait_for(text: str, terminal: Terminal) -> None:
    deadline = time.monotonic() + 10
    while text not in terminal.getvalue():
        assert time.monotonic() < deadline, terminal.getvalue()
        time.sleep(0.01)


@pytest.mark.usefixtures("shown_soon")
def test_progress_is_shown_on_a_terminal_when_it_takes_a_while() -> None:
    with redirect_stderr(Terminal()) as terminal, progress("Working", 4) as advance:
        advance()
        wait_for("25%", terminal)
        advance()
        advance()
        wait_for("75%", terminal)
    assert "Working" in terminal.getvalue()


@pytest.mark.usefixtures("shown_soon")
def test_stages_are_shown_one_after_the_other() -> None:
    with redirect_stderr(Terminal()) as terminal, stages("Reading a\x1b[2Jb") as tell:
        wait_for("Reading a\\x1b[2Jb", terminal)
        tell("Measuring [bold]it")
        wait_for("Measuring [bold]it", terminal)


def test_what_is_done_soon_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stderr(Terminal()) as terminal, progress("Working", 1) as advance:
        advance()
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("shown_soon")
def test_progress_that_ends_in_an_error_ends() -> None:
    terminal = Terminal()

    def fail() -> None:
        with progress("Working"):
            wait_for("Working", terminal)
            raise ZeroDivisionError

    with redirect_stderr(terminal):
        with pytest.raises(ZeroDivisionError):
            fail()
        shown = terminal.getvalue()
        time.sleep(0.3)  # a display that went on would be refreshed three times
        assert terminal.getvalue() == shown


def test_without_a_terminal_no_progress_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PROGRESS_DELAY_SECONDS", 0.0)
    with progress("Working", 2) as advance:
        time.sleep(0.05)
        advance()
    assert capsys.readouterr().err == ""
