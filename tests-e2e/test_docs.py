# SPDX-License-Identifier: MIT
"""What the documentation shows works as it says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
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
PROJECTS = list(REPOSITORY.glob("packages/*/pyproject.toml"))
FRONTS = [
    *(REPOSITORY / name for name in ("README.md", "docs/README.md", "docs/speed.md", "docs/arm.md")),
    *(path.with_name("README.md") for path in PROJECTS),
]


def code_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", FRONTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_a_front_page_begins_with_whom_it_is_not_affiliated_with(path: Path) -> None:
    title, first, *_ = path.read_text().split("\n\n")
    assert title.startswith("# ")
    assert first.startswith("Not affiliated with Arm")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in PROJECTS))
def test_a_distribution_claims_what_is_tested(name: str) -> None:
    project = tomllib.loads((REPOSITORY / "packages" / name / "pyproject.toml").read_text())
    said = project["project"]
    assert "(not affiliated with Arm" in said["description"]
    assert [each for each in said["classifiers"] if " :: Python ::" in each] == [
        "Programming Language :: Python :: 3.11"  # the one that the CI runs
    ]
    assert [each for each in said["classifiers"] if each.startswith("Operating System")] == [
        "Operating System :: POSIX :: Linux"
    ]


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


def test_the_tutorial_shows_the_example_backend_as_it_is() -> None:
    quotes = [block for block in tutorial("python") if block.startswith("# armnn_backend_custom/")]
    assert len(quotes) == 3
    for quote in quotes:
        first, _, code = quote.partition("\n")
        source = REPOSITORY / "packages/armnn-backend-custom/src" / first.removeprefix("# ")
        assert code in source.read_text()
    (project,) = tutorial("toml")
    declared = tomllib.loads(
        (REPOSITORY / "packages/armnn-backend-custom/pyproject.toml").read_text()
    )
    shown = tomllib.loads(project)["project"]
    assert shown == {name: declared["project"][name] for name in shown}


@pytest.mark.parametrize(
    "page",
    [
        "quick-start",
        "choosing-backends",
        "coming-from-arm-nn",
        "coming-from-onnxruntime",
        "exporting",
        "writing-a-backend",
    ],
)
def test_the_examples_of_a_page_print_what_it_says(
    page: str, model: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").symlink_to(model("page_orientation"))
    (tmp_path / "model.tflite").symlink_to(model("pitch"))
    document = REPOSITORY / "docs" / f"{page}.md"
    blocks = code_blocks(document, "python")
    examples = [block for block in blocks if not block.startswith("# armnn_backend")]
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(examples)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "".join(code_blocks(document, "text"))


def tutorial(language: str) -> list[str]:
    return code_blocks(REPOSITORY / "docs" / "writing-a-backend.md", language)
