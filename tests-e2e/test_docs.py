# SPDX-License-Identifier: MIT
"""What the documentation shows works as it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    *REPOSITORY.glob("*.md"),
    *REPOSITORY.glob("docs/*.md"),
    *REPOSITORY.glob("examples/*.md"),
    *REPOSITORY.glob("packages/*/README.md"),
]


def code_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if path.name == "README.md" and "```python" in path.read_text()],
    ids=lambda path: str(path.relative_to(REPOSITORY)),
)
def test_the_example_of_a_readme_runs(
    path: Path, model: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").symlink_to(model("page_orientation"))
    (tmp_path / "model.tflite").symlink_to(model("pitch"))
    (example,) = code_blocks(path, "python")
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the backend of docs/writing-a-backend.md is installed."""
    folder = tmp_path_factory.mktemp("acme")
    document = REPOSITORY / "docs" / "writing-a-backend.md"
    (project,) = code_blocks(document, "toml")
    module, example = code_blocks(document, "python")
    (folder / "pyproject.toml").write_text(project)
    (folder / "acme_backend.py").write_text(module)
    (folder / "example.py").write_text(example)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", folder / "site", folder], check=True)
    return folder


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder / "site",
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def test_the_backend_of_the_guide_takes_the_layers_that_it_can_run(acme: Path) -> None:
    lines = run(acme, str(acme / "example.py")).splitlines()
    assert lines == ["[2. 3.]", "total AcmeNpu", "root CpuRef"]


def test_the_backend_of_the_guide_is_listed_beside_the_others(acme: Path) -> None:
    listing = json.loads(run(acme, "-m", "armnn", "backends", "--json"))
    owners = {row["id"]: row["distribution"] for row in listing}
    assert (owners["AcmeNpu"], owners["CpuRef"]) == ("acme-backend", "armnn-backend-ref")
