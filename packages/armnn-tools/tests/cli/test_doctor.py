# SPDX-License-Identifier: MIT
"""``armnn doctor``: what it finds, and which advice it gives."""

from __future__ import annotations

import json
import os
import platform
import re
from pathlib import Path
from typing import Any

import pytest

from armnn import processor
from armnn.__about__ import __version__
from armnn.backends import BACKEND_API_VERSION, BackendEntry, BackendState, BackendVersion
from armnn.backends.crashes import remember_lost_worker
from armnn.installing import install_command
from armnn_backend_api import __version__ as api_version
from armnn_tools.__about__ import __version__ as tools_version
from armnn_tools.cli.doctor import advice, released_cores
from armnn_tools.cli.main import main
from fakes import Plugin, backend_plugin, installed, write_plugin

GOOD = backend_plugin("Acme", distribution="a-good")
BROKEN = backend_plugin("Broken", distribution="b-broken", source="raise SystemExit(4)\n")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ARMNN_")]:
        monkeypatch.delenv(name)


def examine(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main(["doctor", "--json", *arguments]) == code
    return json.loads(capsys.readouterr().out)


def test_it_shows_the_versions_and_where_it_looked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, GOOD, alone=True):
        document = examine(capsys)
    assert document["system"]["armnn-core"] == __version__
    assert document["system"]["armnn-tools"] == tools_version
    assert document["system"]["Backend API"] == str(BACKEND_API_VERSION)
    assert document["system"]["Python"].startswith(platform.python_version())
    assert document["system"]["armnn-backend-api"] == api_version
    assert document["locations"] == [{"folder": str(tmp_path), "distributions": 1}]
    assert [(b["id"], b["state"]) for b in document["backends"]] == [("Acme", "loaded")]
    assert document["findings"] == []
    assert document["dynamic"] == "no folder to scan was given"


def test_a_problem_is_told_with_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, GOOD, BROKEN, alone=True):
        document = examine(capsys)
        assert main(["doctor"]) == 0
    text = (
        "Backend 'Broken' (b-broken 0.3.0) cannot be imported: SystemExit: 4; reinstall b-broken "
        "or tell its authors."
    )
    assert document["findings"] == [{"text": text, "is_problem": True}]
    assert f"What is wrong:\n  - {text}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("named", "code", "unusable"),
    [
        ("Acme", 0, []),
        ("", 0, []),
        ("Broken", 1, ["Broken"]),
        ("Acme, Broken", 1, ["Broken"]),
        ("Nobody", 1, ["Nobody"]),
        ("Nobody,Broken,Nobody", 1, ["Nobody", "Broken"]),
    ],
)
def test_the_exit_code_says_whether_the_named_backends_are_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], named: str, code: int, unusable: list[str]
) -> None:
    with installed(tmp_path, GOOD, BROKEN, alone=True):
        document = examine(capsys, "--backends", named, code=code)
    assert document["unusable"] == unusable
    texts = [finding["text"] for finding in document["findings"]]
    assert len(texts) == len(set(texts))
    assert any("'Nobody'" in text for text in texts) == ("Nobody" in unusable)


def test_what_is_shadowed_or_blocked_is_worth_knowing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "-Broken")
    other = backend_plugin("Acme", distribution="c-other")
    with installed(tmp_path, GOOD, BROKEN, other, alone=True):
        document = examine(capsys)
        assert main(["doctor"]) == 0
    assert [(f["text"].split("(")[1][:6], f["is_problem"]) for f in document["findings"]] == [
        ("b-brok", False),
        ("c-othe", False),
    ]
    assert "Worth knowing:\n" in capsys.readouterr().out
    assert document["environment"][0] == {
        "name": "ARMNN_BACKENDS", "value": "-Broken", "honoured": "yes",
    }  # fmt: skip


def test_a_variable_that_cannot_be_read_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "Cpu Ref")
    with installed(tmp_path, GOOD, alone=True):
        document = examine(capsys)
        assert "ARMNN_BACKENDS='Cpu Ref' is not a list of ids" in document["findings"][0]["text"]
        assert examine(capsys, "--backends", "Acme", code=1)["unusable"] == ["Acme"]


def test_a_missing_loader_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with installed(tmp_path, GOOD, alone=True):
        document = examine(capsys, "--dynamic-backends-path", "/opt/acme")
    assert "WHEELHOUSE armnn-dynamic-loader" in document["findings"][0]["text"]
    assert document["dynamic"] == "dynamic_backends_path='/opt/acme'"
    assert document["environment"][1]["honoured"] == "no: --dynamic-backends-path overrides it"


def test_without_backends_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, alone=True):
        (finding,) = examine(capsys)["findings"]
    assert finding["text"].startswith(
        "No backend is installed. The usual ones: pip install --no-index --find-links WHEELHOUSE "
        '"armnn-core['
    )


def test_a_backend_that_declares_no_range_is_worth_knowing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, backend_plugin("Acme", requires=()), alone=True):
        (finding,) = examine(capsys)["findings"]
    assert "does not say which Backend API it needs" in finding["text"]
    assert finding["is_problem"] is False


def test_metadata_left_behind_by_an_upgrade_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = backend_plugin("Acme", distribution="a-good", version="0.2.0")
    with installed(tmp_path, old, GOOD, alone=True):
        (finding,) = examine(capsys)["findings"]
    assert finding["text"].startswith(
        f"There is more metadata of a-good: 0.2.0 in {tmp_path} is ignored in favor of 0.3.0"
    )


def test_a_file_that_is_missing_from_an_installation_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = {**GOOD.modules, "a_good_extra": ""}
    plugin = Plugin(GOOD.distribution, GOOD.version, GOOD.requires, GOOD.entry_points, modules)
    with installed(tmp_path, plugin, alone=True):
        (tmp_path / "a_good_extra.py").unlink()
        (finding,) = examine(capsys)["findings"]
    assert finding["text"] == (
        f"a-good 0.3.0 lacks 1 of its files, such as {tmp_path / 'a_good_extra.py'}; run "
        "pip install --force-reinstall a-good."
    )


def test_entry_points_that_cannot_be_read_are_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, GOOD, BROKEN, alone=True):
        (tmp_path / "b_broken-0.3.0.dist-info" / "entry_points.txt").write_bytes(b"armnn. \xff")
        document = examine(capsys)
    assert [backend["id"] for backend in document["backends"]] == ["Acme"]
    (finding,) = document["findings"]
    assert finding["text"].startswith(
        f"The entry points of b-broken 0.3.0 in {tmp_path} cannot be read: UnicodeDecodeError"
    )
    assert finding["text"].endswith("; run pip install --force-reinstall b-broken.")


def test_parsers_and_sources_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = {
        "armnn.parsers": {"acme": "acme_parts:parse"},
        "armnn.backend_sources": {"dynamic": "acme_parts:Source"},
    }
    parts = Plugin("acme-parts", "2.0", (), groups, {"acme_parts": "1 / 0\n"})
    with installed(tmp_path, GOOD, parts, alone=True):
        document = examine(capsys)
        assert main(["doctor"]) == 0
    expected = {"distribution": "acme-parts", "version": "2.0", "location": str(tmp_path)}
    assert document["parsers"] == [{"name": "acme", "origin": "acme_parts:parse", **expected}]
    assert document["backend_sources"] == [
        {"name": "dynamic", "origin": "acme_parts:Source", **expected}
    ]
    shown = capsys.readouterr().out
    assert ".acme" in shown
    assert "No problem was found." in shown


def test_stale_metadata_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_plugin(tmp_path, GOOD)
    (tmp_path / "a_good.py").unlink()
    with installed(tmp_path, alone=True):
        document = examine(capsys, "--backends", "Acme", code=1)
    assert any("is stale" in finding["text"] for finding in document["findings"])


LOADER = Plugin(
    "armnn-dynamic-loader",
    "0.1",
    (),
    {"armnn.backend_sources": {"dynamic": "fake_loader:Source"}},
    {
        "fake_loader": """\
import time
from armnn.backends import BackendSource, SourceRecord
from armnn.backends.sources import SearchedFolder

class Source(BackendSource):
    def folders(self, options):
        return [SearchedFolder("/opt/acme", "option"), SearchedFolder("x", "y", "is not absolute")]

    def scan(self, options):
        reason = f"was tried out: {options.probe}, {options.probe_timeout:g} s"
        return [
            SourceRecord("Acme", "/opt/acme/a.so", stage="dlopen", reason=reason),
            SourceRecord("", "/opt/acme/README", stage="name", reason="has a bad name"),
        ]

    def load(self, record, runtime):
        raise NotImplementedError

    def lint(self, path):
        return [] if "good" in path else ["It \\x1b is bad.", "It is worse."]
"""
    },
)


def test_folders_and_stages_of_dynamic_backends_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ["--dynamic-backends-path", "/opt/acme"]
    with installed(tmp_path, LOADER, alone=True):
        document = examine(capsys, *path, "--backends", "Acme", code=1)
        assert main(["doctor", *path, "--reprobe", "--probe-timeout", "2.5"]) == 0
    assert document["folders"] == [
        {"path": "/opt/acme", "origin": "option", "problem": ""},
        {"path": "x", "origin": "y", "problem": "is not absolute"},
    ]
    assert [(f["text"], f["is_problem"]) for f in document["findings"]] == [
        ("The folder 'x' (y) is not absolute.", True),
        ("Backend 'Acme' (/opt/acme/a.so) was tried out: on, 10 s.", True),
        ("File '/opt/acme/README' has a bad name.", False),
    ]
    shown = capsys.readouterr().out
    assert "was tried out: again, 2.5 s" in shown
    assert re.search(r"^ */opt/acme +option +scanned *$", shown, re.MULTILINE)
    assert re.search(r"^ *x +y +is not absolute *$", shown, re.MULTILINE)
    assert re.search(r"^ *id +.* stage +reason *$", shown, re.MULTILINE)


def test_the_lint_prints_what_the_loader_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, LOADER, alone=True):
        assert main(["doctor", "--lint", "good.so"]) == 0
        assert capsys.readouterr().out == "good.so: nothing is wrong with it.\n"
        assert main(["doctor", "--lint", "bad.so"]) == 1
        assert capsys.readouterr().out == ("bad.so:\n  - It \\x1b is bad.\n  - It is worse.\n")
        assert main(["doctor", "--lint", "bad.so", "--json"]) == 1
        assert json.loads(capsys.readouterr().out) == {
            "file": "bad.so",
            "problems": ["It \x1b is bad.", "It is worse."],
        }


def test_a_lint_without_the_loader_names_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, alone=True):
        assert main(["doctor", "--lint", "a.so"]) == 1
    assert "WHEELHOUSE armnn-dynamic-loader" in capsys.readouterr().err


def test_import_times_are_measured_only_when_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with installed(tmp_path, GOOD, BROKEN, alone=True):
        assert examine(capsys)["import_times"] == []
        good, broken = examine(capsys, "--import-times")["import_times"]
        assert main(["doctor", "--import-times"]) == 0
    assert (good["name"], good["module"], good["problem"]) == ("Acme", "a_good", "")
    assert 0 < good["seconds"] < 60
    assert (broken["name"], broken["seconds"]) == ("Broken", None)
    assert broken["problem"] == "the process ended with exit code 4"
    assert "the process ended with exit code 4" in capsys.readouterr().out


def test_libraries_with_threads_are_listed_and_several_of_a_kind_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def loaded(*names: str) -> list[dict[str, object]]:
        row = {"user_api": "openmp", "internal_api": "openmp", "num_threads": 2, "version": None}
        return [{**row, "filepath": f"/lib/{name}"} for name in names]

    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: loaded("libgomp.so.1"))
    with installed(tmp_path, GOOD, alone=True):
        document = examine(capsys)
        assert document["findings"] == []
        assert document["thread_pools"] == [
            {
                "kind": "openmp",
                "name": "openmp",
                "version": "",
                "threads": 2,
                "path": "/lib/libgomp.so.1",
            }
        ]
        monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: loaded("libgomp.so", "libomp"))
        (finding,) = examine(capsys)["findings"]
    assert finding == {
        "text": "There are 2 copies of OpenMP in the process: /lib/libgomp.so, /lib/libomp; each "
        "starts threads of its own, so that they may wait for each other.",
        "is_problem": False,
    }


def test_what_a_lock_file_keeps_out_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "acme.lock")
    with installed(tmp_path / "site", GOOD, alone=True):
        document = examine(capsys, "--lock-file", path, "--backends", "Acme", code=1)
        assert [(b["state"], b["reason"]) for b in document["backends"]] == [
            ("blocked", f"is locked out, as there is no lock file {path!r}")
        ]
        assert main(["backends", "lock", "--output", path]) == 0
        capsys.readouterr()
        document = examine(capsys, "--lock-file", path, "--backends", "Acme")
    assert document["findings"] == []


DESCRIBED = backend_plugin(
    "Acme",
    distribution="a-good",
    source="""\
from armnn.backends import BackendContext
from fakes import NullBackend

closed = []

class Context(BackendContext):
    def close(self):
        closed.append(self)

class backend(NullBackend):
    id = "Acme"
    capabilities = {"Level": "sve2", "NumberOfThreads": 4}

    def create_context(self, options):
        return Context()
""",
)


def test_backends_describe_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with installed(tmp_path, DESCRIBED, alone=True):
        document = examine(capsys)
        import a_good  # type: ignore[import-not-found]  # the fake distribution

        assert len(a_good.closed) == 1
        assert main(["doctor"]) == 0
    assert document["backend_facts"] == [
        {"backend": "Acme", "name": "Level", "value": "sve2"},
        {"backend": "Acme", "name": "NumberOfThreads", "value": "4"},
    ]
    assert document["findings"] == []
    shown = capsys.readouterr().out
    assert re.search(r"^ Acme +Level +sve2$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "def create_context(self, options): raise OSError('no such device.')",
            "OSError: no such device",
        ),
        (
            "@property\n    def capabilities(self): return 1 / 0",
            "ZeroDivisionError: division by zero",
        ),
        (
            "capabilities = 5",
            (
                "BackendError: backend 'Acme' returned 5 from capabilities: expected a mapping of "
                "names to Booleans, numbers or texts, from a property"
            ),
        ),
    ],
)
def test_a_backend_whose_hardware_is_not_there_is_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, reason: str
) -> None:
    source = (
        f"from fakes import NullBackend\nclass backend(NullBackend):\n    id = 'Acme'\n    {body}\n"
    )
    with installed(tmp_path, backend_plugin("Acme", source=source), alone=True):
        document = examine(capsys, "--backends", "Acme", code=1)
    assert document["findings"] == [
        {
            "text": f"Backend 'Acme' (armnn-backend-acme 0.3.0) cannot be used: {reason}.",
            "is_problem": True,
        }
    ]
    assert document["backends"][0]["state"] == "failed"
    assert document["backend_facts"] == []


def test_variables_of_backends_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_ACME_LEVEL", "sve2")
    monkeypatch.setenv("ARMNN_BOARD_box", "ssh box")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/acme")
    with installed(tmp_path, GOOD, alone=True):
        rows = {row["name"]: row for row in examine(capsys)["environment"]}
    assert list(rows)[:2] == ["ARMNN_BACKENDS", "ARMNN_DYNAMIC_BACKENDS_PATH"]
    assert rows["ARMNN_ACME_LEVEL"] == {
        "name": "ARMNN_ACME_LEVEL",
        "value": "sve2",
        "honoured": "not by armnn itself; a backend may read it",
    }
    assert (rows["ARMNN_BOARD_box"]["value"], rows["ARMNN_BOARD_box"]["honoured"]) == (
        "ssh box",
        "yes",
    )
    assert rows["XDG_CACHE_HOME"]["value"] == "/var/cache/acme"


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("-acme", "names 'acme', which is not a backend here; did you mean 'Acme'?"),
        ("Acme,Nowhere", "names 'Nowhere', which is not a backend here."),
    ],
)
def test_an_id_in_the_variable_that_no_backend_has_is_worth_knowing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    text: str,
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", variable)
    with installed(tmp_path, GOOD, alone=True):
        (finding,) = examine(capsys)["findings"]
    assert finding == {"text": f"ARMNN_BACKENDS {text}", "is_problem": False}


@pytest.mark.parametrize(
    ("cpuinfo", "start"),
    [
        ("processor\t: 0\nmodel name\t: Acme 9000 @ 3 GHz\n", "Acme 9000 @ 3 GHz ("),
        ("processor\t: 0\nCPU part\t: 0xd0c\n", "0xd0c ("),
        ("", f"{platform.machine()}, "),
        (None, f"{platform.machine()}, "),
    ],
)
def test_the_processor_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpuinfo: str | None, start: str
) -> None:
    path = tmp_path / "cpuinfo"
    if cpuinfo is not None:
        path.write_text(cpuinfo)
    monkeypatch.setattr(processor, "CPUINFO", path)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    described = processor.described_processor()
    assert described.startswith(start)
    assert described.endswith(", 8 CPUs, of which this process may use 2")


def test_an_ignored_environment_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: -1)
    with installed(tmp_path, GOOD, alone=True):
        document = examine(capsys)
    assert {row["honoured"] for row in document["environment"]} == {
        "no: the process has another's rights"
    }


def test_what_a_list_skips_is_told_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, GOOD, BROKEN, alone=True):
        assert main(["doctor", "--json", "--backends", "GpuAcc?,Broken?,Acme?"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert main(["doctor", "--backends", "GpuAcc?,Acme"]) == 0
        table = capsys.readouterr().out
        assert main(["doctor", "--backends", "GpuAcc?,Broken"]) == 1
    assert document["unusable"] == []
    assert [each["id"] for each in document["skipped"]] == ["GpuAcc", "Broken"]
    assert "There is no backend 'GpuAcc'" in document["skipped"][0]["reason"]
    assert "SystemExit: 4" in document["skipped"][1]["reason"]
    assert "Skipped backends of the list" in table


RECORDED = {"1.0.0": "1.0", "1.1.0": "1.1", "1.1.2": "1.1", "2.0.0": "2.0"}


def entry(needed: str = "", declared: str = "") -> BackendEntry:
    return BackendEntry(
        "Acme",
        BackendState.INCOMPATIBLE,
        "acme:Backend",
        distribution="armnn-acme",
        version="7",
        declared_range=declared,
        api_version=BackendVersion.parse(needed) if needed else None,
    )


@pytest.mark.parametrize(
    ("found", "core"),
    [
        (entry("1.0"), "1.1.2"),
        (entry("1.1"), "1.1.2"),
        (entry("2.0"), "2.0.0"),
        (entry(declared=">=1.0,<2"), "1.1.2"),
        (entry(declared=">=1.0,<1.1"), "1.0.0"),
        (entry(declared=">=1.0"), "2.0.0"),
        (entry("1.0", declared=">=1.0"), "1.1.2"),  # what the code says counts
    ],
)
def test_the_newest_core_that_takes_it_is_named(found: BackendEntry, core: str) -> None:
    assert advice(found, RECORDED) == (
        f"armnn-core {core} is the newest recorded release that takes backend 'Acme' "
        f"(armnn-acme 7): {install_command(f'armnn-core=={core}')}."
    )


@pytest.mark.parametrize("found", [entry("1.2"), entry("3.0"), entry(declared=">=2.1,<3")])
def test_a_backend_that_no_release_takes_is_told_so(found: BackendEntry) -> None:
    assert advice(found, RECORDED) == (
        "No release of armnn-core up to 2.0.0 takes backend 'Acme' (armnn-acme 7), as far as this "
        "core knows."
    )


def test_the_record_has_the_releases_in_order() -> None:
    assert [*released_cores().items()][:2] == [("1.0.0", "1.0"), ("1.1.0", "1.1")]


def test_the_doctor_gives_the_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    older = backend_plugin("Older", distribution="armnn-older", requires=["armnn-backend-api<1.1"])
    newer = backend_plugin("Newer", distribution="armnn-newer", requires=["armnn-backend-api>=9"])
    with installed(tmp_path, older, newer, alone=True):
        main(["doctor", "--json"])
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    texts = [finding["text"] for finding in findings if not finding["is_problem"]]
    assert BackendVersion(1, 1) <= BACKEND_API_VERSION
    assert any("WHEELHOUSE armnn-core==1.0.0 (" in text for text in texts)
    assert any(text.startswith("No release of armnn-core up to") for text in texts)


def test_crashes_of_isolated_backends_are_told_until_they_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with installed(tmp_path / "site", GOOD, alone=True):
        (acme,) = examine(capsys)["backends"]
        remember_lost_worker("Acme", acme["origin"], "Acme ended with SIGSEGV in call")
        remember_lost_worker("Acme", "another:Origin", "another one ended")
        (finding,) = examine(capsys)["findings"]
        assert "Acme ended with SIGSEGV in call; a program that isolates" in finding["text"]
        assert not finding["is_problem"]
        assert main(["doctor", "--reprobe"]) == 0
        capsys.readouterr()
        assert examine(capsys)["findings"] == []
