# SPDX-License-Identifier: MIT
"""What the documentation shows works as it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_environments import COMMAND, closure, requirements_of

import armnn
from armnn.errors import DeadlineExceededError
from armnn_backend_api import get_include
from armnn_dynamic_loader import samples
from fakes.decoders import write_genai_folder
from tools.release import wheelhouse

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGES = REPOSITORY / "packages"
DOCUMENTS = [
    *REPOSITORY.glob("*.md"),
    *REPOSITORY.glob("docs/*.md"),
    *REPOSITORY.glob("examples/*.md"),
    *REPOSITORY.glob("packages/*/README.md"),
]
PAGES = [
    *("quick-start", "choosing-backends", "coming-from-arm-nn", "coming-from-onnxruntime"),
    *("formats", "memory", "optimizer-options", "writing-a-backend"),
    *("finding-wrong-layers", "loading", "python-operators"),
    *("recording", "writing-a-parser"),
]
COMMANDS = re.compile(r"^    ((?:armnn|pytest) .*)$", re.MULTILINE)
InstalledFor = Callable[[Path], Path]


@pytest.fixture
def data(model: Callable[[str], Path], tmp_path: Path) -> Path:
    """Return a folder with the pages' files."""
    (tmp_path / "model.onnx").symlink_to(model("page_orientation"))
    (tmp_path / "model.tflite").symlink_to(model("pitch"))
    (tmp_path / "picture.png").symlink_to(REPOSITORY / "examples/page_turned_90.png")
    write_genai_folder(tmp_path / "SmolLM2")
    return tmp_path


def code_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_figures_of_the_readme_are_true() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    layers = (REPOSITORY / "docs/layers.md").read_text()  # generated
    (own,), (more,) = re.findall(r"(\d+) are Arm\s", layers), re.findall(r"(\d+) more have", layers)
    assert f"| {int(own) + int(more)}, of which {own} are Arm NN's;" in readme
    floor = REPOSITORY / "packages/armnn-parser-onnx/onnx_standard_floor.txt"
    assert f"| {floor.read_text().strip()} of the 1799 " in readme
    rows = re.findall(r"^\| \[.* \| (\S.*) \|$", (REPOSITORY / "docs/models.md").read_text(), re.M)
    good = [row for row in rows if row.startswith("within ")]
    assert f"| {len(good)} of {len(rows)} agree" in readme
    matrix = tomllib.loads((REPOSITORY / "compat.toml").read_text())
    doors = sum(1 + ("library" in row) for row in matrix["released_backends"].values())
    pairs = len(matrix["cores"]) * (2 * len(matrix["backends"]) + doors)
    assert f"| {pairs} pairs" in readme


@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if path.name == "README.md" and "```python" in path.read_text()],
    ids=lambda path: str(path.relative_to(REPOSITORY)),
)
def test_the_example_of_a_readme_runs(path: Path, installed_for: InstalledFor, data: Path) -> None:
    (example,) = code_blocks(path, "python")
    run_python(installed_for(path), example, data)


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


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_print_what_it_says(
    page: str, installed_for: InstalledFor, data: Path
) -> None:
    document = REPOSITORY / "docs" / f"{page}.md"
    blocks = code_blocks(document, "python")
    examples = [block for block in blocks if not block.startswith("# armnn_backend")]
    printed = run_python(installed_for(document), "\n".join(examples), data)
    assert printed == "".join(code_blocks(document, "text"))


def test_the_examples_of_text_generation_run(installed_for: InstalledFor, data: Path) -> None:
    document = REPOSITORY / "docs/text-generation.md"
    printed = run_python(installed_for(document), *code_blocks(document, "python"), data)
    # The weights are random; the second turn has what the first one computed, and its text.
    assert re.search(r"(length|stop) \d+ 0\n", printed)


def test_the_case_of_conformance_is_one(installed_for: InstalledFor, tmp_path: Path) -> None:
    document = REPOSITORY / "docs/conformance.md"
    (example,) = code_blocks(document, "python")
    example += "print([each.expected[0].real.sum(axis=-1).round(6).tolist()"
    example += " for each in softmax(DataType.FLOAT32)])"
    assert run_python(installed_for(document), example, tmp_path) == "[[1.0, 1.0]]\n"


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a vendor's folder with the loader's sample.

    It has the name that the page gives it.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "acme"
    folder.mkdir()
    folder.chmod(0o755)
    file = folder / "Acme_Npu_backend.so"
    shared = ["gcc", "-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs"]
    sample = Path(samples.__file__).with_name("acme_npu.c")
    subprocess.run([*shared, f"-I{get_include()}", "-o", file, sample], check=True)
    file.chmod(0o755)
    return folder


def test_the_example_of_dynamic_backends_runs_with_a_file_in_its_folder(
    installed_for: InstalledFor, data: Path, acme: Path
) -> None:
    document = REPOSITORY / "docs/dynamic-backends.md"
    assert "&& cp Acme_Npu_backend.so /opt/acme\n" in document.read_text()
    (example,) = code_blocks(document, "python")
    example += "    x = numpy.zeros((1, 3, 224, 224), numpy.float32)\n"
    example += "    print(*model.run({'x': x}).values())\n"
    example += "    print(sorted(model.report.layers_by_backend))\n"
    example = "import numpy\n" + example.replace("/opt/acme", str(acme))
    printed = run_python(installed_for(document), example, data)
    assert printed.endswith("['AcmeNpu', 'CpuRef']\n")


def test_the_commands_of_dynamic_backends_work(
    installed_for: InstalledFor, data: Path, acme: Path
) -> None:
    document = REPOSITORY / "docs/dynamic-backends.md"
    found = re.findall(r"`(armnn \w+ [^`]*/opt/acme[^`]*)`", document.read_text())
    assert [shlex.split(command)[1] for command in found] == ["run", "doctor"]
    for command in found:
        arguments = shlex.split(command.replace("/opt/acme", str(acme)))[1:]
        program = installed_for(document) / "bin/armnn"
        run = subprocess.run([program, *arguments], cwd=data, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert "AcmeNpu" in run.stdout


def test_the_commands_of_the_tour_work(data: Path) -> None:
    (data / "page.png").symlink_to(REPOSITORY / "examples" / "page_turned_90.png")
    _, _, tour = (REPOSITORY / "README.md").read_text().partition("\n## A minute's tour\n")
    commands = re.findall(r"^    armnn (.*?) +# ", tour, re.MULTILINE)
    assert len(commands) == 7
    program = Path(sys.prefix) / "bin/armnn"
    for command in commands:
        short = ["--duration", "0.1"] if command.startswith("bench") else []
        arguments = [*shlex.split(command), *short]
        run = subprocess.run([program, *arguments], cwd=data, capture_output=True, text=True)
        assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"


@pytest.mark.parametrize("page", ["quick-start", "writing-a-backend"])
def test_the_commands_of_a_page_work(page: str, installed_for: InstalledFor, data: Path) -> None:
    document = REPOSITORY / "docs" / f"{page}.md"
    programs = installed_for(document) / "bin"
    commands = COMMANDS.findall(document.read_text())
    assert len(commands) >= 3
    for command in commands:
        name, *arguments = shlex.split(command)
        if name == "pytest":  # all of it is a test of that backend's own
            arguments += ["--armnn-layers=Addition", "-m", "conformance_loads"]
        run = subprocess.run(
            [programs / name, *arguments], cwd=data, capture_output=True, text=True
        )
        assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"


def test_what_pages_call_is_there_after_importing_armnn_alone() -> None:
    prose = "".join(
        re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for path in DOCUMENTS
    )
    called = sorted(set(re.findall(r"`[^`\n]*?\b(armnn(?:\.\w+)+)\(", prose)))
    assert "armnn.profiling.Recorder" in called
    ask = "import sys, armnn\nfor name in sys.argv[1:]: assert callable(eval(name)), name"
    asked = [sys.executable, "-W", "error", "-c", ask, *called]
    run = subprocess.run(asked, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("    pip install numpy armnn-core\n", "an index might have a stranger's package"),
        ("    pip install --find-links dist/wheelhouse armnn-core\n", "might have a stranger's"),
        ("`pip install numpy` in a sentence\n", "page.md does not say what to install"),
    ],
)
def test_a_page_says_what_to_install_and_asks_no_index_for_ours(
    text: str, refusal: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match=refusal):
        requirements_of(page)


def test_the_environment_of_a_page_lacks_what_the_page_does_not_name(
    installed_for: InstalledFor, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "    pip install pytest\n    $ pip install -r dist/wheelhouse/requirements.txt\n"
    )
    asked = "import pytest, importlib.util as u; print(u.find_spec('armnn'), u.find_spec('numpy'))"
    assert run_python(installed_for(page), asked, tmp_path) == "None None\n"


@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if re.search(r"dist/wheelhouse \S", path.read_text())],
    ids=lambda path: str(path.relative_to(REPOSITORY)),
)
def test_a_page_leaves_nothing_of_others_to_the_wheelhouse(
    path: Path,
) -> None:
    wanted = requirements_of(path)
    by_index = [*wheelhouse.others_needed("armnn-core", wheelhouse.EXTRAS)]
    by_index += [each for each in wanted if not each.startswith("armnn")]
    there = {name for each in by_index for name in closure(each)}
    needed = {name for each in wanted for name in closure(each)}
    assert {name for name in needed - there if not name.startswith("armnn-")} == set()


def test_no_page_tells_to_ask_an_index_for_ours() -> None:
    texts = {path: path.read_text() for path in DOCUMENTS}
    in_sentences = [
        each
        for path, text in texts.items()
        if path.name != "installing.md"  # which says what not to do
        for each in re.findall(r"`pip install ([^`]*armnn[^`]*)`", text)
    ]
    assert not in_sentences
    commands = [each for text in texts.values() for each in COMMAND.findall(text)]
    assert len(commands) > 10
    by_path = [each for each in commands if "./packages/armnn-" in each]
    assert len(by_path) == 1
    for command in {*commands} - {*by_path}:
        assert "armnn" not in command or command.startswith(
            ("--no-index --find-links dist/wheelhouse ", "./armnn-backend-")
        )


def test_no_instruction_lets_pip_look_for_ours_in_an_index_too() -> None:
    folders = [REPOSITORY / each for each in ("docs", "examples", "tools")]
    files = [path for each in (*folders, *PACKAGES.glob("*/src")) for path in each.rglob("*")]
    files += [*REPOSITORY.glob("*.md"), *PACKAGES.glob("*/README.md")]
    kinds = (".md", ".py", ".sh", ".template", ".toml", ".txt")
    told = [
        line
        for path in files
        if path.suffix in kinds and path.name != "installing.md"  # which says what not to do
        for line in path.read_text(encoding="utf-8").splitlines()
        if "--find-links" in line
    ]
    assert len(told) > 20
    assert [line for line in told if "--no-index" not in line] == []


def test_the_device_of_the_tutorial_is_right_after_a_deadline() -> None:
    (block,) = (each for each in tutorial("python") if "class AcmeQueue" in each)
    names: dict[str, Any] = {"armnn": armnn, "__name__": __name__}
    exec("from armnn.backends import BACKEND_API_VERSION, Backend, Workload", names)
    exec(block.partition("\nnet = ")[0], names)
    queue = names["AcmeQueue"]
    enqueue = queue.enqueue

    def slowly(self: Any, kernel: Callable[[], None]) -> None:
        enqueue(self, lambda: (time.sleep(0.03), kernel()))

    queue.enqueue = slowly
    net = armnn.Network("sums")
    y = net.add_input("x", armnn.TensorInfo((2,)))
    for _ in range(5):
        y = net.add_addition(y, y)
    net.add_output("y", y)
    try:
        model = armnn.load_model(net, backends=["Acme"])
        with pytest.raises(DeadlineExceededError):
            model.run({"x": np.float32([1, 2])}, timeout=0.05)
        assert model.run({"x": np.float32([3, 4])})["y"].tolist() == [96, 128]
    finally:
        armnn.unregister_backend("Acme")


def run_python(environment: Path, code: str, folder: Path) -> str:
    """Run a program with warnings as errors; return its output."""
    command = [environment / "bin" / "python", "-W", "error", "-c", code]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def tutorial(language: str) -> list[str]:
    return code_blocks(REPOSITORY / "docs" / "writing-a-backend.md", language)
