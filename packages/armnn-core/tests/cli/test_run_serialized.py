# SPDX-License-Identifier: MIT
"""``armnn run --serialize-to``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import armnn
from armnn.cli.main import main
from armnn.storage.armnn_files import parse


def test_a_model_becomes_a_file_of_arm_nn(
    text: Callable[..., str],
    model: Callable[..., str],
    toy: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert text(model(), "--serialize-to", "net.armnn") == "Wrote network to net.armnn\n"
    written, read = armnn.parse("model.toy"), parse(toy / "net.armnn")
    assert [str(layer.descriptor) for layer in read.layers] == [
        str(layer.descriptor) for layer in written.layers
    ]
    assert main(["run", "model.toy", "--serialize-to", "again.armnn", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"model": "model.toy", "files": {"network": "again.armnn"}}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("net.bin", "--serialize-to got 'net.bin', expected a file ending in .armnn"),
        ("none/net.armnn", "--serialize-to got 'none/net.armnn', which cannot be written"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(
    error: Callable[..., str], model: Callable[..., str], path: str, message: str
) -> None:
    assert message in error(model(), "--serialize-to", path)
