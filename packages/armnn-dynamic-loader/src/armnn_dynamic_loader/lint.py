# SPDX-License-Identifier: MIT
"""Lint of a shared library as a dynamic backend.

It reads the ELF structure. Nothing of the file is run. It tells its vendor what a user would run
into later, and what breaks on other machines than the vendor's.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from typing import Any, Final

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, is_compatible
from armnn_backend_api.elf import ElfError
from armnn_backend_api.names import EXPORTS
from armnn_dynamic_loader.files import NoteError, name_problem, read_note
from armnn_dynamic_loader.linking import resolve, symbols_of_versions

GLIBC_FLOOR: Final = (2, 28)
"""The newest glibc that may be needed: that of the wheels for manylinux_2_28."""

_HOST_LIBRARIES: Final = re.compile(r"lib(armnn|python)[^/]*\.so")
_OWN_RUNTIMES: Final = re.compile(r"lib(gomp|omp|iomp5|openblas|mkl_rt)\b[^/]*\.so")
_HOST_SYMBOLS: Final = re.compile(r"_?Py[A-Z_]\w*|_ZN?K?5armnn\w*|armnn_\w+")
_GLIBC: Final = re.compile(r"GLIBC_(\d+)\.(\d+)(\.\d+)*")


def lint_file(path: str) -> list[str]:
    """Return the faults of a file, one sentence each.

    Args:
        path: The file, or a wheel with backends; an OSError is raised if it cannot be read.
    """
    if not os.path.isfile(path):
        kind = "It is not a regular file" if os.path.exists(path) else "There is no such file"
        return [f"{kind}: {path!r}."]
    if zipfile.is_zipfile(path):
        return _wheel_problems(path)
    problems = [f"It {problem}." for problem in (name_problem(os.path.basename(path)),) if problem]
    try:
        problems += _note_problems(path)
        with open(path, "rb") as file:
            problems += _Examination(path, ELFFile(file)).problems()
        problems += _link_problems(path)
    except ElfError as error:
        problems.append(f"It {error}.")
    except Exception as error:  # pyelftools raises what it stumbles over in a damaged file
        kind = "" if isinstance(error, ELFError) else f"{type(error).__name__}: "
        problems.append(f"Its ELF structure cannot be read: {kind}{error}.")
    return problems


def _wheel_problems(path: str) -> list[str]:
    """Lint each backend among the libraries of a wheel."""
    problems = []
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as wheel:
        wheel.extractall(folder)
        members = [each for each in wheel.namelist() if not name_problem(os.path.basename(each))]
        for member in members:
            for problem in lint_file(os.path.join(folder, member)):
                text = problem.replace(folder + os.sep, "")
                problems.append(f"{member}, which `unzip {path}` unpacks: {text}")
    return problems if members else ["It has no file <vendor>_<name>_backend.so."]


def _note_problems(path: str) -> Iterator[str]:
    try:
        note = read_note(path)
    except NoteError as error:
        yield f"It {error}."
        return
    if note is None:
        yield "It has no note .note.armnn: nothing is known of it unopened. Add ARMNN_BACKEND_NOTE."
        return
    if not note.id:
        yield "Its note does not say its id."
    try:
        needed = BackendVersion.parse(note.api)
    except ValueError as error:
        yield f"Its note does not say which Backend API it needs: {error}"
        return
    if not is_compatible(needed, BACKEND_API_VERSION):
        yield f"It needs Backend API {needed}, this armnn provides {BACKEND_API_VERSION}."


def _link_problems(path: str) -> Iterator[str]:
    linked = resolve(path)
    for name in linked.missing:
        yield f"It is linked with {name}, which is not found here: `ldd {path}` shows that."
    names = [name for name in linked.unresolved if not _HOST_SYMBOLS.fullmatch(name)]
    if names:
        yield (
            f"It takes {_listed(names)} from no library that it is linked with, so it does not "
            f"load: `ldd -r {path}` shows it. Link it with the library (-lm for expf), "
            "and with -Wl,-z,defs, so that the linker refuses such a file."
        )


class _Examination:
    """One file."""

    def __init__(self, path: str, elf: ELFFile) -> None:
        self._path, self._elf = path, elf
        sections = tuple(elf.iter_sections())
        # Tags have an attribute of the name of their kind, which types cannot say.
        self._dynamic: Any = next((s for s in sections if isinstance(s, DynamicSection)), None)
        self._symbols: Any = elf.get_section_by_name(".dynsym")
        self._needs = next((s for s in sections if isinstance(s, GNUVerNeedSection)), None)

    def problems(self) -> list[str]:
        """Return all that is wrong."""
        if self._dynamic is None or self._symbols is None:
            return ["It has no dynamic section or no dynamic symbols: it cannot be opened."]
        return [
            *self._export_problems(),
            *self._symbol_problems(),
            *self._tag_problems(),
            *self._stack_problems(),
            *self._glibc_problems(),
        ]

    def _export_problems(self) -> Iterator[str]:
        defined = [
            symbol.name
            for symbol in self._symbols.iter_symbols()
            if symbol.name
            and symbol["st_shndx"] != "SHN_UNDEF"
            and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK", "STB_LOOS")
            and symbol["st_other"]["visibility"] in ("STV_DEFAULT", "STV_PROTECTED")
        ]
        for name in EXPORTS:
            if name not in defined:
                yield f'It does not export {name}; in C++, declare it extern "C".'
        others = sorted(
            set(defined) - {*EXPORTS, "_init", "_fini", "__bss_start", "_edata", "_end"}
        )
        if others:
            yield (
                f"It exports {_listed(others)} besides the three of the interface: build it with "
                "-fvisibility=hidden."
            )

    def _symbol_problems(self) -> Iterator[str]:
        wanted = sorted(
            symbol.name
            for symbol in self._symbols.iter_symbols()
            if symbol["st_shndx"] == "SHN_UNDEF"
            and symbol["st_info"]["bind"] == "STB_GLOBAL"
            and _HOST_SYMBOLS.fullmatch(symbol.name)
        )
        if wanted:
            yield (
                f"It takes {_listed(wanted)} from the host, which offers no symbols: everything "
                "comes in the table armnn_host. Build it with -Wl,-z,defs."
            )
        unique = sorted(
            symbol.name
            for symbol in self._symbols.iter_symbols()
            if symbol["st_info"]["bind"] == "STB_LOOS"
        )
        if unique:
            yield f"It has unique symbols, such as {unique[0]}: build it with -fno-gnu-unique."

    def _tag_problems(self) -> Iterator[str]:
        for tag in self._dynamic.iter_tags():
            if tag.entry.d_tag == "DT_NEEDED" and _HOST_LIBRARIES.match(tag.needed):
                yield f"It is linked with {tag.needed}: a backend links with nothing of the host."
            elif tag.entry.d_tag == "DT_NEEDED" and _OWN_RUNTIMES.match(tag.needed):
                yield (
                    f"It is linked with {tag.needed}: a second copy of it in a process may stall "
                    "both. Use parallel_for of armnn_host."
                )
            elif tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                text = tag.rpath if tag.entry.d_tag == "DT_RPATH" else tag.runpath
                yield from _rpath_problems(text)
            elif tag.entry.d_tag == "DT_TEXTREL":
                yield "It has text relocations: build it with -fPIC."

    def _stack_problems(self) -> Iterator[str]:
        stacks = [s for s in self._elf.iter_segments() if s["p_type"] == "PT_GNU_STACK"]
        if not stacks or any(segment["p_flags"] & 1 for segment in stacks):
            yield "It asks for an executable stack: build it with -Wl,-z,noexecstack."

    def _glibc_problems(self) -> Iterator[str]:
        needed = {
            auxiliary.name: (int(match[1]), int(match[2]))
            for _, auxiliaries in (self._needs.iter_versions() if self._needs else ())
            for auxiliary in auxiliaries
            if (match := _GLIBC.fullmatch(auxiliary.name))
        }
        newest = max(needed.values(), default=GLIBC_FLOOR)
        if newest > GLIBC_FLOOR:
            versions = [name for name, version in needed.items() if version == newest]
            names = symbols_of_versions(self._elf, versions)
            yield (
                f"It needs glibc {_dotted(newest)} for {_listed(names)}: it does not load where "
                f"there is an older one. Build it against {_dotted(GLIBC_FLOOR)} or older; "
                f"`objdump -T {self._path} | grep {versions[0]}` shows these symbols."
            )


def _rpath_problems(text: str) -> Iterator[str]:
    for folder in text.split(":"):
        if folder.startswith(("$ORIGIN", "${ORIGIN}")):
            continue
        if not os.path.isabs(folder):
            yield f"Its RPATH has the relative folder {folder!r}: anyone may put a library there."
            continue
        try:
            mode = os.stat(folder).st_mode
        except OSError:
            yield f"Its RPATH has {folder!r}, which does not exist here: others may create it."
            continue
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            yield f"Its RPATH has {folder!r}, which others than its owner may write."


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _listed(names: list[str], shown: int = 5) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
