# SPDX-License-Identifier: MIT
"""Finding the parser for a file, or the error."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from armnn.errors import (
    InvalidArgumentError,
    ModelFileError,
    ModelFileNotFoundError,
    ParseError,
)
from armnn.graph import Network
from armnn.parsing import installed_parsers, parse, survey
from armnn.runtime import load_model
from fakes import Plugin, installed

SOURCE = """\
from armnn.errors import ParseError
from armnn.graph import Network

def parse(path):
    text = path.decode() if isinstance(path, bytes) else path.read_text()
    if text == "bad":
        raise ParseError("not good")
    return Network(text)
"""


def parser(
    source: str = SOURCE, *, suffix: str = "acme", name: str = "armnn-parser-acme"
) -> Plugin:
    module = name.replace("-", "_")
    return Plugin(name, "0.2", (), {"armnn.parsers": {suffix: f"{module}:parse"}}, {module: source})


def model(tmp_path: Path, name: str = "model.acme", text: str = "net") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["model.acme", "model.v1.acme", "MODEL.ACME", "a b.Acme"])
def test_the_suffix_chooses_the_parser(tmp_path: Path, name: str) -> None:
    with installed(tmp_path, parser(), alone=True):
        network = parse(model(tmp_path, name))
    assert isinstance(network, Network)
    assert network.name == "net"


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    with installed(tmp_path, parser(), alone=True):
        assert parse(str(model(tmp_path))).name == "net"


def test_the_content_of_a_file_is_parsed_as_what_it_is_said_to_be(tmp_path: Path) -> None:
    with installed(tmp_path, parser(), alone=True):
        assert parse(b"net", suffix="acme").name == "net"
        assert parse(b"net", suffix=".ACME").name == "net"


def test_a_suffix_that_is_given_goes_before_that_of_the_file(tmp_path: Path) -> None:
    with installed(tmp_path, parser(), alone=True):
        assert parse(model(tmp_path, "model.bin"), suffix="acme").name == "net"


def test_content_without_a_suffix_is_refused() -> None:
    with pytest.raises(
        InvalidArgumentError,
        match=r'^the model is 3 bytes without a name: .* for example suffix="onnx"$',
    ):
        parse(b"net")


def test_content_that_no_parser_takes_is_refused(tmp_path: Path) -> None:
    with (
        installed(tmp_path, parser(), alone=True),
        pytest.raises(ModelFileError, match=r"^Cannot parse the bytes of a model: .*'\.onnx'"),
    ):
        parse(b"net", suffix="onnx")


def test_listing_parsers_imports_none(tmp_path: Path) -> None:
    plugins = [parser("1 / 0\n"), parser("1 / 0\n", suffix="Bin", name="armnn-parser-zeta")]
    with installed(tmp_path, *plugins, alone=True):
        assert [entry.name for entry in installed_parsers()] == ["acme", "Bin"]
        assert "armnn_parser_acme" not in sys.modules


def test_of_two_parsers_of_one_suffix_the_first_distribution_wins(tmp_path: Path) -> None:
    other = parser("1 / 0\n", suffix="ACME", name="armnn-parser-zeta")
    with installed(tmp_path, other, parser(), alone=True):
        assert parse(model(tmp_path)).name == "net"
        assert [entry.distribution.name for entry in installed_parsers()] == ["armnn-parser-acme"]


def test_an_error_of_the_parser_comes_through(tmp_path: Path) -> None:
    with (
        installed(tmp_path, parser(), alone=True),
        pytest.raises(ParseError, match=r"^not good$"),
    ):
        parse(model(tmp_path, text="bad"))


def test_options_are_given_to_the_parser(tmp_path: Path) -> None:
    source = SOURCE.replace("parse(path)", "parse(path, *, prefix='', survey=None)")
    source = source.replace("Network(text)", "Network(prefix + text)")
    with installed(tmp_path, parser(source), alone=True):
        path = model(tmp_path)
        assert parse(path, parser_options={"prefix": "a "}).name == "a net"
        assert parse(b"net", suffix="acme", parser_options={"prefix": "a "}).name == "a net"
        assert survey(path, {"prefix": "a "})[0].name == "a net"
        assert parse(path, parser_options={}).name == "net"
        with pytest.raises(
            InvalidArgumentError,
            match=r"^the parser of \.acme files \(armnn-parser-acme 0\.2\) has no option 'prefx': "
            r"it has 'prefix'; did you mean 'prefix'\?$",
        ):
            parse(path, parser_options={"prefx": "a "})
        with pytest.raises(InvalidArgumentError, match=r"no option 'survey': it has 'prefix'$"):
            parse(path, parser_options={"survey": 1})
        with pytest.raises(InvalidArgumentError, match=r"^the parser option 'prefix' is 1\.5"):
            load_model(path, parser_options={"prefix": 1.5})


def test_a_parser_without_options_says_so(tmp_path: Path) -> None:
    with (
        installed(tmp_path, parser(), alone=True),
        pytest.raises(InvalidArgumentError, match=r"has no option 'signature': it has none$"),
    ):
        parse(model(tmp_path), parser_options={"signature": "serve"})


def test_options_of_a_parser_need_a_file() -> None:
    with pytest.raises(InvalidArgumentError, match="with a Network, which needs no parser"):
        load_model(Network(), parser_options={"signature": "serve"})


def test_no_such_file(tmp_path: Path) -> None:
    missing = tmp_path / "missing.onnx"
    with pytest.raises(ModelFileNotFoundError, match=r"^There is no model file '.*missing"):
        parse(missing)
    with pytest.raises(FileNotFoundError):
        parse(missing)


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="it is a folder, expected a model file"):
        parse(tmp_path)


WHEELS = (
    "(WHEELHOUSE is the folder of wheels that './nox -s wheelhouse' makes in a checkout of armnn)"
)


@pytest.mark.parametrize(
    ("name", "what", "remedy"),
    [
        ("m.onnx", "the suffix '.onnx'", "; armnn-parser-onnx reads .onnx: {install}[onnx]{end}"),
        (
            "m.TFLITE",
            "the suffix '.TFLITE'",
            "; armnn-parser-tflite reads .tflite: {install}[tflite]{end}",
        ),
        (
            "m.armnn",
            "the suffix '.armnn'",
            "; armnn-parser-armnn reads .armnn: {install}[armnn]{end}",
        ),
        (
            "m.onnxx",
            "the suffix '.onnxx'",
            "; did you mean .onnx? armnn-parser-onnx reads .onnx: {install}[onnx]{end}",
        ),
        (
            "m.acmee",
            "the suffix '.acmee'",
            "; did you mean .acme? Rename the file, or parse it with suffix='acme'.",
        ),
        ("m.pb", "the suffix '.pb'", "."),
        ("m", "files without a suffix", "."),
        (".onnx", "files without a suffix", "."),
    ],
)
def test_an_unknown_suffix_says_what_is_readable_and_what_would_read_it(
    tmp_path: Path, name: str, what: str, remedy: str
) -> None:
    install = 'pip install --no-index --find-links WHEELHOUSE "armnn-core'
    with (
        installed(tmp_path, parser(), alone=True),
        pytest.raises(ModelFileError) as caught,
    ):
        parse(model(tmp_path, name))
    assert str(caught.value) == (
        f"Cannot parse {str(tmp_path / name)!r}: there is no parser for {what}; readable here: "
        f".acme (armnn-parser-acme 0.2){remedy.format(install=install, end=f'{chr(34)} {WHEELS}.')}"
    )


@pytest.mark.parametrize("suffix", ["pb", "onnxx", "tflite2", "ONNX.bak"])
def test_a_parser_that_is_installed_is_never_advised_to_be_installed(
    tmp_path: Path, suffix: str
) -> None:
    parsers = [parser(suffix=name, name=f"armnn-parser-{name}") for name in ("onnx", "tflite")]
    with (
        installed(tmp_path, *parsers, alone=True),
        pytest.raises(ModelFileError, match=r"readable here: \.onnx .*, \.tflite ") as caught,
    ):
        parse(model(tmp_path, f"m.{suffix}"))
    assert "pip install" not in str(caught.value)


def test_without_any_parser_the_usual_ones_are_advised(tmp_path: Path) -> None:
    with (
        installed(tmp_path, alone=True),
        pytest.raises(
            ModelFileError,
            match=r"'\.acme', none is installed\. The usual ones: pip install --no-index ",
        ),
    ):
        parse(model(tmp_path))


@pytest.mark.parametrize(
    ("source", "reason", "cause"),
    [
        ("import no_such_module\n", "cannot be imported: ModuleNotFoundError: ", ImportError),
        ("raise SystemExit(1)\n", "cannot be imported: SystemExit: 1; reinstall", SystemExit),
        ("other = 1\n", "cannot be imported: AttributeError: ", AttributeError),
        ("parse = 5\n", "is not a function: got int from armnn_parser_acme:parse", type(None)),
    ],
)
def test_a_parser_that_cannot_be_imported_keeps_its_cause(
    tmp_path: Path, source: str, reason: str, cause: type
) -> None:
    with (
        installed(tmp_path, parser(source), alone=True),
        pytest.raises(
            ModelFileError,
            match=rf"^The parser of \.acme files \(armnn-parser-acme 0.2\) {reason}",
        ) as caught,
    ):
        parse(model(tmp_path))
    assert isinstance(caught.value.__cause__, cause)


def test_ctrl_c_while_a_parser_is_imported_comes_through(tmp_path: Path) -> None:
    with (
        installed(tmp_path, parser("raise KeyboardInterrupt\n"), alone=True),
        pytest.raises(KeyboardInterrupt),
    ):
        parse(model(tmp_path))


@pytest.mark.parametrize("content", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_content_where_a_path_is_expected_says_how_to_parse_it(content: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"expected the path of .*parse\(data, suffix="):
        load_model(content)  # type: ignore[arg-type]  # refused on purpose


@pytest.mark.parametrize("path", [5, None, ["model.onnx"], "a\0b"])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"model is .*, expected (the|a) path"):
        parse(path)  # type: ignore[arg-type]  # refused on purpose
    with pytest.raises(InvalidArgumentError, match="the suffix is 5, expected a text"):
        parse(b"", suffix=5)  # type: ignore[arg-type]  # refused on purpose
