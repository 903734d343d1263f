# SPDX-License-Identifier: MIT
"""The libraries mapped with a file, found as ld.so does.

A process maps one library of a name only: whoever is linked with that name later gets the same
one, wherever his own is. So two files that each bring a library of one name cannot be used in one
process, which :func:`namesake_in_process` and :func:`namesake_of_files` find out beforehand.
"""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import functools
import glob
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from armnn_backend_api.elf import Dynamic, ElfError, read_dynamic, read_versions, this_machine

_DEFAULT_FOLDERS: Final = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_CONFIGURATION: Final = "/etc/ld.so.conf"
_ORIGIN: Final = re.compile(r"\$(?:ORIGIN\b|\{ORIGIN\})")
_OTHER_TOKEN: Final = re.compile(r"\$(?:(?:LIB|PLATFORM)\b|\{(?:LIB|PLATFORM)\})")
_VARIANTS: Final = "glibc-hwcaps"
_OLD_VARIANTS: Final = frozenset({"tls", "haswell", "xeon_phi", "avx512_1", "x86_64"})
"""Subfolders that glibc before 2.37 prefers, in each other as well."""
_MOST: Final = 256
_PIECE: Final = 1 << 20
_LINK_MAP: Final = 2  # RTLD_DI_LINKMAP, of glibc and of musl

__all__ = [
    "Link",
    "LinkError",
    "LinkedNames",
    "Namesake",
    "is_in_system_folder",
    "linked_names",
    "namesake_in_process",
    "namesake_of_files",
    "system_folders",
    "walk",
]


class LinkError(Exception):
    """The libraries that are mapped with a file cannot be found out, or are not trusted.

    Attributes:
        reason: The rest of a sentence.
        remedy: The advice; empty where only the vendor can act.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


class Link(NamedTuple):
    """The library of a name that the dynamic linker finds, if nothing in the process has that name.

    Attributes:
        name: By which a file, or a library that is mapped with it, is linked.
        places: Canonical paths; several where they are variants for processors, none if it is
            nowhere.
        is_system: Whether it is in none of the folders of the file, but in one of the system.
    """

    name: str
    places: tuple[str, ...]
    is_system: bool


class Namesake(NamedTuple):
    """A library that is mapped instead of the one that a file is linked with.

    Attributes:
        name: The name of both.
        expected: The canonical path of what the file is linked with; "" if that is nowhere.
        got: The canonical path of the other.
    """

    name: str
    expected: str
    got: str


class LinkedNames(NamedTuple):
    """The names that the dynamic linker looks up and gives away when it loads a file.

    Attributes:
        links: The libraries that the file and its libraries are linked with, in order.
        brought: The files that are mapped, by each name that they answer to from then on.
    """

    links: tuple[Link, ...]
    brought: Mapping[str, tuple[str, ...]]


def linked_names(path: str) -> LinkedNames:
    """Return the names of a file and of all that is mapped with it.

    Raises:
        LinkError: An RPATH cannot be followed.
        OSError: A library cannot be read.
    """
    links = tuple(link for _, link in walk(path))
    brought = {link.name: link.places for link in links if link.places}
    for places in ((os.path.realpath(path),), *tuple(brought.values())):
        with contextlib.suppress(ElfError):
            brought.setdefault(read_dynamic(places[0]).name or places[0], places)
    return LinkedNames(links, brought)


def namesake_in_process(path: str) -> Namesake | None:
    """Return a library of this process that a file would get instead of its own.

    Another release of the same library is none, where the system or the Python installation has
    one of the two: symbol versions exist for this case. The dynamic linker itself refuses a release
    that lacks a version which the file needs.

    Raises:
        LinkError: An RPATH cannot be followed.
        OSError: A library cannot be read.
    """
    for _, link in walk(path, is_settled=lambda link: _mapped_as(link.name) != ""):
        got = _mapped_as(link.name)
        if got and link.places and not _may_stand_for(got, link):
            return Namesake(link.name, link.places[0], got)
    return None


def namesake_of_files(names: LinkedNames, earlier: LinkedNames) -> Namesake | None:
    """Return a library that a file gets instead of its own after another file was loaded.

    Names that this process has mapped already are left out: for these, see
    :func:`namesake_in_process`.
    """
    for link in names.links:
        got = earlier.brought.get(link.name)
        if got is None or any(_is_same(a, b) for a in got for b in link.places):
            continue
        if not _mapped_as(link.name):
            return Namesake(link.name, (*link.places, "")[0], got[0])
    return None


def _may_stand_for(got: str, link: Link) -> bool:
    """Return whether a mapped library is the expected one, or another release of it."""
    if link.is_system and _is_of_system(got):
        return True
    try:
        if any(_is_same(got, place) for place in link.places):
            return True
        is_release = not read_versions(link.places[0]).isdisjoint(read_versions(got))
    except (ElfError, OSError):
        return False
    return is_release and (link.is_system or _is_of_system(got))


def _is_same(first: str, second: str) -> bool:
    """Return whether two paths have the same bytes."""
    if first == second:
        return True
    try:
        with open(first, "rb") as one, open(second, "rb") as other:
            if os.fstat(one.fileno()).st_size != os.fstat(other.fileno()).st_size:
                return False
            while piece := one.read(_PIECE):
                if piece != other.read(_PIECE):
                    return False
    except OSError:
        return False
    return True


def _is_of_system(path: str) -> bool:
    """Return whether a library belongs to the system or to the Python installation."""
    of_python = (*_folders_of_program(), os.path.join(sys.base_prefix, "lib"))
    return is_in_system_folder(path) or os.path.dirname(path) in map(os.path.realpath, of_python)


def is_in_system_folder(path: str) -> bool:
    """Return whether a file lies in a folder of the system."""
    return os.path.dirname(path) in _canonical_system_folders()


def _mapped_as(name: str) -> str:
    """Return the library that answers to a name in this process, "" if none does.

    The dynamic linker itself is asked. It maps nothing for that.
    """
    try:
        library = ctypes.CDLL(name, mode=os.RTLD_LAZY | os.RTLD_NOLOAD)
    except (OSError, ValueError):
        return ""
    try:
        described = ctypes.POINTER(_LinkMap)()
        dlinfo: Any = ctypes.CDLL(None).dlinfo
        dlinfo.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
        if dlinfo(library._handle, _LINK_MAP, ctypes.byref(described)):
            return ""
        path: bytes = described.contents.name
        return os.path.realpath(os.fsdecode(path)) if path else ""
    finally:
        _ctypes.dlclose(library._handle)


class _LinkMap(ctypes.Structure):
    """The beginning of ``struct link_map``."""

    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


def walk(
    path: str,
    check: Callable[[str, str], None] | None = None,
    is_settled: Callable[[Link], bool] | None = None,
) -> Iterator[tuple[str, Link]]:
    """Yield each name once, with the file that is linked with it.

    Args:
        path: The first file.
        check: Is called with each folder of an RPATH, and with the folder as it is written there.
        is_settled: Returns whether the libraries of a library do not matter.
    """
    waiting: list[tuple[str, tuple[str, ...]]] = [(path, _folders_of_program())]
    seen: set[str] = set()
    while waiting:
        user, inherited = waiting.pop(0)
        try:
            dynamic = read_dynamic(user)
        except ElfError:
            continue  # the linker says so
        is_of_system = user != path and is_in_system_folder(user)
        before, after = ((), ()) if is_of_system else _folders(user, dynamic, check)
        inherited = (*before, *inherited)
        folders = (*_given(), *after) if after else (*inherited, *_given())
        for name in dynamic.needed:
            if name in seen:
                continue
            seen.add(name)
            if len(seen) > _MOST:
                raise LinkError(f"is linked with more than {_MOST} libraries")
            link = _link(name, folders)
            yield user, link
            if is_settled is None or not is_settled(link):
                waiting += ((place, inherited) for place in link.places)


@functools.cache
def _folders_of_program() -> tuple[str, ...]:
    """Return the folders of the interpreter's RPATH, inherited by all."""
    try:
        program = os.path.realpath("/proc/self/exe")
        folders = read_dynamic(program).rpath
    except (ElfError, OSError):  # a program that is not a shared object, or no /proc
        return ()
    origin = os.path.dirname(program)
    expanded = (_ORIGIN.sub(lambda _: origin, folder) for folder in folders)
    return tuple(folder for folder in expanded if os.path.isabs(folder))


def _folders(
    path: str, dynamic: Dynamic, check: Callable[[str, str], None] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the checked folders of RPATH and RUNPATH.

    Raises:
        LinkError: One is relative, or depends on the machine.
    """
    origin = os.path.dirname(os.path.realpath(path))
    both = []
    for folders in (dynamic.rpath, dynamic.runpath):
        expanded = tuple(_ORIGIN.sub(lambda _: origin, folder) for folder in folders)
        for folder, written in zip(expanded, folders, strict=True):
            if _OTHER_TOKEN.search(folder):
                raise LinkError(
                    f"has the folder {written!r} in its RPATH, which depends on the machine: only "
                    "$ORIGIN is known"
                )
            if not os.path.isabs(folder):
                raise LinkError(
                    f"has the relative folder {written!r} in its RPATH, which is another one in "
                    "each process"
                )
            if check is not None:
                check(folder, written)
        both.append(expanded)
    return both[0], both[1]


def _link(name: str, folders: Sequence[str]) -> Link:
    """Return where a library is found.

    Variants for other processors are in subfolders: which one is mapped is for the linker to say,
    so all are returned.
    """
    system: Sequence[str] = system_folders()
    written = name
    if "/" in name:
        if not os.path.isabs(name):
            raise LinkError(f"is linked with the relative path {name!r}")
        folders, system, name = [os.path.dirname(name)], (), os.path.basename(name)
    for choice in (*((each, *_variants_of(each)) for each in folders), *zip(system)):
        found = [os.path.join(folder, name) for folder in choice]
        found = [each for each in found if os.path.isfile(each) and _is_for_this_machine(each)]
        if found:
            places = tuple(dict.fromkeys(map(os.path.realpath, found)))
            return Link(written, places, all(map(is_in_system_folder, places)))
    return Link(written, (), is_system=False)


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
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
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
