# SPDX-License-Identifier: MIT
"""``levels.toml`` declares the levels; the CPU's best is used.

The environment may name another one.
"""

from __future__ import annotations

import platform
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import armnn
from armnn_backend_neon.backend import CpuAccBackend

ROOT = Path(__file__).resolve().parents[1]
BUILD = runpy.run_path(str(ROOT / "native_build/levels.py"))
MACHINES = ("x86_64", "aarch64")
LEVELS = {machine: BUILD["levels_of"](machine) for machine in MACHINES}


def test_the_best_level_is_chosen(best_level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARMNN_CPUACC_ISA", raising=False)
    (cpu,) = CpuAccBackend().devices()
    assert (cpu.name, cpu.kind) == (best_level, "cpu")


def test_the_environment_chooses(level: str) -> None:
    (cpu,) = CpuAccBackend().devices()
    assert cpu.name == level
    assert cpu.fingerprint.startswith(f"{level}, costs ")


def test_a_program_of_a_kernel_asked_for_is_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    (usual,) = CpuAccBackend().devices()
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", "winograd_2d 4")
    (asked,) = CpuAccBackend().devices()
    assert asked.fingerprint == f"{usual.fingerprint}, kernel winograd_2d 4"


def test_the_device_says_what_may_be_chosen(
    best_level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "3")
    (cpu,) = CpuAccBackend().devices()
    levels = str(cpu.info["ARMNN_CPUACC_ISA may be"]).split(", ")
    assert best_level in levels[:2]
    assert cpu.name in levels
    assert cpu.info["NumberOfThreads by default"] == 3


def test_the_tests_of_a_level_run_at_that_level(level: str) -> None:
    with armnn.Runtime() as runtime:
        backend = runtime.registry.get("CpuAcc")
        assert isinstance(backend, CpuAccBackend)
        (cpu,) = backend.devices()
    assert cpu.name == level


@pytest.mark.parametrize(("machine", "title"), [("x86_64", "x86-64"), ("aarch64", "Arm")])
def test_the_readme_lists_the_levels(machine: str, title: str) -> None:
    names = ", ".join(f"`{level.name}`" for level in LEVELS[machine])
    assert f"| {title} | {names} |" in (ROOT / "README.md").read_text().splitlines()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"source": ["gemm"]}, "'new' has the key 'source', expected name, vector_bytes, "),
        ({"adds_to": "sse"}, "'new' adds to 'sse', expected a level below it: base"),
        ({"adds_to": ""}, "'new' has no 'dot'"),
    ],
)
def test_a_wrong_row_is_refused(wrong: dict[str, Any], message: str) -> None:
    base = {"name": "base", "vector_bytes": 16, "vector": "sse2", "dot": "madd", "cpu": ["sse2"]}
    new = {"name": "new", "adds_to": "base", "cpu": ["sse4_1"]}
    assert [level.flags for level in BUILD["_levels"]([new, base], ["gemm"])] == [(), ()]
    with pytest.raises(ValueError, match=re.escape(message)):
        list(BUILD["_levels"]([new | wrong, base], ["gemm"]))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_level_that_adds_to_another_needs_all_that_this_one_does(machine: str) -> None:
    by_name = {level.name: level for level in LEVELS[machine]}
    added = [level for level in LEVELS[machine] if level.adds_to]
    assert added
    for level in LEVELS[machine]:
        names = {f"dot_{name}" for name in (level.dot, level.bfloat16) if name}
        for name in (f"vector_{level.vector}", *names):
            assert (ROOT / f"cpp/kernels/isa/{name}.h").exists()
    for level in added:
        base = by_name[level.adds_to]
        assert level.vector_bytes == base.vector_bytes
        assert set(level.cpu) > set(base.cpu)
        assert level.flags[: len(base.flags)] == base.flags
        assert all((ROOT / f"cpp/kernels/{source}.cpp").exists() for source in level.sources)


@pytest.mark.parametrize("machine", MACHINES)
def test_whatever_levels_need_is_compiled_with_them(machine: str) -> None:
    by_name = {level.name: level for level in LEVELS[machine]}
    for level in LEVELS[machine]:
        label, chosen = BUILD["selected"](machine, level.name)
        assert label == level.name
        names = {each.name for each in chosen}
        chain = [level]
        while chain[-1].adds_to:
            chain.append(by_name[chain[-1].adds_to])
        needed = [each.name for each in chain]
        assert names == {*needed, *(each.adds_if_there for each in chosen)} - {""}
        table = BUILD["dispatch_table"](machine, chosen)
        rows = re.findall(r'\{"(\w+)", has_\w+, \w+, fill_\w+\}', table)
        assert rows == [each.name for each in chosen]
        assert names >= {each.adds_to for each in chosen} - {""}
        for source in level.sources:
            assert f"{level.name}::fill_{source.replace('/', '_')}(table);" in table


@pytest.mark.parametrize(
    ("machine", "name", "best"),
    [
        ("x86_64", "avx_vnni", ["avx_vnni", "avx2"]),
        ("x86_64", "avx512", ["avx512"]),
        ("x86_64", "avx512_bf16", ["avx512"]),
        ("x86_64", "avx512_amx", ["avx512"]),
        ("x86_64", "sse2", ["sse2"]),
        ("aarch64", "neon_bf16", ["neon_i8mm", "neon_fp16", "neon"]),
        ("aarch64", "neon_dotprod", ["neon_dotprod", "neon_fp16", "neon"]),
        ("aarch64", "neon", ["neon"]),
    ],
)
def test_a_build_for_this_processor_has_its_best_level_without_bfloat16(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, machine: str, name: str, best: list[str]
) -> None:
    (level,) = (level for level in LEVELS[machine] if level.name == name)
    words = tmp_path / "cpuinfo"
    words.write_text("flags\t: sse2 " + " ".join(level.cpu) + "\n")

    def path(*parts: Any) -> Path:
        return words if parts == ("/proc/cpuinfo",) else Path(*parts)

    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setitem(BUILD["levels_of_processor"].__globals__, "Path", path)
    label, chosen = BUILD["selected"](machine, "native")
    assert (label, [level.name for level in chosen]) == (best[0], best)


def test_all_levels_are_compiled_unless_some_are_asked_for() -> None:
    assert BUILD["selected"]("x86_64", "") == ("", LEVELS["x86_64"])
    label, chosen = BUILD["selected"]("x86_64", "sse2,avx2")
    assert (label, [level.name for level in chosen]) == ("avx2.sse2", ["avx2", "sse2"])


def test_a_level_that_is_unknown_is_refused() -> None:
    with pytest.raises(
        ValueError, match="names 'avx1024', expected 'native' or some of avx512_amx"
    ):
        BUILD["selected"]("x86_64", "avx2,avx1024")


def test_the_processor_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(
        ValueError, match="the compiler is for aarch64 and this is x86_64: name lev"
    ):
        BUILD["selected"]("aarch64", "native")


def test_a_machine_without_levels_is_refused() -> None:
    with pytest.raises(ValueError, match="for the machine 'riscv64', expected x86_64 or aarch64"):
        BUILD["levels_of"]("riscv64")
