# SPDX-License-Identifier: MIT
"""The libraries mapped with a file, found as ld.so does.

Libraries in the folders of the system belong to its administrator, and are left out: the process
has mapped many of them already.
"""

from __future__ import annotations

import functools
import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from armnn_backend_api.files import FileState
from armnn_backend_api.trust import distrust
from armnn_dynamic_loader.elf import Dynamic, ElfError, read_dynamic, this_machine

_DEFAULT_FOLDERS: Final = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_CONFIGURATION: Final = "/etc/ld.so.conf"
_ORIGIN: Final = re.compile(r"\$(?:ORIGIN\b|\{ORIGIN\})")
_OTHER_TOKEN: Final = re.compile(r"\$(?:(?:LIB|PLATFORM)\b|\{(?:LIB|PLATFORM)\})")
_VARIANTS: Final = "glibc-hwcaps"
_OLD_VARIANTS: Final = frozenset({"tls", "haswell", "xeon_phi", "avx512_1", "x86_64"})
"""Subfolders that glibc before 2.37 prefers, in each other as well."""
_MOST: Final = 256


class NeededError(Exception):
    """A library that would be mapped is not trusted.

    Attributes:
        reason: The rest of a sentence.
        remedy: What to do about it; empty for the vendor.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


@dataclass(frozen=True, slots=True)
class NeededFile:
    """A library that is mapped with a file.

    Attributes:
        name: By which it is linked.
        path: Its canonical path.
        state: The state in which it was found.
        sha256: "" as long as nothing asked for it.
    """

    name: str
    path: str
    state: FileState
    sha256: str = ""


def needed_files(path: str) -> tuple[NeededFile, ...]:
    """Return the libraries mapped with a file, in order.

    What is nowhere is left to the dynamic linker, which names it.

    Raises:
        NeededError: A folder of RPATH or a library is not trusted.
        OSError: A library cannot be read.
    """
    found: dict[str, NeededFile] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(path, _folders_of_program())]
    seen: dict[str, None] = {}
    while waiting:
        user, inherited = waiting.pop(0)
        try:
            dynamic = read_dynamic(user)
        except ElfError:
            continue  # the linker says so
        before, after = _folders(user, dynamic)
        inherited = (*before, *inherited)
        folders = (*_given(), *after) if after else (*inherited, *_given())
        for name in dynamic.needed:
            places = () if name in seen else _places_of(name, user, folders)
            seen[name] = None
            for place in places:
                found[place] = _checked(name, place)
                waiting.append((place, inherited))
        if len(seen) > _MOST:
            raise NeededError(f"is linked with more than {_MOST} libraries")
    return tuple(found.values())


@functools.cache
def _folders_of_program() -> tuple[str, ...]:
    """Return the folders of the interpreter's RPATH, inherited by all."""
    try:
        program = os.path.realpath("/proc/self/exe")
        folders = read_dynamic(program).rpath
    except (ElfError, OSError):  # a program that is no shared object, or no /proc
        return ()
    origin = os.path.dirname(program)
    expanded = (_ORIGIN.sub(lambda _: origin, folder) for folder in folders)
    return tuple(folder for folder in expanded if os.path.isabs(folder))


def _folders(path: str, dynamic: Dynamic) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the checked folders of RPATH and RUNPATH.

    Raises:
        NeededError: One is relative, or others may write it.
    """
    origin = os.path.dirname(os.path.realpath(path))
    both = []
    for folders in (dynamic.rpath, dynamic.runpath):
        expanded = tuple(_ORIGIN.sub(lambda _: origin, folder) for folder in folders)
        for folder, written in zip(expanded, folders, strict=True):
            if _OTHER_TOKEN.search(folder):
                raise NeededError(
                    f"has the folder {written!r} in its RPATH, which depends on the machine: only "
                    "$ORIGIN is known"
                )
            if not os.path.isabs(folder):
                raise NeededError(
                    f"has the relative folder {written!r} in its RPATH, which is another one in "
                    "each process"
                )
            if os.path.isdir(folder):
                why = distrust(os.path.realpath(folder))
                if why is not None:
                    reason = f"has the folder {written!r} in its RPATH, but {why.reason}"
                    raise NeededError(reason.replace("write it", "write that"), why.remedy)
        both.append(expanded)
    return both[0], both[1]


def _places_of(name: str, user: str, folders: Sequence[str]) -> tuple[str, ...]:
    """Return a library's canonical path; none for the system's.

    Variants for other processors are in subfolders: which one is mapped is for the linker to say,
    so all are returned.
    """
    if "/" in name:
        if not os.path.isabs(name):
            raise NeededError(f"is linked with the relative path {name!r}")
        folders, name = [os.path.dirname(name)], os.path.basename(name)
    for folder in folders:
        found = [os.path.join(each, name) for each in (folder, *_variants_of(folder))]
        found = [each for each in found if os.path.isfile(each) and _is_for_this_machine(each)]
        if found:
            return tuple(
                place
                for place in dict.fromkeys(map(os.path.realpath, found))
                if os.path.dirname(place) not in _canonical_system_folders()
                and place != os.path.realpath(user)
            )
    return ()


def _variants_of(folder: str) -> Iterator[str]:
    """Yield the subfolders in which the linker looks first."""
    try:
        names = set(os.listdir(folder))
    except OSError:
        return
    if _VARIANTS in names:
        yield from sorted(glob.glob(os.path.join(glob.escape(folder), _VARIANTS, "*")))
    for name in sorted(names & _OLD_VARIANTS):
        below = os.path.join(folder, name)
        yield below
        yield from _variants_of(below)


def _is_for_this_machine(path: str) -> bool:
    with open(path, "rb") as file:
        head = file.read(20)
    machine = this_machine()
    order: Literal["little", "big"] = "little" if machine[1] == 1 else "big"
    return head[4:6] == bytes(machine[:2]) and int.from_bytes(head[18:20], order) == machine[2]


def _checked(name: str, place: str) -> NeededFile:
    why = distrust(place)
    if why is not None:
        raise NeededError(f"is linked with {place!r}, but {why.reason}", why.remedy)
    return NeededFile(name, place, FileState.of(os.stat(place)))


def _given() -> tuple[str, ...]:
    """Return the variable's folders, empty ones as working directory."""
    given = os.environ.get("LD_LIBRARY_PATH", "")
    return tuple(map(os.path.abspath, re.split("[:;]", given))) if given else ()


@functools.cache
def _canonical_system_folders() -> frozenset[str]:
    return frozenset(map(os.path.realpath, system_folders()))


@functools.cache
def system_folders() -> list[str]:
    """Return the folders of ld.so.conf and the default ones."""
    return [*_configured(_CONFIGURATION), *_DEFAULT_FOLDERS, *glob.glob("/usr/lib/*-linux-*")]


def _configured(path: str) -> Iterator[str]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        word = line.split("#")[0].strip()
        if word.startswith("include "):
            pattern = os.path.join("/etc", word.removeprefix("include ").strip())
            for each in sorted(glob.glob(pattern)):
                yield from _configured(each)
        elif word:
            yield word
