# SPDX-License-Identifier: MIT
"""A folder whose name is no UTF-8: its files are used, and what is wrong with them is said."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import armnn
from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn_tools.cli.main import main

if TYPE_CHECKING:
    from armnn.backends import BackendEntry

NOTE = """-DNOTE="{\\"id\\": \\"Good\\", \\"api\\": \\"1.0\\"}\""""
FILES = {
    "Mock_Bad_backend.so": ('-DID="Bad"', "-DNO_FACTORY"),
    "Mock_Good_backend.so": ('-DID="Good"', NOTE),
    "Mock_Linked_backend.so": ('-DID="Linked"', "-DNEEDS_SYMBOL"),
}


@pytest.fixture
def folder(compiled: Callable[..., Path], tmp_path: Path) -> str:
    found = os.path.join(os.fsencode(tmp_path), b"b\xff")
    os.mkdir(found, 0o755)
    for name, switches in FILES.items():
        path = os.path.join(found, name.encode())
        shutil.copyfile(compiled(*switches), path)
        os.chmod(path, 0o755)
    return os.fsdecode(found)


def faults(runtime: Runtime) -> dict[str, BackendEntry]:
    entries = runtime.registry.entries()
    return {os.path.basename(each.origin): each for each in entries if not each.is_static}


@pytest.mark.parametrize(
    "options",
    [{"probe": "off"}, {"probe": "on"}, {"probe": "twice"}, {"isolate": "dynamic"}],
    ids=["off", "on", "twice", "isolated"],
)
def test_a_runtime_uses_good_files_and_says_what_is_wrong_with_others(
    folder: str, options: dict[str, str], tmp_path: Path
) -> None:
    network = Network("sum")
    x = network.add_input("x", TensorInfo((3,)))
    network.add_output("y", network.add_addition(x, x))
    armnn.save(network, tmp_path / "sum.armnn")
    with Runtime(CreationOptions(dynamic_backends_path=folder, **options)) as runtime:  # type: ignore[arg-type] # any of them
        found = faults(runtime)
        assert found["Mock_Bad_backend.so"].reason.endswith("it does not export BackendFactory")
        assert found["Mock_Bad_backend.so"].stage == "exports"
        reason = found["Mock_Linked_backend.so"].reason
        assert "b\\udcff/Mock_Linked_backend.so: undefined symbol: symbol_of_nobody" in reason
        for cache in (None, tmp_path / "cache", tmp_path / "cache"):
            model = runtime.load_model(tmp_path / "sum.armnn", ["Good"], cache_dir=cache)
            np.testing.assert_array_equal(model.run({"x": np.float32([1, 2, 3])})["y"], [2, 4, 6])


@pytest.mark.parametrize(
    ("command", "is_there"),
    [
        (["backends", "--load"], "it does not export BackendFactory"),
        (["doctor"], "it does not export BackendFactory"),
        (["backends", "lock", "--output", "lock"], "Mock_Good_backend.so"),
    ],
    ids=["backends", "doctor", "lock"],
)
def test_a_command_prints_utf_8(
    folder: str,
    command: list[str],
    is_there: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    for form in ([], ["--json"]):
        assert sys.stdout.errors == "strict"
        main([*command, *form, "--dynamic-backends-path", folder])
        shown = capsys.readouterr().out
        assert is_there in shown
        if form:
            document = json.loads(shown)
            assert json.dumps(document, ensure_ascii=False).encode()  # no surrogates
            assert "/b\\xff/Mock_Good_backend.so" in json.dumps(document).replace("\\\\", "\\")
