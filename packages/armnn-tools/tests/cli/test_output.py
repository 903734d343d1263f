# SPDX-License-Identifier: MIT
"""Tables, JSON and progress."""

from __future__ import annotations

import io
import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from typing import Any

import pytest
from rich.cells import cell_len

from armnn_tools.cli import output
from armnn_tools.cli.main import main
from armnn_tools.cli.output import print_json, print_table, progress, stages, told_apart


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


def test_a_table_in_a_pipe_is_as_wide_as_the_environment_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table("", ["a", "b"], [("1", "word " * 20), ("2", "short")])
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 40
    assert printed.split().count("word") == 20


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
    assert [line.strip("+-| ") for line in shown.splitlines()] == [
        "Gr\\xf6\\xdfe",
        "",
        "name",
        "",
        "n\\xe9",
        "",
    ]


def test_json_has_only_what_json_has(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"a": [1.5, math.nan, math.inf, -math.inf], 3: {"b": (True, None, "ü")}}
    print_json(document)
    text = capsys.readouterr().out
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": [1.5, "NaN", "Infinity", "-Infinity"],
        "3": {"b": [True, None, "ü"]},
    }


def make_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make stdout, which pytest has replaced, a terminal."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def painted(text: str) -> list[str]:
    return re.findall(r"\x1b\[3\dm\w+", text)


def test_a_backend_has_one_color_in_all_cells_and_tables(
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
def test_a_terminal_without_colors_gets_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    make_terminal(monkeypatch)
    monkeypatch.setenv(name, value)
    print_table("", ["backend"], [("AcmeNpu",)])
    assert "\x1b[3" not in capsys.readouterr().out


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


WIDTHS = [40, 60, 80, 120, 200]
COLUMNS = ["layer", "type", "multiply-adds", "why"]
ROWS = [
    ("Conv.0", "Convolution2d", "1,604,528", ""),
    (
        "model/block_12/depthwise/BiasAdd;model/block_12/Relu6.quantized",
        "DepthwiseConvolution2d",
        "141,111,296",
        (
            "CpuAcc: the input 'weights' is QSymmS8[1,3,3,512] with 512 scales, expected at most "
            "256; Custom: Custom runs Input, Output, Addition, MemCopy, PreCompiled"
        ),
    ),
    ("Softmax.0", "Softmax", "0", "/opt/acme/lib64/Acme_AcmeNpu_backend.so.2.1 has no id"),
]


def words(text: str) -> set[str]:
    """Return the words of a text.

    A number with its commas and points is one.
    """
    return set(re.findall(r"\d+(?:[.,]\d+)+|[^\W_]+", text))


def letters(text: str) -> Counter[str]:
    return Counter(re.sub(r"[\s─]", "", text))


@pytest.mark.parametrize("width", WIDTHS)
def test_no_letter_is_lost_and_no_line_too_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    make_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("写真を分類する " * 20, COLUMNS, ROWS)
    shown = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
    assert max(map(cell_len, shown.splitlines())) <= width
    expected = "写真を分類する" * 20 + "".join(COLUMNS + [cell for row in ROWS for cell in row])
    assert letters(shown) == letters(expected)


def test_a_table_that_fits_has_a_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ["a", "number"], [("1", "x y"), ("22", "")])
    assert capsys.readouterr().out.splitlines() == [
        "",
        " a    number",
        " ───────────",
        " 1    x y",
        " 22",
        "",
    ]


def test_a_long_cell_is_wrapped_in_its_column(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "15")
    print_table("", ["id", "reason", "words"], [("a", "", "one two three"), ("b", "", "four")])
    assert capsys.readouterr().out.splitlines() == [
        "",
        " id   words",
        " ─────────────",
        " a    one two",
        "      three",
        " b    four",
        "",
    ]


class Display:
    def advance(self) -> None: ...

    def describe(self, description: str) -> None: ...


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the descriptions that are shown at the moment."""
    descriptions: list[str] = []

    @contextmanager
    def display(description: str, total: int | None) -> Iterator[Display]:
        assert descriptions == []  # two displays would overwrite each other
        descriptions.append(description)
        try:
            yield Display()
        finally:
            descriptions.clear()

    monkeypatch.setattr(output, "_shown", display)
    return descriptions


OPEN = {"x": [["n", 4], "Float32"]}
RUN = (
    "run model.toy --times --backends Toy --compare-output-with-backend Half,Toy "
    "--profile made.json"
)
# By command: what takes its time, and what is shown then, in the order of the calls.
STEPS: dict[str, dict[str, list[str]]] = {
    RUN: {
        "armnn.runtime.runtime:Runtime.__init__": ["Finding backends"],
        "armnn.runtime.runtime:Runtime.load_model": ["Loading model.toy", "Loading on Half, Toy"],
        "armnn.runtime.loaded_network:LoadedNetwork.prepare": ["Preparing inputs"],
        "armnn.runtime.loaded_network:LoadedNetwork.run": [
            "Running once",
            "Running",
            "Running on Half, Toy",
        ],
        "armnn_tools.cli.run:write_chrome_trace": ["Writing the profile"],
    },
    "run model.toy --iterations 1 --warmup 0 --import-inputs-if-aligned": {
        "armnn.runtime.loaded_network:LoadedNetwork.run": ["Running"],
    },
    "run model.toy --serialize-to model.armnn": {
        "armnn_tools.cli.run:parse": ["Reading model.toy"],
        "armnn_tools.cli.run:save": ["Writing model.armnn"],
    },
    "compile model.toy --shape 2x4 --backends Half -o made.armnn-prepared": {
        "armnn.runtime.runtime:Runtime.__init__": ["Finding backends"],
        "armnn_tools.cli.compile:parse": ["Reading model.toy"],
        "armnn_tools.cli.assigned_layers:specialize": ["Reading model.toy"],
        "armnn.runtime.runtime:Runtime.compile_network": ["Compiling model.toy"],
    },
    "compare model.toy --passes --reference Toy": {
        "armnn_tools.cli.inputs:make_feeds": ["Preparing inputs"],
        "armnn_tools.cli.compare:find_wrong_pass": ["Looking for a wrong pass in model.toy"],
    },
    "compare model.toy --backends Toy --vary NUMBER=1,2": {
        "armnn_tools.cli.compare:_compared_with_value": ["Comparing for each NUMBER"],
    },
    "view model.toy --backends Toy": {"armnn_tools.cli.view:page": ["Writing model.html"]},
    "inspect model.toy --backends Toy": {
        "armnn.runtime.runtime:Runtime.__init__": ["Finding backends"],
        "armnn_tools.cli.inspect:survey": ["Reading model.toy"],
    },
    "backends --verbose": {
        "armnn_tools.cli.backends:BackendRegistry.__init__": ["Finding backends"],
        "armnn_tools.cli.backends:load_all": ["Finding backends"],
        "armnn_tools.cli.backends:descriptions": ["Finding backends"],
    },
    "backends lock --output made.lock": {
        "armnn.backends.locking:Lock.made_now": ["Reading backends"]
    },
    "doctor": {"armnn_tools.cli.doctor:diagnose": ["Examining backends"]},
}


@pytest.mark.parametrize("command", STEPS)
def test_what_takes_long_is_announced(
    model: Callable[..., str],
    shown: list[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    model(OPEN)
    seen: dict[str, list[str]] = {}
    for place in STEPS[command]:
        watch(place, shown, seen.setdefault(place, []), monkeypatch)
    main(command.split())
    assert {place: list(dict.fromkeys(each)) for place, each in seen.items()} == STEPS[command]
    assert shown == []


def watch(place: str, shown: list[str], seen: list[str], patch: pytest.MonkeyPatch) -> None:
    """Note what is shown at each call of a function."""
    module, _, path = place.partition(":")
    owner: Any = import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    original = getattr(owner, name)

    def noted(*arguments: Any, **named: Any) -> Any:
        seen.append(" ".join(shown))
        return original(*arguments, **named)

    patch.setattr(owner, name, noted)


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (7.0, 7.5, ("7", "7.5")),
        (0.12345678, 0.12345679, ("0.12345678", "0.12345679")),
        (1.0, math.nextafter(1.0, 2.0), ("1", "1.0000000000000002")),
        (0.1, 0.1, ("0.1", "0.1")),
    ],
)
def test_numbers_have_the_digits_that_tell_them_apart(
    first: float, second: float, shown: tuple[str, str]
) -> None:
    assert told_apart(first, second) == shown
