# SPDX-License-Identifier: MIT
"""No table breaks a word, however narrow the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from armnn.cli.main import main
from armnn.cli.tables import cell_width, table_lines, wrapped
from fakes import backend_plugin, installed

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


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_split_and_no_line_too_long(width: int) -> None:
    lines = table_lines(COLUMNS, ROWS, width)
    assert max(map(len, lines)) <= width
    assert words(" ".join(COLUMNS + [cell for row in ROWS for cell in row])) <= words(
        "\n".join(lines)
    )


@pytest.mark.parametrize("width", [None, 300])
def test_a_table_that_fits_has_a_line_for_each_row(width: int | None) -> None:
    assert table_lines(["a", "number"], [("1", "x y"), ("22", "")], width) == [
        " a    number",
        " ───────────",
        " 1    x y",
        " 22",
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_without_rows_shows_its_headings(width: int) -> None:
    columns = ["a heading of some length", "another one that is as long"]
    assert words(" ".join(columns)) <= words("\n".join(table_lines(columns, [], width)))


def test_a_long_cell_is_wrapped_in_its_column() -> None:
    rows = [("a", "one two three"), ("b", "four")]
    assert table_lines(["id", "words"], rows, 14) == [
        " id   words",
        " ─────────────",
        " a    one two",
        "      three",
        " b    four",
    ]


def test_columns_without_text_go_first() -> None:
    rows = [("one two", "", "three"), ("four", "", "five")]
    assert table_lines(["id", "reason", "words"], rows, 17) == [
        " id        words",
        " ───────────────",
        " one two   three",
        " four      five",
    ]


def test_where_columns_do_not_fit_each_row_is_a_paragraph() -> None:
    rows = [("Softmax", "yes", "Float16 Float32"), ("Floor", "", "Float32")]
    assert table_lines(["layer", "here", "data types"], rows, 24) == [
        " layer        Softmax",
        " here         yes",
        " data types   Float16",
        "              Float32",
        "",
        " layer        Floor",
        " data types   Float32",
    ]


def test_in_the_narrowest_terminal_headings_are_above_the_cells() -> None:
    assert table_lines(["distribution"], [("armnn-core",)], 10) == [
        " dist…ion",
        "  armnn-",
        "  core",
    ]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("a b", 3, ["a b"]),
        ("some words here", 10, ["some words", "here"]),
        ("to Softmax.0", 11, ["to", "Softmax.0"]),
        ("/opt/acme/backends", 12, ["/opt/acme/", "backends"]),
        ("takes 1,604,528 of 2.5 KiB", 9, ["takes", "1,604,528", "of 2.5", "KiB"]),
        ("a --backends CpuAcc", 12, ["a --backends", "CpuAcc"]),
        ("c2a1f90be4d5", 7, ["c2a…4d5"]),
        ("写真を分類する", 8, ["写真を分", "類する"]),
        ("", 5, [""]),
    ],
)
def test_text_is_wrapped_between_words(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines
    assert all(cell_width(line) <= width for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", ["doctor", "backends --load", "backends lock"])
def test_commands_break_no_word(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    width: int,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    plugins = [
        backend_plugin("Acme", distribution="a-good"),
        backend_plugin("Broken", distribution="b-broken", source="raise OSError('no libacme')\n"),
    ]
    with installed(tmp_path, *plugins, alone=True):
        assert main(command.split()) == 0
        piped = capsys.readouterr().out
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(command.split()) == 0
    shown = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
    missing = {word for word in words(piped) - words(shown) if len(word) < width - 3}
    assert not missing
