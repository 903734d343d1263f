# SPDX-License-Identifier: MIT
"""The platform tag of a wheel with a shared library."""

from __future__ import annotations

from pathlib import Path

OLDEST_GLIBC = (2, 17)
"""No older one is asked for: it is the first on Arm with a platform tag."""
OLDEST_LIBGCC = (4, 8, 0)
"""What comes with a system of that glibc."""


def platform_tag(library: Path) -> str:
    """Return the platform tag of a library's wheel (PEP 600).

    Its glibc is the youngest version of a symbol that the library asks for. A library of another
    C library, whose symbols have no versions, runs on systems like this one.

    Raises:
        ValueError: The library needs something that not every system with this glibc has.
    """
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerNeedSection

    youngest: tuple[int, ...] = OLDEST_GLIBC
    with library.open("rb") as stream:
        file = ELFFile(stream)
        needed = file.get_section_by_name(".gnu.version_r")
        machine = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}[file["e_machine"]]
        if not isinstance(needed, GNUVerNeedSection):
            return f"linux_{machine}"
        names = [v.name for _, versions in needed.iter_versions() for v in versions]
    for name in names:
        family, _, number = name.partition("_")
        version = tuple(int(part) for part in number.split("."))
        if family == "GLIBC":
            youngest = max(youngest, version[:2])
        elif family != "GCC" or version > OLDEST_LIBGCC:
            raise ValueError(f"{library} needs {name}, expected versions of glibc's symbols alone")
    return "manylinux_{}_{}_{}".format(*youngest, machine)
