# SPDX-License-Identifier: MIT
"""The levels of ``levels.toml``, and their dispatch table."""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "cpp/kernels"
DISPATCH = KERNELS / "dispatch.cpp"
KERNEL_FLAGS = ("-fno-exceptions", "-fno-rtti", "-falign-loops=64")
"""A loop that begins between two lines of decoded instructions takes up to a tenth longer in slow
minutes of a virtual machine (Zen 3)."""
NATIVE = "native"
"""Instead of names: the best level, without bfloat16, of the processor that builds."""


class Level(NamedTuple):
    """An instruction-set level.

    Attributes:
        name: Its C++ namespace, and its name in ``ARMNN_CPUACC_ISA``.
        vector_bytes: The width of its registers.
        vector: Its instructions on vectors, ``isa/vector_<vector>.h``.
        dot: Its instructions for dot products of bytes, ``isa/dot_<dot>.h``.
        bfloat16: Those for dot products of bfloat16, ``isa/dot_<bfloat16>.h``; or empty.
        flags: For the compiler.
        cpu: What the processor must have.
        sources: What is compiled for it, relative to ``KERNELS``, without suffix.
        adds_to: The level that has its other kernels; empty if it has all of its own.
        adds_if_there: A level whose sources it gets on a processor that has both; or empty.
        tile_registers: Its tile registers, ``isa/tile_registers_<tile_registers>.h``; or empty.
        permission: What the system must permit, ``system_permits_<permission>()``; or empty.
    """

    name: str
    vector_bytes: int
    vector: str
    dot: str
    bfloat16: str
    flags: tuple[str, ...]
    cpu: tuple[str, ...]
    sources: tuple[str, ...]
    adds_to: str
    adds_if_there: str
    tile_registers: str
    permission: str

    @property
    def arguments(self) -> list[str]:
        """The compiler's arguments."""
        defines = [
            f"-DCPUACC_LEVEL={self.name}",
            f"-DCPUACC_VECTOR_BYTES={self.vector_bytes}",
            f'-DCPUACC_VECTOR_HEADER="kernels/isa/vector_{self.vector}.h"',
            f'-DCPUACC_DOT_HEADER="kernels/isa/dot_{self.dot}.h"',
        ]
        if self.bfloat16:
            defines.append(f'-DCPUACC_BFLOAT16_HEADER="kernels/isa/dot_{self.bfloat16}.h"')
        if self.tile_registers:
            header = f"kernels/isa/tile_registers_{self.tile_registers}.h"
            defines.append(f'-DCPUACC_TILE_REGISTERS_HEADER="{header}"')
        return [*KERNEL_FLAGS, *defines, *self.flags]


def levels_of(machine: str) -> tuple[Level, ...]:
    """Return the levels of a machine, the best first.

    Raises:
        ValueError: It has none, or a row of ``levels.toml`` is wrong.
    """
    described = tomllib.loads((ROOT / "levels.toml").read_text(encoding="utf-8"))
    only_added = described.pop("only_added")
    if machine not in described:
        known = " or ".join(described)
        raise ValueError(f"there are no levels for the machine {machine!r}, expected {known}")
    paths = [path for path in sorted(KERNELS.rglob("*.cpp")) if path != DISPATCH]
    names = [path.relative_to(KERNELS).with_suffix("").as_posix() for path in paths]
    whole = [name for name in names if name not in only_added]
    return tuple(_levels(described[machine], whole))


def _levels(rows: Sequence[dict[str, Any]], whole: Sequence[str]) -> Iterator[Level]:
    found: dict[str, Level] = {}
    for row in reversed(rows):  # after what it adds to
        name, adds_to = row.get("name"), row.get("adds_to", "")
        required = {"name", "cpu", *(() if adds_to else ("vector_bytes", "vector", "dot"))}
        if unknown := sorted(row.keys() - Level._fields):
            known = ", ".join(Level._fields)
            raise ValueError(f"levels.toml: {name!r} has the key {unknown[0]!r}, expected {known}")
        if missing := sorted(required - row.keys()):
            raise ValueError(f"levels.toml: {name!r} has no {missing[0]!r}")
        if adds_to and adds_to not in found:
            below = ", ".join(found) or "none"
            raise ValueError(
                f"levels.toml: {name!r} adds to {adds_to!r}, expected a level below it: {below}"
            )
        base = found.get(adds_to)
        found[name] = Level(
            name=row["name"],
            **{
                key: row.get(key) or getattr(base, key) for key in ("vector_bytes", "vector", "dot")
            },
            bfloat16=row.get("bfloat16") or (base.bfloat16 if base else ""),
            flags=(*(base.flags if base else ()), *row.get("flags", ())),
            cpu=(*(base.cpu if base else ()), *row["cpu"]),
            sources=tuple(row.get("sources", whole)),
            adds_to=adds_to,
            adds_if_there=row.get("adds_if_there", ""),
            tile_registers=row.get("tile_registers", ""),
            permission=row.get("permission", ""),
        )
    return reversed(found.values())


def levels_of_processor(levels: Sequence[Level]) -> list[Level]:
    """Return the levels of this processor, best first."""
    words = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    return [level for level in levels if words.issuperset(level.cpu)]


def selected(machine: str, wanted: str) -> tuple[str, tuple[Level, ...]]:
    """Return the levels to compile, best first, and their label.

    The label is empty for all levels.

    Args:
        machine: What is compiled for.
        wanted: Names with commas between them, ``native``, or nothing for all levels.

    Raises:
        ValueError: A name is unknown, or this process runs on another machine.
    """
    levels = levels_of(machine)
    if not wanted:
        return "", levels
    names = set(wanted.split(","))
    if wanted == NATIVE:
        if platform.machine() != machine:
            raise ValueError(
                f"ARMNN_CPUACC_LEVELS is {NATIVE!r}, but the compiler is for {machine} and this "
                f"is {platform.machine()}: name levels, or none for all"
            )
        # Kernels in bfloat16 are left out: those few sources take as long as all others.
        without = [level for level in levels_of_processor(levels) if not level.bfloat16]
        names = {level.name for level in without[:1]}
    if unknown := sorted(names - {level.name for level in levels}):
        raise ValueError(
            f"ARMNN_CPUACC_LEVELS names {unknown[0]!r}, expected {NATIVE!r} or some of "
            + ", ".join(level.name for level in levels)
        )
    label = ".".join(level.name for level in levels if level.name in names)
    for level in levels:  # what a level adds to comes after it
        if level.name in names:
            names.add(level.adds_to)
    names |= {level.adds_if_there for level in levels if level.name in names}
    return label, tuple(level for level in levels if level.name in names)


def dispatch_table(machine: str, levels: Sequence[Level]) -> str:
    """Return the dispatch header: tests of levels and table fillers."""
    by_name = {level.name: level for level in levels}
    lines = [
        "/* Made from levels.toml by native_build/levels.py. */",
        f'#include "kernels/isa/cpu_{machine}.h"',
        "namespace cpuacc {",
    ]
    for level in levels:
        declared = " ".join(f"void {_function(source)}(Kernels &);" for source in level.sources)
        lines.append(f"namespace {level.name} {{ {declared} }}")
    lines.append("namespace {")
    for level in levels:
        tests = " && ".join(f"cpu_has_{name}()" for name in level.cpu)
        lines.append(f"bool has_{level.name}() {{ return {tests}; }}")
    for level in reversed(levels):  # after what it adds to
        lines.append(f"void fill_{level.name}(Kernels &table) {{")
        if level.adds_to:
            lines.append(f"  fill_{level.adds_to}(table);")
        lines += _calls(level)
        if added := by_name.get(level.adds_if_there):
            lines += [f"  if (has_{added.name}()) {{", *_calls(added), "  }"]
        lines += [f'  table.name = "{level.name}";', "}"]
    rows = [
        f'{{"{each.name}", has_{each.name}, {_permission(each)}, fill_{each.name}}}'
        for each in levels
    ]
    lines.append(f"constexpr Level kLevels[] = {{{', '.join(rows)}}};")
    return "\n".join([*lines, "}", "}", ""])


def _function(source: str) -> str:
    """Return the name of a source's table filler."""
    return "fill_" + source.replace("/", "_")


def _permission(level: Level) -> str:
    """Return the C++ function that asks for the level's registers."""
    return f"system_permits_{level.permission}" if level.permission else "nullptr"


def _calls(level: Level) -> list[str]:
    return [f"  {level.name}::{_function(source)}(table);" for source in level.sources]
