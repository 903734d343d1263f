# SPDX-License-Identifier: MIT
"""What is compiled for a level stays apart from the others, and wheels say where they run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

import armnn_backend_neon

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
hatch_build = importlib.util.module_from_spec(SPEC)
sys.modules["hatch_build"] = hatch_build
SPEC.loader.exec_module(hatch_build)

MACHINE = hatch_build.machine_of_compiler()


def compiled(source: Path, folder: Path, *arguments: str) -> Path:
    made = folder / f"{source.stem}.o"
    subprocess.run(["g++", *arguments, "-o", made, source], check=True)
    return made


def linked(code: str, folder: Path, *arguments: str) -> Path:
    source = folder / "library.cpp"
    source.write_text(code)
    return compiled(source, folder, "-shared", "-fPIC", *arguments)


def symbols(path: Path) -> list[tuple[str, str, bool]]:
    """Name, binding and whether it is defined, of every symbol that the linker looks at."""
    with path.open("rb") as stream:
        tables = [s for s in ELFFile(stream).iter_sections() if isinstance(s, SymbolTableSection)]
        return [
            (symbol.name, symbol["st_info"]["bind"], symbol["st_shndx"] != "SHN_UNDEF")
            for table in tables
            for symbol in table.iter_symbols()
            if symbol["st_info"]["bind"] != "STB_LOCAL"
        ]


@pytest.mark.parametrize("level", hatch_build.LEVELS[MACHINE], ids=lambda level: level.name)
def test_the_linker_finds_nothing_to_merge_between_levels(level: Any, tmp_path: Path) -> None:
    # Without optimisation nothing is inlined, so whatever has linkage shows.
    own = f"_ZN6cpuacc{len(level.name)}{level.name}"
    units = [u for u in hatch_build.units(tmp_path, MACHINE, "0") if f"_{level.name}.o" in str(u)]
    assert len(units) == len(level.additions) if level.additions else len(units) > 5
    for unit in units:
        made = compiled(unit.source, tmp_path, *unit.arguments, "-O0", "-c")
        for name, binding, is_defined in symbols(made):
            of_level = binding == "STB_GLOBAL" and name.startswith(own)
            of_c = not is_defined and not name.startswith("_Z")
            assert of_level or of_c, f"{unit.source.name}: {name} ({binding})"


@pytest.mark.parametrize(
    "name", ["int8_gemm", "int8_accumulators", "int8_direct", "int8_depthwise"]
)
def test_avx_vnni_asks_for_nothing_of_avx512(name: str, tmp_path: Path) -> None:
    units = {unit.object.name: unit for unit in hatch_build.units(tmp_path, "x86_64", "0")}
    unit = units[f"kernels_{name}_avx_vnni.o"]
    made = compiled(unit.source, tmp_path, *unit.arguments, "-c")
    listing = subprocess.run(
        ["objdump", "-d", made], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    rows = [row.split("\t") for row in listing.splitlines() if row.count("\t") == 2]
    products = [code for _, code, text in rows if "vpdpbusd" in text]
    assert products
    # The first byte of an instruction of AVX: c4; of AVX-512: 62.
    assert {code.split()[0] for code in products} == {"c4"}
    assert not [text for _, code, text in rows if code.startswith("62 ")]


def test_a_function_that_could_be_merged_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "shared.cpp"
    source.write_text(
        "inline int twice(int x) { return 2 * x; }\nint f(int x) { return twice(x); }"
    )
    made = compiled(source, tmp_path, "-O0", "-c")
    assert ("_Z5twicei", "STB_WEAK", True) in symbols(made)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("int f(int x) { return x; }", "linux"),
        ("#include <cstdlib>\nvoid f() { std::abort(); }", "manylinux_2_17"),
        ("#include <unistd.h>\nint f(void *p) { return getentropy(p, 1); }", "manylinux_2_25"),
        ("#include <pthread.h>\nvoid f(pthread_t t) { pthread_join(t, 0); }", "manylinux_2_34"),
    ],
)
def test_the_platform_tag_follows_the_youngest_symbol(
    tmp_path: Path, code: str, expected: str
) -> None:
    library = linked(code, tmp_path)
    assert hatch_build.platform_tag(library) == f"{expected}_{MACHINE}"


def test_the_library_asks_for_nothing_younger_than_glibc_2_27() -> None:
    library = Path(armnn_backend_neon.__file__).with_name(hatch_build.LIBRARY.name)
    family, major, minor, _ = hatch_build.platform_tag(library).split("_", 3)
    assert (family, int(major)) == ("manylinux", 2)
    assert int(minor) <= 27


def test_what_is_compiled_anew_is_what_changed(tmp_path: Path) -> None:
    source, header = tmp_path / "f.cpp", tmp_path / "f.h"
    source.write_text('#include "f.h"\n')
    header.touch()
    unit = hatch_build.Unit(source, tmp_path / "f.o", ("-DX=1",))
    assert unit.is_stale()
    unit.compile()
    assert not unit.is_stale()
    assert unit._replace(arguments=("-DX=2",)).is_stale()
    os.utime(header, (unit.object.stat().st_mtime + 1,) * 2)
    assert unit.is_stale()


def test_a_library_of_the_compiler_is_refused(tmp_path: Path) -> None:
    code = "#include <iostream>\nvoid f() { std::cout << 1; }"
    with pytest.raises(ValueError, match=r"needs GLIBCXX_3.*expected versions of glibc's symbols"):
        hatch_build.platform_tag(linked(code, tmp_path))


def test_a_compiler_for_a_machine_without_levels_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "riscv64-g++"
    other.write_text("#!/bin/sh\necho riscv64-linux-gnu\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    with pytest.raises(ValueError, match="is for 'riscv64-linux-gnu', expected x86_64 or aarch64"):
        hatch_build.machine_of_compiler()


@pytest.mark.parametrize("missing", ["backend.h", "layers.h"])
def test_a_folder_without_one_of_the_headers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    bundled = tmp_path / "include"
    (bundled / "armnn").mkdir(parents=True)
    monkeypatch.setattr(hatch_build, "BUNDLED_HEADERS", bundled)
    for header in hatch_build.HEADERS:
        (bundled / header).touch()
    assert hatch_build.header_directory() == bundled
    (bundled / "armnn" / missing).unlink()
    monkeypatch.setattr(hatch_build, "SIBLING_HEADERS", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"armnn/backend.h and armnn/layers.h are neither"):
        hatch_build.header_directory()


def test_a_change_of_either_header_is_another_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "armnn").mkdir()
    monkeypatch.setattr(hatch_build, "BUNDLED_HEADERS", tmp_path)
    stated = set()
    for changed in ("", *hatch_build.HEADERS):
        for header in hatch_build.HEADERS:
            (tmp_path / header).write_text(header if header == changed else "")
        hatch_build.state_build(tmp_path, "flags")
        stated.add((tmp_path / "build.h").read_text())
    assert len(stated) == 3
