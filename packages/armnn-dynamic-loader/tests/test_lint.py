# SPDX-License-Identifier: MIT
"""The lint names each defect of an unrun library."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_dynamic_loader import lint
from armnn_dynamic_loader.lint import lint_file
from armnn_tools.cli.main import main

Build = Callable[..., Path]
NOTE = '-DNOTE="{\\"id\\": \\"MockAdd\\", \\"api\\": \\"1.0\\"}"'
CLEAN = (NOTE, "-Wl,-z,noexecstack")


def note(text: str) -> str:
    return '-DNOTE="' + text.replace('"', '\\"') + '"'


@pytest.fixture
def lint_of(build: Build, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    # What this machine's compiler links against is no property of the file.
    monkeypatch.setattr(lint, "GLIBC_FLOOR", (99, 0))

    def lint_mock(*switches: str, name: str = "Mock_Add_backend.so") -> list[str]:
        return lint_file(str(build(name, *switches)))

    return lint_mock


def test_nothing_is_wrong_with_a_good_file(lint_of: Callable[..., list[str]]) -> None:
    assert lint_of(*CLEAN) == []


DEFECTS = {
    "name": ((), "It has the name 'x.so': expected <vendor>_<name>_backend.so"),
    "no note": (("-UNOTE",), r"It has no note \.note\.armnn: .* Add ARMNN_BACKEND_NOTE\.$"),
    "note is no JSON": ((note("MockAdd"),), "It has a note that is not valid JSON"),
    "note without id": ((note('{"api": "1.0"}'),), "Its note does not say its id"),
    "note without api": ((note('{"id": "X"}'),), "Its note does not say which Backend API it nee"),
    "another api": (
        (note('{"id": "X", "api": "2.0"}'),), "It needs Backend API 2.0, this armnn provides 1",
    ),
    "missing export": (("-DNO_FACTORY",), "It does not export BackendFactory; in C\\+\\+, declare"),
    "other exports": (
        ("-include", "HELPER"),
        "It exports helper besides the three of the interface: build it with -fvisibility=hidden",
    ),
    "host symbols": (
        ("-DAT_FACTORY=PyErr_Clear()", "-include", "PYTHON_H"),
        "It takes PyErr_Clear from the host, which offers no symbols",
    ),
    "linked with python": (
        ("-Wl,--no-as-needed", "-LFOLDER", "-l:libpython3.so"),
        "It is linked with libpython3.so: a backend links with nothing of the host",
    ),
    "own OpenMP": (
        ("-fopenmp", "-Wl,--no-as-needed"), "It is linked with libgomp.so.1: a second copy of it",
    ),
    "undefined symbols": (
        ("-DAT_FACTORY=vendor_init(expf(1))", "-include", "VENDOR_H", "-fno-builtin"),
        "It takes (expf, vendor_init|vendor_init, expf) from no library that it is .*`ldd -r .*-lm",
    ),
    "resolved symbols": (
        ("-DAT_FACTORY=expf(1)", "-include", "VENDOR_H", "-fno-builtin", "-Wl,--no-as-needed",
         "-lm"),
        None,
    ),
    "missing library": (
        ("-Wl,--no-as-needed", "-LFOLDER", "-l:libvendor.so"),
        "It is linked with libvendor.so, which is not found here: `ldd .*` shows that",
    ),
    "executable stack": (("-Wl,-z,execstack",), "It asks for an executable stack: build it with"),
    "relative rpath": (
        ("-Wl,-rpath,libs",), "Its RPATH has the relative folder 'libs': anyone may put a library",
    ),
    "missing rpath": (("-Wl,-rpath,/nowhere",), "Its RPATH has '/nowhere', which does not exist"),
    "open rpath": (
        ("-Wl,-rpath,/tmp", "-Wl,--disable-new-dtags"), "Its RPATH has '/tmp', which others than",
    ),
    "origin": (("-Wl,-rpath,$ORIGIN/libs",), None),
}  # fmt: skip


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_defect_is_named(
    lint_of: Callable[..., list[str]], defect: str, tmp_path: Path, compiled: Callable[..., Path]
) -> None:
    switches, expected = DEFECTS[defect]
    python, helper = tmp_path / "python.h", tmp_path / "helper.h"
    python.write_text("extern void PyErr_Clear(void);\n")
    helper.write_text("void helper(void) {}\n")
    vendor = tmp_path / "vendor.h"
    vendor.write_text("void vendor_init(float);\nfloat expf(float);\n")
    shutil.copyfile(compiled(), tmp_path / "libvendor.so")
    shutil.copyfile(compiled(), tmp_path / "libpython3.so")  # a library of that name will do
    places = {
        "PYTHON_H": str(python),
        "HELPER": str(helper),
        "VENDOR_H": str(vendor),
        "-LFOLDER": f"-L{tmp_path}",
    }
    given = [places.get(switch, switch) for switch in switches]
    named = [] if any("NOTE" in switch for switch in given) else [NOTE]
    problems = lint_of(*named, *given, name="x.so" if defect == "name" else "Mock_Add_backend.so")
    if expected is None:
        assert problems == []
    else:
        assert any(re.match(expected, problem) for problem in problems), problems


def test_the_newest_glibc_that_is_needed_counts(
    lint_of: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint, "GLIBC_FLOOR", (2, 1))
    (problem,) = lint_of(*CLEAN, "-DAT_FACTORY=say_goodbye()")  # takes fputs from it
    assert re.fullmatch(
        r"It needs glibc 2\.\d+ for \w+.*: it does not load where there is an older one\. Build it "
        r"against 2\.1 or older; `objdump -T \S+/Mock_Add_backend.so \| grep GLIBC_2\.[\d.]+` "
        r"shows these symbols\.",
        problem,
    )


def test_what_is_no_library_at_all_is_told(tmp_path: Path) -> None:
    script = tmp_path / "Mock_Add_backend.so"
    script.write_text("#!/bin/sh\n")
    assert lint_file(str(script)) == [
        "It is not an ELF file: it begins with b'#!/b', expected b'\\x7fELF'."
    ]
    assert lint_file(str(tmp_path)) == [f"It is not a regular file: {str(tmp_path)!r}."]
    missing = str(tmp_path / "missing.so")
    assert lint_file(missing) == [f"There is no such file: {missing!r}."]


def test_a_damaged_file_is_told_whatever_the_damage(build: Build, tmp_path: Path) -> None:
    content = build("Mock_Add_backend.so", *CLEAN).read_bytes()
    damaged = tmp_path / "Mock_Bad_backend.so"
    for start in range(0, len(content) - 64, 331):
        damaged.write_bytes(content[:start] + b"\xff" * 64 + content[start + 64 :])
        assert all(problem.endswith(".") for problem in lint_file(str(damaged)))
    without_sections = bytearray(content)
    without_sections[40:48] = bytes(8)
    without_sections[58:64] = bytes(6)
    damaged.write_bytes(without_sections)
    assert lint_file(str(damaged)) == [
        "It has no dynamic section or no dynamic symbols: it cannot be opened."
    ]


def test_the_command_prints_it(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = build("Mock_Good_backend.so", *CLEAN), build("Mock_Bad_backend.so")
    assert main(["doctor", "--lint", str(good), "--json"]) in (0, 1)
    document = json.loads(capsys.readouterr().out)
    assert document["file"] == str(good)
    assert all("glibc" in problem for problem in document["problems"])
    assert main(["doctor", "--lint", str(bad)]) == 1
    assert f"{bad}:\n  - It has no note .note.armnn" in capsys.readouterr().out
    assert main(["doctor", "--lint", "/nowhere"]) == 1


def test_the_backends_of_a_wheel_are_linted(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint, "GLIBC_FLOOR", (99, 0))
    vendor = tmp_path / "vendor.h"
    vendor.write_text("void vendor_init(int);\n")
    switches = ("-DAT_FACTORY=vendor_init(1)", "-include", str(vendor))
    wheel = tmp_path / "acme-1-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(build("Mock_Add_backend.so", *CLEAN), "acme/Good_Add_backend.so")
        archive.write(build("Mock_Add_backend.so", *CLEAN, *switches), "acme/Mock_Add_backend.so")
        archive.writestr("acme.libs/libvendor.so", b"no backend, and no ELF file")
    (problem,) = lint_file(str(wheel))
    assert problem.startswith(f"acme/Mock_Add_backend.so, which `unzip {wheel}` unpacks: It takes ")
    assert "vendor_init" in problem
    assert "`ldd -r acme/Mock_Add_backend.so`" in problem


def test_a_wheel_without_a_backend_is_told(tmp_path: Path) -> None:
    wheel = tmp_path / "acme-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("acme/__init__.py", "")
    assert lint_file(str(wheel)) == ["It has no file <vendor>_<name>_backend.so."]
