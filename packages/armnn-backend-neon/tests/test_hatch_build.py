# SPDX-License-Identifier: MIT
"""Levels stay apart when compiled, and wheels name their systems."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from hatchling.metadata.core import ProjectMetadata
from hatchling.metadata.spec import get_core_metadata_constructors
from hatchling.plugin.manager import PluginManager

import armnn_backend_neon

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
hatch_build = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hatch_build)  # makes its own modules importable

from native_build import library as build  # noqa: E402  # see above
from native_build.compiler import Unit, machine_of_compiler  # noqa: E402  # see above
from native_build.levels import dispatch_table, levels_of, selected  # noqa: E402  # see above
from native_build.platform_tag import platform_tag  # noqa: E402  # see above

MACHINE = machine_of_compiler()
TILE_REGISTERS = ("gemm_bfloat16_tile_registers", "int8/gemm_tile_registers")


def compiled(source: Path, folder: Path, *arguments: str) -> Path:
    made = folder / f"{source.stem}.o"
    subprocess.run(["g++", *arguments, "-o", made, source], check=True)
    return made


def linked(code: str, folder: Path, *arguments: str) -> Path:
    source = folder / "library.cpp"
    source.write_text(code)
    return compiled(source, folder, "-shared", "-fPIC", *arguments)


def symbols(path: Path) -> list[tuple[str, str, bool]]:
    """Return name, binding and definition of each linker symbol."""
    with path.open("rb") as stream:
        tables = [s for s in ELFFile(stream).iter_sections() if isinstance(s, SymbolTableSection)]
        return [
            (symbol.name, symbol["st_info"]["bind"], symbol["st_shndx"] != "SHN_UNDEF")
            for table in tables
            for symbol in table.iter_symbols()
            if symbol["st_info"]["bind"] != "STB_LOCAL"
        ]


def test_the_linker_finds_nothing_to_merge_between_levels(
    compiled_level: Any, tmp_path: Path
) -> None:
    level = compiled_level
    # Without optimization nothing is inlined, so whatever has linkage shows.
    own = f"_ZN6cpuacc{len(level.name)}{level.name}"
    units = [unit for unit in build.units(tmp_path, [level], "0") if level.name in unit.object.name]
    assert len(units) == len({source.rpartition("/")[0] for source in level.sources})
    for unit in units:
        made = compiled(unit.source, tmp_path, *unit.arguments, "-O0", "-c")
        for name, binding, is_defined in symbols(made):
            of_level = binding == "STB_GLOBAL" and name.startswith(own)
            of_c = not is_defined and not name.startswith("_Z")
            assert of_level or of_c, f"{unit.source.name}: {name} ({binding})"


def test_avx_vnni_asks_for_nothing_of_avx512(tmp_path: Path) -> None:
    (level,) = (level for level in levels_of("x86_64") if level.name == "avx_vnni")
    units = {unit.object.name: unit for unit in build.units(tmp_path, [level], "0")}
    unit = units[f"kernels_int8_{level.name}.o"]
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
    assert platform_tag(library) == f"{expected}_{MACHINE}"


def test_the_library_asks_for_nothing_younger_than_glibc_2_27() -> None:
    library = Path(armnn_backend_neon.__file__).with_name(build.LIBRARY.name)
    family, major, minor, _ = platform_tag(library).split("_", 3)
    assert (family, int(major)) == ("manylinux", 2)
    assert int(minor) <= 27


def test_what_is_compiled_anew_is_what_changed(tmp_path: Path) -> None:
    source, header = tmp_path / "f.cpp", tmp_path / "f.h"
    source.write_text('#include "f.h"\n')
    header.touch()
    unit = Unit(source, tmp_path / "f.o", ("-DX=1",))
    assert unit.is_stale()
    unit.compile()
    assert not unit.is_stale()
    assert unit._replace(arguments=("-DX=2",)).is_stale()
    os.utime(header, (unit.object.stat().st_mtime + 1,) * 2)
    assert unit.is_stale()


def test_a_library_of_the_compiler_is_refused(tmp_path: Path) -> None:
    code = "#include <iostream>\nvoid f() { std::cout << 1; }"
    with pytest.raises(ValueError, match=r"needs GLIBCXX_3.*expected versions of glibc's symbols"):
        platform_tag(linked(code, tmp_path))


def test_a_compiler_for_a_machine_without_levels_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "riscv64-g++"
    other.write_text("#!/bin/sh\necho riscv64-linux-gnu\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    with pytest.raises(ValueError, match="the machine 'riscv64', expected x86_64 or aarch64"):
        build.build_library("0")


@pytest.mark.parametrize("missing", ["backend.h", "layers.h"])
def test_a_folder_without_one_of_the_headers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    bundled = tmp_path / "include"
    (bundled / "armnn").mkdir(parents=True)
    monkeypatch.setattr(build, "BUNDLED_HEADERS", bundled)
    for header in build.HEADERS:
        (bundled / header).touch()
    assert build.header_directory() == bundled
    (bundled / "armnn" / missing).unlink()
    monkeypatch.setattr(build, "SIBLING_HEADERS", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"armnn/backend.h and armnn/layers.h are neither"):
        build.header_directory()


def test_a_change_of_either_header_is_another_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "armnn").mkdir()
    monkeypatch.setattr(build, "BUNDLED_HEADERS", tmp_path)
    stated = set()
    for changed in ("", *build.HEADERS):
        for header in build.HEADERS:
            (tmp_path / header).write_text(header if header == changed else "")
        build.state_build(tmp_path, "flags")
        stated.add((tmp_path / "build.h").read_text())
    assert len(stated) == 3


def test_the_folder_of_a_build_does_not_change_it(tmp_path: Path) -> None:
    stated = set()
    for name in ("one", "other/deeper"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        build.state_build(folder, f"c++ -I{folder} -I{build.CPP} -I{build.header_directory()}")
        stated.add((folder / "build.h").read_text())
    assert len(stated) == 1
    build.state_build(tmp_path, f"c++ -O3 -I{tmp_path}")
    assert (tmp_path / "build.h").read_text() not in stated


def test_sources_of_a_folder_are_compiled_together(tmp_path: Path) -> None:
    _, levels = selected(MACHINE, "")
    sources = [unit.source for unit in build.units(tmp_path, levels, "0")]
    joined = {path.stem: path.read_text() for path in sources if path.parent == tmp_path}
    assert '#include "graph/program.cpp"\n#include "graph/shape.cpp"\n' in joined["graph"]
    included = {name for text in joined.values() for name in re.findall('"(.+)"', text)}
    compiled = included | {
        str(path.relative_to(build.CPP)) for path in sources if path.parent != tmp_path
    }
    # What only levels of the other machine have.
    others = ("pointwise_float16",) if MACHINE == "x86_64" else TILE_REGISTERS
    assert compiled == {str(path.relative_to(build.CPP)) for path in build.CPP.rglob("*.cpp")} - {
        f"kernels/{name}.cpp" for name in others
    }


@pytest.mark.parametrize("levels", ["", "some.levels"])
def test_a_wheel_of_some_levels_has_their_names_in_its_version(levels: str) -> None:
    metadata = ProjectMetadata(str(ROOT), PluginManager())
    read = metadata.version
    hook = hatch_build.NativeBuildHook(str(ROOT), {}, None, metadata, "", "wheel")
    hook.label_version(levels)
    assert metadata.version == f"{read}+{levels}" if levels else read
    assert f"\nVersion: {metadata.version}\n" in get_core_metadata_constructors()["2.4"](metadata)


def test_each_set_of_levels_has_objects_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build.build_directory(MACHINE)
    (level, *_) = levels_of(MACHINE)
    monkeypatch.setenv("ARMNN_CPUACC_LEVELS", level.name)
    assert build.label() == level.name
    assert build.build_directory(MACHINE) == whole.with_name(f"{whole.name}-{level.name}")


def test_a_build_for_another_processor_says_so(tmp_path: Path) -> None:
    """Only the dispatch is compiled, with an impossible level."""
    (level, *_) = levels_of(MACHINE)
    table = dispatch_table(MACHINE, [level._replace(adds_to="", sources=())])
    never = table.replace(
        f"bool has_{level.name}() {{ return", f"bool has_{level.name}() {{ return !"
    )
    (tmp_path / "levels_table.h").write_text(never)
    (tmp_path / "main.cpp").write_text(
        '#include <cstdio>\n#include "kernels/kernels.h"\n#include "kernels/levels.h"\n'
        "int main() {\n  std::puts(cpuacc::level_built(0));\n"
        "  return cpuacc::choose_level(true).kernels != nullptr;\n}\n"
    )
    sources = [tmp_path / "main.cpp", build.CPP / "kernels/dispatch.cpp"]
    program = tmp_path / "program"
    folders = [f"-I{build.CPP}", f"-I{tmp_path}"]
    subprocess.run(["g++", *folders, *sources, "-o", program], check=True)
    run = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
    assert run.stdout == f"{level.name}\n"
