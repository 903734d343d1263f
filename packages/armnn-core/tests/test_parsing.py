# SPDX-License-Identifier: MIT
"""Finding the parser for a file, or the error."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from armnn.errors import (
    InvalidArgumentError,
    ModelFileError,
    ModelFileNotFoundError,
    ParseError,
)
from armnn.graph import Network
from armnn.parsing import format_of, installed_parsers, parse, parse_folded, survey
from armnn.parsing.content import content_of
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
        match=r'^the model is 3 bytes without a name, .* for example format="onnx"$',
    ):
        parse(b"net")


def test_content_that_no_parser_takes_is_refused(tmp_path: Path) -> None:
    with (
        installed(tmp_path, parser(), alone=True),
        pytest.raises(ModelFileError, match=r"^Cannot parse the bytes of a model: .*'\.onnx'"),
    ):
        parse(b"net", suffix="onnx")


def test_a_format_that_is_given_goes_before_suffix_and_content(tmp_path: Path) -> None:
    with installed(tmp_path, parser(), alone=True):
        file = model(tmp_path, "model.bin")
        assert parse(file, format="acme").name == "net"
        assert parse(b"net", format=".ACME").name == "net"
        assert parse(file, parser_options={"format": "acme"}).name == "net"
        assert survey(file, {"format": "acme"})[0].name == "net"
        assert parse_folded(str(file), parser_options={"format": "acme"}).name == "net"
        assert format_of(file, {"format": ".ACME"}) == "acme"
        with pytest.raises(ModelFileError, match=r"no parser for the suffix '\.bin'"):
            parse(model(tmp_path), format="bin")
        with pytest.raises(InvalidArgumentError, match="two names of one argument: expected one"):
            parse(file, format="acme", suffix="acme")
        with pytest.raises(InvalidArgumentError, match="but the parser_options say 'a': expected"):
            parse(file, format="acme", parser_options={"format": "a"})
        with pytest.raises(InvalidArgumentError, match="the format is 5, expected a text"):
            load_model(file, format=5)  # type: ignore[arg-type]  # refused on purpose
        with pytest.raises(InvalidArgumentError, match="option 'format' is 5, expected a text"):
            parse(file, parser_options={"format": 5})


LITE = b"\x1c\0\0\0TFL3" + bytes(24)
ONNX = bytes([8, 10, 0x12, 1, 0x61, 0x3A, 2, 0x12, 0, 0x42, 2, 0x10, 21])
"""ir_version 10, a producer, a graph and an opset."""

ARM = bytes.fromhex("10000000 0a00 0c00 0400 0000 0000 0000 0c000000 08000000 00000000 00000000")
"""The place of a table, 16; what says its fields, at 4; the table with one field; a vector."""

ANY = """\
from armnn.errors import ParseError
from armnn.graph import Network

def parse(source, *, prefix=""):
    data = source if isinstance(source, bytes) else source.read_bytes()
    if not data.startswith(MARK):
        raise ParseError("not good")
    return Network(prefix + __name__)
"""


def any_parser(suffix: str, mark: bytes) -> Plugin:
    source = ANY.replace("MARK", repr(mark))
    return parser(source, suffix=suffix, name=f"armnn-parser-any-{suffix}")


WELL_KNOWN = {"onnx": ONNX, "tflite": LITE, "armnn": ARM}


@pytest.mark.parametrize("name", ["model", "model.bin", "0a1b", ".model", "model.v2"])
@pytest.mark.parametrize("suffix", WELL_KNOWN)
def test_content_tells_the_format_where_the_suffix_does_not(
    tmp_path: Path, suffix: str, name: str
) -> None:
    plugins = [any_parser(each, content) for each, content in WELL_KNOWN.items()]
    content = WELL_KNOWN[suffix]
    with installed(tmp_path / "plugins", *plugins, alone=True):
        file = tmp_path / name
        file.write_bytes(content)
        for source in (file, content):
            made = parse(source, parser_options={"prefix": "a "})
            assert made.name == f"a armnn_parser_any_{suffix}"
        assert survey(file)[0].name == parse_folded(str(file)).name == f"armnn_parser_any_{suffix}"
        assert format_of(file) == suffix
    with (
        installed(tmp_path / "none", parser(), alone=True),
        pytest.raises(ModelFileError, match=rf"which is an? .*; armnn-parser-{suffix} reads "),
    ):
        parse(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        ONNX[:5],  # no graph
        ONNX[:9],  # no opset
        ONNX[:-1],  # ends in a field
        ONNX + b"\x08",  # ends in a tag
        ONNX + b"\x98\x06\0",  # a field that models lack
        ONNX.replace(b"\x08\x0a", b"\x0a\x00"),  # a version that is no number
        ONNX + b"\xff" * 20,
        LITE[:7],
        ARM[:16],
        ARM[:20] + b"\0\0\0\1" + ARM[24:],  # a vector out of the file
        bytes(100),
    ],
)
def test_content_that_is_like_a_model_tells_nothing(content: bytes) -> None:
    assert content_of(content) is None


def test_what_is_no_file_tells_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert content_of(tmp_path / "pipe") is content_of(tmp_path / "missing") is None


OTHERS = {
    b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n": r"a pointer of git-LFS.*; run "
    "'git lfs pull'",
    b"\xef\xbb\xbf\n <!DOCTYPE html>\n": "an HTML page, not a model; download the file itself",
    b"<HTML><body>": "an HTML page, not a model; download the file itself",
    b"PK\x03\x04": r"a ZIP archive \(.*\); unpack it",
    b"\x1f\x8b\x08": "compressed by gzip; unpack it",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file, .*; export the model",
    b"GGUF\3": "a GGUF file, .*; export the original",
}


@pytest.mark.parametrize(("content", "message"), OTHERS.items())
def test_what_is_no_model_is_called_what_it_is(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with installed(tmp_path / "plugins", any_parser("onnx", ONNX), alone=True):
        for name in ("model.onnx", "model"):
            file = tmp_path / name
            file.write_bytes(content)
            for read in (parse, survey, lambda file: parse_folded(str(file))):
                with pytest.raises(ParseError, match=rf"^Cannot parse '.*it is {message}"):
                    read(file)
        with pytest.raises(ParseError, match=rf"the bytes of a model: it is {message}"):
            parse(content)
        with pytest.raises(ParseError, match=rf"the bytes of a model as \.onnx: it is {message}"):
            parse(content, format="onnx")


def test_a_model_of_another_format_than_its_suffix_is_called_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(LITE)
    plugins = [any_parser("onnx", ONNX), any_parser("tflite", LITE)]
    with installed(tmp_path / "plugins", *plugins, alone=True):
        with pytest.raises(
            ParseError,
            match=r"model\.onnx' as \.onnx: it is a TensorFlow Lite model; give the file the "
            r"suffix \.tflite, or say format='tflite'\.$",
        ) as caught:
            parse(file)
        assert str(caught.value.__cause__) == "not good"
        assert parse(file, format="tflite").name == "armnn_parser_any_tflite"
        # A model that is malformed, or refused, keeps its own error.
        with pytest.raises(ParseError, match=r"^not good$"):
            parse(b"bad", format="onnx")


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


def test_an_error_of_the_parser_names_the_file_behind_the_cause(tmp_path: Path) -> None:
    with installed(tmp_path, parser(), alone=True):
        with pytest.raises(ParseError, match=r"^not good \(in '.*model\.acme'\)$"):
            parse(model(tmp_path, text="bad"))
        with pytest.raises(ParseError, match=r"^not good$"):
            parse(b"bad", format="acme")
    listing = SOURCE.replace('"not good"', '"operators:\\n- a\\n- b"')
    with (
        installed(tmp_path / "others", parser(listing), alone=True),
        pytest.raises(ParseError, match=r"^operators \(in '.*model\.acme'\):\n- a\n- b$"),
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
            "; did you mean .acme? Rename the file, or say format='acme'.",
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


class Proto:
    """As a message of Protocol Buffers gives its bytes."""

    def SerializeToString(self) -> bytes:  # noqa: N802 # Protocol Buffers' name
        return b"net"


class Large:
    """As messages of more than 2 GiB."""

    def SerializeToString(self) -> bytes:  # noqa: N802 # Protocol Buffers' name
        raise ValueError("exceeds maximum protobuf size of 2GB")


@pytest.mark.parametrize(
    "content", [b"net", bytearray(b"net"), memoryview(b"net"), io.BytesIO(b"net"), Proto()]
)
def test_content_stands_in_the_place_of_a_path(tmp_path: Path, content: Any) -> None:
    with installed(tmp_path, parser(), alone=True):
        assert parse(content, format="acme").name == "net"


def test_a_file_that_is_open_is_content(tmp_path: Path) -> None:
    with installed(tmp_path, parser(), alone=True), model(tmp_path).open("rb") as file:
        assert parse(file, format="acme").name == "net"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (io.StringIO("net"), r"a StringIO gives as the model is '.*', expected bytes, as open"),
        (Large(), r"a Large, which gives no bytes: ValueError: exceeds .*; expected one that does"),
        (Proto, r"the model is the class Proto, expected the path of a model file, its content, o"),
    ],
)
def test_what_gives_no_bytes_is_refused(content: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        parse(content, format="acme")
    with pytest.raises(InvalidArgumentError, match=message):
        load_model(content, format="acme")


WITH_FOLDER = """
from pathlib import Path
from armnn.graph import Network

def parse(path, *, folder=None):
    folder = folder if isinstance(path, bytes) else path.parent
    return Network((folder / "weights").read_text())
"""


def test_the_data_of_content_is_in_the_folder_that_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "weights").write_text("w")
    with installed(tmp_path / "plugins", parser(WITH_FOLDER), alone=True):
        assert parse(b"net", format="acme", folder=folder).name == "w"
        with pytest.raises(
            InvalidArgumentError, match=r"folder is '.*', expected none, as files be"
        ):
            parse(model(folder), folder=folder)
        with pytest.raises(
            InvalidArgumentError, match=r"folder is '.*none', expected one that exi"
        ):
            parse(b"net", format="acme", folder=tmp_path / "none")
        with pytest.raises(InvalidArgumentError, match="has no option 'folder': it has none"):
            parse(b"net", format="acme", parser_options={"folder": str(folder)})
    with (
        installed(tmp_path / "others", parser(), alone=True),
        pytest.raises(
            InvalidArgumentError, match=r"the parser of \.acme files .* leave the folder"
        ),
    ):
        parse(b"net", format="acme", folder=folder)


@pytest.mark.parametrize("path", [5, None, ["model.onnx"], "a\0b"])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"model is .*, expected (the|a) path"):
        parse(path)  # type: ignore[arg-type]  # refused on purpose
    with pytest.raises(InvalidArgumentError, match="the suffix is 5, expected a text"):
        parse(b"", suffix=5)  # type: ignore[arg-type]  # refused on purpose
