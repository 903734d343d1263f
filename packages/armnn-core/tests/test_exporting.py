# SPDX-License-Identifier: MIT
"""Finding the exporter for a suffix, or the error."""

from __future__ import annotations

from pathlib import Path

import pytest

from armnn.errors import ModelFileError, NotInstalledError
from armnn.graph import Network
from armnn.parsing.exporting import export, installed_exporters, save
from fakes import Plugin, installed


def exporter(source: str, suffix: str = "acme") -> Plugin:
    groups = {"armnn.exporters": {suffix: "acme_exporter:write"}}
    return Plugin("acme-exporter", "0.2", (), groups, {"acme_exporter": source})


WRITES = "def write(network):\n    return network.name.encode()\n"
WRITES_PIECES = "def write(network):\n    yield b'of '\n    yield network.name.encode()\n"


@pytest.mark.parametrize("suffix", ["acme", ".acme", "ACME"])
def test_the_suffix_chooses_the_exporter(tmp_path: Path, suffix: str) -> None:
    with installed(tmp_path, exporter(WRITES), alone=True):
        assert export(Network("net"), suffix) == b"net"
        assert list(installed_exporters()) == ["acme"]


def test_a_misspelt_suffix_is_an_error_with_the_one_meant(tmp_path: Path) -> None:
    with (
        installed(tmp_path, exporter(WRITES), alone=True),
        pytest.raises(NotInstalledError, match=r"as \.acne: .* of \.acme; did you mean \.acme\?"),
    ):
        export(Network("net"), "acne")


def test_without_an_exporter_the_error_says_what_to_install(tmp_path: Path) -> None:
    with (
        installed(tmp_path, alone=True),
        pytest.raises(NotInstalledError, match=r"of none; armnn-parser-onnx writes \.onnx: pip"),
    ):
        export(Network("net"))


def test_saving_without_its_exporter_says_what_to_install(tmp_path: Path) -> None:
    with (
        installed(tmp_path, alone=True),
        pytest.raises(
            NotInstalledError,
            match=r"^Cannot export a network as \.armnn: .*, of none; armnn-parser-armnn writes "
            r'\.armnn: pip install .* "armnn-core\[armnn\]"',
        ),
    ):
        save(Network("net"), tmp_path / "net.armnn")
    assert not (tmp_path / "net.armnn").exists()


def test_the_content_of_a_file_may_come_in_pieces(tmp_path: Path) -> None:
    with installed(tmp_path, exporter(WRITES_PIECES), alone=True):
        assert export(Network("net"), "acme") == b"of net"


def test_an_unknown_format_has_no_advice(tmp_path: Path) -> None:
    with (
        installed(tmp_path, alone=True),
        pytest.raises(NotInstalledError, match=r"as \.weights: .* installed, of none\.$"),
    ):
        export(Network("net"), "weights")


@pytest.mark.parametrize("statement", ["raise SystemExit(3)", "import not_there"])
def test_an_exporter_that_cannot_be_imported_is_named(tmp_path: Path, statement: str) -> None:
    message = (
        r"exporter of \.acme files \(acme-exporter 0\.2\) cannot be imported: .*reinstall acme"
    )
    with (
        installed(tmp_path, exporter(statement), alone=True),
        pytest.raises(ModelFileError, match=message),
    ):
        export(Network("net"), "acme")
