# SPDX-License-Identifier: MIT
"""docs/options.md has every option of a backend and every variable that anything here reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from armnn.backends.selection import VARIABLES

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "docs" / "options.md").read_text(encoding="utf-8")
OPTION = re.compile(
    r'^(?:constexpr const char \*k|_?)[A-Z]\w+(?:: Final)? = "([A-Z][a-zA-Z]+)"', re.MULTILINE
)
SOURCES = {
    "CpuAcc": "armnn-backend-neon/cpp/abi/options.cpp",
    "GpuAcc": "armnn-backend-cl/src/armnn_backend_cl/options.py",
    "OpenVino": "armnn-backend-openvino/src/armnn_backend_openvino/devices.py",
    "OnnxRuntime": "armnn-backend-onnxruntime/src/armnn_backend_onnxruntime/sessions.py",
}


@pytest.mark.parametrize("backend", SOURCES)
def test_options_of_backends(backend: str) -> None:
    text = (REPOSITORY / "packages" / SOURCES[backend]).read_text(encoding="utf-8")
    options = set(OPTION.findall(text)) - {"CPUExecutionProvider"}
    assert options
    _, _, rows = PAGE.partition(f"| `{backend}` |")
    rows = rows.partition("\n| `")[0]
    assert {option for option in options if f"`{option}`" not in rows} == set()


def test_variables_of_the_core() -> None:
    names = [name.replace("BOARD_NAME", "BOARD_<NAME>") for name in VARIABLES]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_variables_of_sources() -> None:
    read = re.compile(r'getenv\("(\w+)"\)|environ\.get\("(ARMNN_\w+)"')
    folders = [*REPOSITORY.glob("packages/*/src"), *REPOSITORY.glob("packages/*/cpp")]
    files = [
        path
        for folder in (*folders, *REPOSITORY.glob("packages/*/native_build"))
        for path in folder.rglob("*")
        if path.suffix in {".py", ".cpp", ".h", ".c"}
    ]
    found = {
        name
        for path in files
        for groups in read.findall(path.read_text(encoding="utf-8"))
        for name in groups
        if name.startswith("ARMNN_")
    }
    assert len(found) > 5
    assert [name for name in sorted(found) if f"`{name}`" not in PAGE] == []
