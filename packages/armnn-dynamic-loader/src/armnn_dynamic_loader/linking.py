# SPDX-License-Identifier: MIT
"""Resolves the undefined symbols of an unrun library.

The libraries that it is linked with are found as the dynamic loader of glibc finds them, and read.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerSymSection

from armnn_backend_api.linker import system_folders


@dataclass(slots=True)
class Linked:
    """The libraries that the dynamic loader would find.

    Attributes:
        missing: Libraries that are nowhere, by name.
        unresolved: Undefined symbols that no library defines; empty if one is missing.
    """

    missing: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Library:
    """The facts of a library that matter.

    Attributes:
        machine: Processor and word size.
        defined: The symbols that it defines.
        undefined: The symbols that it takes from others, but for weak ones.
        needed: The libraries that it is linked with.
        folders: Where it wants these to be looked for.
    """

    machine: tuple[Any, int]
    defined: frozenset[str]
    undefined: tuple[str, ...]
    needed: tuple[str, ...]
    folders: tuple[str, ...]


def resolve(path: str) -> Linked:
    """Look for every undefined symbol in the needed libraries.

    A file for another processor than this one's is not looked at.

    Args:
        path: The file. Weak symbols may stay undefined.
    """
    examined = _read(path, os.stat(path).st_mtime_ns)
    linked = Linked()
    if examined.machine != _read(sys.executable, 0).machine:
        return linked
    wanted = dict.fromkeys(examined.undefined)
    waiting = [(name, examined.folders) for name in examined.needed]
    seen: dict[str, None] = {}
    while waiting:
        name, folders = waiting.pop(0)
        if name in seen:
            continue
        seen[name] = None
        found = _find(name, folders, examined.machine)
        if found is None:
            linked.missing.append(name)
            continue
        for defined in found.defined.intersection(wanted):
            del wanted[defined]
        waiting += [(each, (*found.folders, *folders)) for each in found.needed]
    if not linked.missing:
        linked.unresolved = list(wanted)
    return linked


def symbols_of_versions(elf: ELFFile, versions: Sequence[str]) -> list[str]:
    """Return the undefined symbols of versions such as "GLIBC_2.29"."""
    sections: list[Any] = list(elf.iter_sections())
    numbers = next((s for s in sections if isinstance(s, GNUVerSymSection)), None)
    needs: Any = elf.get_section_by_name(".gnu.version_r")
    symbols: Any = elf.get_section_by_name(".dynsym")
    if numbers is None or needs is None or symbols is None:
        return []
    wanted = [
        row["vna_other"]
        for _, rows in needs.iter_versions()
        for row in rows
        if row.name in versions
    ]
    return sorted(
        symbols.get_symbol(index).name
        for index in range(numbers.num_symbols())
        if numbers.get_symbol(index)["ndx"] in wanted
    )


@functools.cache
def _read(path: str, _changed: int) -> _Library:
    """Return the symbols and needs of a library, read once per change."""
    with open(path, "rb") as file:
        elf = ELFFile(file)
        symbols: Any = elf.get_section_by_name(".dynsym")
        named = [each for each in (symbols.iter_symbols() if symbols else ()) if each.name]
        open_ones = [each for each in named if each["st_shndx"] == "SHN_UNDEF"]
        return _Library(
            (elf.header["e_machine"], elf.elfclass),
            frozenset(each.name for each in named if each["st_shndx"] != "SHN_UNDEF"),
            tuple(each.name for each in open_ones if each["st_info"]["bind"] != "STB_WEAK"),
            tuple(tag.needed for tag in _tags(elf) if tag.entry.d_tag == "DT_NEEDED"),
            tuple(_run_paths(elf, path)),
        )


def _run_paths(elf: ELFFile, path: str) -> Iterator[str]:
    """Yield the folders of DT_RPATH and DT_RUNPATH."""
    origin = os.path.dirname(os.path.realpath(path))
    for tag in _tags(elf):
        attribute = {"DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}.get(tag.entry.d_tag)
        if attribute is not None:
            for folder in getattr(tag, attribute).split(":"):
                yield re.sub(r"\$(ORIGIN\b|\{ORIGIN\})", lambda _: origin, folder)


def _tags(elf: ELFFile) -> Iterator[Any]:
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            yield from section.iter_tags()


def _find(name: str, folders: Sequence[str], machine: tuple[Any, int]) -> _Library | None:
    """Return the library that the dynamic loader takes, if any."""
    given = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    searched = [folder for folder in (*folders, *given, *system_folders()) if folder]
    for place in [name] if "/" in name else [os.path.join(folder, name) for folder in searched]:
        try:
            found = _read(place, os.stat(place).st_mtime_ns)
        except Exception:  # it is not there, a linker script, or damaged
            continue
        if found.machine == machine:
            return found
    return None
