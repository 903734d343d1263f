# SPDX-License-Identifier: MIT
"""``armnn backends``: states, capabilities, and the distribution of a new backend."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import armnn
from armnn.backends import BackendRegistry, CreationOptions, ModelContext
from armnn.backends.locking import Lock, default_lock_file, sha256_of
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from armnn_backend_api import BACKEND_API_VERSION
from armnn_tools.cli.backends import write_backend
from armnn_tools.cli.main import main
from fakes import Plugin, backend_plugin, installed

API = str(BACKEND_API_VERSION)
PLUGINS = (
    backend_plugin("Acme", distribution="a-good"),
    backend_plugin("Broken", distribution="b-broken", source="import no_such_module\n"),
    backend_plugin("Acme", distribution="c-shadowed"),
    backend_plugin("Newer", distribution="d-newer", requires=["armnn-backend-api>=9"]),
)


def test_without_backends_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, alone=True):
        assert main(["backends"]) == 0
        assert capsys.readouterr().out.startswith(
            "No backend is installed. The usual ones: pip install --no-index --find-links "
        )
        assert main(["backends", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == []


CAPABLE = """from fakes import NullBackend
class backend(NullBackend):
    id = "Able"
    capabilities = {"AcmeTiles": 4, "HasFp16": True, "NonConstWeights": False}
"""


def test_capabilities_are_shown_when_they_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    able = backend_plugin("Able", distribution="able", source=CAPABLE)
    with installed(tmp_path, able, *PLUGINS, alone=True):
        assert main(["backends", "-v", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert main(["backends", "--verbose"]) == 0
        table = capsys.readouterr().out
    assert [(row["id"], row["state"], row.get("capabilities")) for row in rows] == [
        ("Acme", "loaded", {}),
        ("Able", "loaded", {"AcmeTiles": 4, "HasFp16": True, "NonConstWeights": False}),
        ("Broken", "failed", None),
        ("Acme", "shadowed", None),
        ("Newer", "incompatible", None),
    ]
    lines = [line.split() for line in table[table.index("Capabilities") :].splitlines()]
    assert ["capability", "Acme", "Able"] in lines
    assert [line for line in lines if len(line) == 2] == [
        ["NonConstWeights", "no"],
        ["HasFp16", "yes"],
        ["AcmeTiles", "4"],
    ]


def test_a_backend_whose_capabilities_fail_is_shown_as_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = CAPABLE.replace(
        "capabilities = {", "capabilities = property(lambda _: 1 / 0)\n    x = {"
    )
    with installed(tmp_path, backend_plugin("Able", source=broken), alone=True):
        assert main(["backends", "-v", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["state"] == "failed"
    assert "ZeroDivisionError" in row["reason"]
    assert "capabilities" not in row


def test_the_list_has_every_state_and_imports_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, *PLUGINS, alone=True):
        assert main(["backends", "--json"]) == 0
        assert not {"a_good", "b_broken"} & sys.modules.keys()
    rows = json.loads(capsys.readouterr().out)
    assert [(row["id"], row["state"]) for row in rows] == [
        ("Acme", "known"),
        ("Broken", "known"),
        ("Acme", "shadowed"),
        ("Newer", "incompatible"),
    ]
    assert rows[0] == {
        "id": "Acme",
        "state": "known",
        "distribution": "a-good",
        "version": "0.3.0",
        "api_version": None,
        "declared_range": ">=1.0,<2",
        "origin": "a_good:backend",
        "location": str(tmp_path),
        "source": None,
        "stage": None,
        "reason": None,
        "remedy": None,
        "shadowed_by": None,
        "import_seconds": None,
        "isolation": None,
        "score": None,
    }
    assert rows[2]["shadowed_by"] == "a_good:backend"
    assert rows[3]["reason"] == f"needs Backend API >=9, this core provides {API}"


def test_load_tries_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with installed(tmp_path, *PLUGINS, alone=True):
        assert main(["backends", "--load", "--json"]) == 0
    good, broken, shadowed, newer = json.loads(capsys.readouterr().out)
    assert (good["state"], good["api_version"]) == ("loaded", API)
    assert good["import_seconds"] > 0
    assert broken["state"] == "failed"
    assert "ModuleNotFoundError: No module named 'no_such_module'" in broken["reason"]
    assert [shadowed["state"], newer["state"]] == ["shadowed", "incompatible"]
    assert [good["score"], shadowed["score"], newer["score"]] == [1, None, None]


def test_the_table_shows_id_state_owner_versions_origin_and_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, *PLUGINS, alone=True):
        assert main(["backends", "--load"]) == 0
    heading, _, *rows = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert heading.split() == (
        ["id", "state", "score", "distribution", "version", "API", "version", "origin", "reason"]
    )
    assert rows[0].split() == ["Acme", "loaded", "1", "a-good", "0.3.0", API, "a_good:backend"]
    assert rows[3].split()[:5] == ["Newer", "incompatible", "d-newer", "0.3.0", ">=9"]
    assert f"needs Backend API >=9, this core provides {API}" in rows[3]


def test_a_path_without_the_loader_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, alone=True):
        assert main(["backends", "--dynamic-backends-path", "/opt/acme"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("armnn: error: Dynamic backends cannot be loaded (--dynamic-b")
    assert captured.err.count("\n") == 1


def test_the_files_of_a_distribution_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backends", "new", "Acme", "--id", "AcmeNpu", "--output", str(tmp_path)]) == 0
    folder = tmp_path / "armnn-backend-acmenpu"
    assert f"Wrote {folder}." in capsys.readouterr().out
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "src/armnn_backend_acmenpu/__init__.py",
        "src/armnn_backend_acmenpu/backend.py",
        "src/armnn_backend_acmenpu/py.typed",
        "tests/test_conformance.py",
    ]


def test_the_files_of_a_native_distribution_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["backends", "new", "Acme", "--id", "AcmeNpu", "--native", "--output", str(tmp_path)]
    assert main(command) == 0
    folder = tmp_path / "armnn-backend-acmenpu"
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        "LICENSE",
        "README.md",
        "hatch_build.py",
        "pyproject.toml",
        "src/armnn_backend_acmenpu/__init__.py",
        "src/armnn_backend_acmenpu/backend.c",
        "src/armnn_backend_acmenpu/backend.py",
        "src/armnn_backend_acmenpu/py.typed",
        "tests/test_conformance.py",
    ]
    shown = capsys.readouterr().out
    install = 'pip install --no-index --find-links WHEELHOUSE --no-build-isolation -e ".[test]"\n'
    assert f"  cd {folder}\n  pip install -r WHEELHOUSE/requirements.txt pytest " in shown
    assert f"  {install}  pytest && armnn backends\n" in shown
    assert "\nWHEELHOUSE is the folder of wheels that " in shown
    readme = (folder / "README.md").read_text()
    assert install in readme
    assert "WHEELHOUSE is the folder of wheels that" in readme
    source = (folder / "src/armnn_backend_acmenpu/backend.c").read_text()
    api = f"{BACKEND_API_VERSION.major}.0"  # the oldest that it can do with
    assert rf'ARMNN_BACKEND_NOTE("{{\"id\": \"AcmeNpu\", \"api\": \"{api}\"}}");' in source
    assert "Acme_AcmeNpu_backend.so" in (folder / "hatch_build.py").read_text()


def test_the_project_declares_the_backend_and_what_it_needs(tmp_path: Path) -> None:
    folder = write_backend("Acme", "AcmeNpu", tmp_path)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["armnn.backends"] == {
        "AcmeNpu": "armnn_backend_acmenpu.backend:AcmeNpuBackend"
    }
    major = BACKEND_API_VERSION.major
    needed = f"armnn-backend-api>={major}.0,<{major + 1}"
    assert needed in project["dependencies"]


@pytest.mark.parametrize("kind", ["python", "native"])
def test_no_placeholder_is_left(tmp_path: Path, kind: Literal["python", "native"]) -> None:
    folder = write_backend("Acme", "AcmeNpu", tmp_path, kind)
    texts = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
    left = {path.name for path, text in texts.items() if "$" in text.replace("$CC", "")}
    assert left == set()


def test_the_backend_adds_and_refuses_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_backend("Acme", "Fresh", tmp_path)
    monkeypatch.syspath_prepend(folder / "src")
    backend = import_module("armnn_backend_fresh.backend").FreshBackend()
    monkeypatch.delitem(sys.modules, "armnn_backend_fresh.backend")
    net = armnn.Network("sum")
    x = net.add_input("x", armnn.TensorInfo((2,), armnn.DataType.FLOAT32))
    h = net.add_input("h", armnn.TensorInfo((2,), armnn.DataType.FLOAT16))
    model = ModelContext({})
    assert backend.supports(net.add_addition(x, x).producer, model)
    refusals = [
        backend.supports(value.producer, model).reason
        for value in (net.add_addition(h, h), net.add_floor(x))
    ]
    assert refusals == ["Fresh runs Float32, input 0 is Float16", "Fresh runs Addition, got Floor"]
    workload = backend.create_workload(net.add_addition(x, x).producer, model)
    operands = [np.float32([1, 2]), np.float32([10, 20]), np.zeros(2, np.float32)]
    handles = [armnn.backends.ArrayHandle(x.info, array) for array in operands]
    workload.bind(handles[:2], handles[2:])()
    assert operands[2].tolist() == [11, 22]


@pytest.mark.parametrize(
    ("vendor", "backend_id", "message"),
    [
        (
            "Acme Inc.",
            "Npu",
            "The vendor of a backend becomes.*got 'Acme Inc.', expected letters",
        ),
        ("Acme", "../Npu", "The id of a backend becomes part of.*got '../Npu', expected letters"),
        ("Acme", "", "The id of a backend becomes part of file names: got '', expected le"),
        ("Acme", "Unknown", "got 'Unknown', expected another id, as 'Unknown' names no backend"),
    ],
)
def test_names_that_cannot_be_part_of_a_file_name_are_refused(
    tmp_path: Path, vendor: str, backend_id: str, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        write_backend(vendor, backend_id, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "armnn-backend-acmenpu").mkdir()
    with pytest.raises(InvalidArgumentError, match="exists already; name another folder"):
        write_backend("Acme", "AcmeNpu", tmp_path)


def test_the_native_build_has_the_documented_flags(tmp_path: Path) -> None:
    build = (write_backend("Acme", "AcmeNpu", tmp_path, "native") / "hatch_build.py").read_text()
    page = Path(__file__).parents[4] / "docs/writing-a-native-backend.md"
    command = page.read_text().split("gcc ", 1)[1].split("gcc ", 1)[0].replace("\\\n", " ")
    flags = [word for word in command.split() if word.startswith("-") and word not in ("-o", "-m")]
    documented = [flag for flag in flags if not flag.startswith("--")]
    assert set(documented) >= {"-Wl,-z,defs", "-lm", "-fno-fast-math", "-fvisibility=hidden"}
    assert [flag for flag in documented if f'"{flag}"' not in build] == []


@pytest.mark.parametrize(
    "page",
    [
        "docs/backend-api-c.md",
        "docs/dynamic-backends.md",
        "docs/writing-a-native-backend.md",
        "packages/armnn-backend-api/README.md",
    ],
)
def test_every_page_builds_with_these_flags(page: str) -> None:
    text = (Path(__file__).parents[4] / page).read_text().replace("\\\n", " ")
    builds = [line for line in text.splitlines() if "gcc" in line and "fvisibility" in line]
    assert builds
    for line in builds:
        assert {"-Wl,-z,defs", "-fno-fast-math", "-fPIC", "-O2"} <= set(line.split())


class WithoutKit(MetaPathFinder):
    """Finds the kit nowhere, as if it were not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "armnn_conformance":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize("options", [["--layers"], ["--card", "card.json"]])
def test_without_the_kit_it_says_what_to_install(
    options: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("armnn_conformance")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [WithoutKit(), *sys.meta_path])
    assert main(["backends", *options]) == 1
    told = capsys.readouterr().err
    assert "the table of supported layers needs armnn-conformance, which is not installed" in told
    assert "armnn-conformance (WHEELHOUSE is" in told


ACME = backend_plugin("Acme")
LOADER = Plugin(
    "armnn-dynamic-loader",
    "0.1",
    (),
    {"armnn.backend_sources": {"dynamic": "fake_loader:Source"}},
    {
        "fake_loader": """\
from pathlib import Path
from armnn.backends import BackendSource, SourceRecord
from fakes import NullBackend

class Source(BackendSource):
    def scan(self, options):
        return [SourceRecord("Dropped", path, sha256=None) for path in self.files(options)]

    def files(self, options):
        return sorted(map(str, Path(options.dynamic_backends_path).glob("*.so")))

    def load(self, record, runtime):
        return NullBackend(record.id)

    def lint(self, path):
        return []
"""
    },
)


@pytest.fixture
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("ARMNN_BACKENDS", raising=False)
    monkeypatch.delenv("ARMNN_DYNAMIC_BACKENDS_PATH", raising=False)


@pytest.mark.usefixtures("own_settings")
def test_the_command_locks_files_and_distributions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.so").write_bytes(b"content")
    path = tmp_path / "deep" / "backends.lock"
    with installed(tmp_path / "site", ACME, LOADER, alone=True):
        where = ["--dynamic-backends-path", str(folder), "--output", str(path)]
        assert main(["backends", "lock", *where, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert main(["backends", "lock"]) == 0
        assert f"Wrote {default_lock_file()}" in capsys.readouterr().out
    assert document["lock_file"] == str(path)
    assert [(row["kind"], row["name"], row["version"]) for row in document["locked"]] == [
        ("file", str(folder / "a.so"), ""),
        ("distribution", "armnn-backend-acme", "0.3.0"),
    ]
    assert document["locked"][0]["sha256"] == sha256_of(str(folder / "a.so"))
    assert json.loads(path.read_text())["files"] == {
        str(folder / "a.so"): hashlib.sha256(b"content").hexdigest()
    }
    assert path.stat().st_mode & 0o777 == 0o644
    assert Lock.read(path).distributions.keys() == {"armnn-backend-acme"}


@pytest.mark.usefixtures("own_settings")
def test_a_lock_file_can_be_written_as_an_error_of_the_core_says(tmp_path: Path) -> None:
    options = CreationOptions(require_locked=True, lock_file=str(tmp_path / "my lock"))
    with installed(tmp_path / "site", ACME, alone=True):
        with pytest.raises(BackendUnavailableError) as caught:
            BackendRegistry(options).find_usable()
        found = re.search(r"run 'armnn (backends lock) --output '(.*?)''", str(caught.value))
        assert found is not None
        assert main([*found[1].split(), "--output", found[2]]) == 0
        assert [each.id for each in BackendRegistry(options).find_usable()] == ["Acme"]
