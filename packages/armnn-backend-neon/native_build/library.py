# SPDX-License-Identifier: MIT
"""The shared library: its translation units and its link."""

from __future__ import annotations

import hashlib
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from native_build.compiler import (
    Unit,
    added_flags,
    answer,
    compiler,
    machine_of_compiler,
    run,
    write_if_changed,
)
from native_build.levels import DISPATCH, KERNELS, ROOT, Level, dispatch_table, selected

LIBRARY = Path("armnn_backend_neon/Arm_CpuAcc_backend.so")
CPP = ROOT / "cpp"
BUNDLED_HEADERS = ROOT / "include"
SIBLING_HEADERS = ROOT.parent / "armnn-backend-api/src/armnn_backend_api/include"
HEADERS = ("armnn/backend.h", "armnn/layers.h")
"""Those of the Backend API."""

COMMON_FLAGS = [
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffunction-sections",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",
]
LINK_FLAGS = [
    "-shared",
    "-Wl,-z,defs",
    "-Wl,--gc-sections",
    # The C++ library is the compiler's own, so the C library's version alone says where the file
    # runs. libgcc stays shared: its static form needs a younger C library.
    "-static-libstdc++",
    "-pthread",
]
EXPORTS = CPP / "exports.map"


def wanted_levels() -> str:
    """Return ARMNN_CPUACC_LEVELS: names, ``native``, or "" for all levels."""
    return os.environ.get("ARMNN_CPUACC_LEVELS", "")


def label() -> str:
    """Return a label of a partial build, else "".

    A partial build has some levels only.
    """
    return selected(machine_of_compiler(), wanted_levels())[0]


def header_directory() -> Path:
    """Return the folder of ``HEADERS``.

    It is in the sdist, or beside this folder in the repository.

    Raises:
        FileNotFoundError: They are in neither place.
    """
    for directory in (BUNDLED_HEADERS, SIBLING_HEADERS):
        if all((directory / header).exists() for header in HEADERS):
            return directory
    raise FileNotFoundError(
        f"{' and '.join(HEADERS)} are neither in {BUNDLED_HEADERS} nor in {SIBLING_HEADERS}: build "
        "from the repository or from a source distribution"
    )


def build_directory(machine: str) -> Path:
    """Return the folder of objects, per levels and flags."""
    options = [*compiler()[1:], *added_flags()]
    parts = [machine, label()]
    if options:
        parts.append(hashlib.sha256(repr(options).encode()).hexdigest()[:8])
    return ROOT / "build" / "-".join(filter(None, parts))


def units(build: Path, levels: Sequence[Level], version: str) -> list[Unit]:
    """Return the units: folders joined, kernels once per level.

    Headers of the C++ library and of intrinsics are most of a small source; read once per folder,
    they cost half as much.
    """
    folders = [f"-I{folder}" for folder in (CPP, header_directory(), build)]
    common = (*COMMON_FLAGS, *folders, f'-DCPUACC_VERSION="{version}"')
    added = tuple(added_flags())
    host = [path for path in CPP.rglob("*.cpp") if KERNELS not in path.parents]
    found = [
        Unit(source, build / f"{source.stem}.o", (*common, *added))
        for source in _joined(host, build, "")
    ]
    found.append(Unit(DISPATCH, build / "kernels_dispatch.o", (*common, *added)))
    for level in levels:
        sources = [KERNELS / f"{name}.cpp" for name in level.sources]
        found += [
            Unit(source, build / f"{source.stem}.o", (*common, *level.arguments, *added))
            for source in _joined(sources, build, f"_{level.name}")
        ]
    return found


def _joined(sources: Iterable[Path], build: Path, suffix: str) -> Iterator[Path]:
    """Write and yield a joining source for each folder."""
    folders = defaultdict(list)
    for source in sorted(sources):
        folders[source.parent.relative_to(CPP)].append(source.relative_to(CPP).as_posix())
    for folder, names in folders.items():
        path = build / f"{'_'.join(folder.parts)}{suffix}.cpp"
        write_if_changed(path, "".join(f'#include "{name}"\n' for name in names))
        yield path


def state_build(build: Path, flags: str) -> None:
    """Write a header that identifies this build, if changed.

    The same sources and flags are the same build in whatever folder.
    """
    places = (build, header_directory(), ROOT)
    for number, place in enumerate(places):
        flags = flags.replace(str(place), f"<{number}>")
    digest = hashlib.sha256(flags.encode())
    headers = [header_directory() / header for header in HEADERS]
    for source in (*sorted(CPP.rglob("*.*")), *headers):
        digest.update(source.read_bytes())
    write_if_changed(build / "build.h", f'#define CPUACC_BUILD "{digest.hexdigest()[:32]}"\n')


def thread_library() -> list[str]:
    """Return the linker's flags for glibc's thread library, if any.

    Since 2.34 it is empty, but on an older system it has the functions that our symbols' versions
    promise; a host that started without it would not find them.
    """
    found = answer("-print-file-name=libpthread.so.0")
    return ["-Wl,--no-as-needed", found] if Path(found).is_absolute() else []


def build_library(version: str) -> Path:
    """Compile what has changed and link it; return the library.

    Raises:
        subprocess.CalledProcessError: The compiler or the linker refused.
        ValueError: There is no level for the machine that it compiles for, or none as asked for.
    """
    machine = machine_of_compiler()
    _, levels = selected(machine, wanted_levels())
    build = build_directory(machine)
    build.mkdir(parents=True, exist_ok=True)
    stamp = build / "link.txt"
    all_units = units(build, levels, version)
    library = build / LIBRARY.name
    unfinished = library.with_suffix(".part")
    objects = [str(unit.object) for unit in all_units]
    exports = f"-Wl,--version-script={EXPORTS}"
    link = [*compiler(), *LINK_FLAGS, *added_flags(), exports, "-o", str(unfinished), *objects]
    link += thread_library()
    table = dispatch_table(machine, levels)
    write_if_changed(build / "levels_table.h", table)
    state_build(build, repr([link, all_units, table]))
    # The kernels, which are at the end, take longest: no core waits for one of them alone.
    stale = [unit for unit in reversed(all_units) if unit.is_stale()]
    if stale:
        names = ", ".join(level.name for level in levels)
        print(f"Compiling {len(stale)} of {len(all_units)} files: {names}", file=sys.stderr)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(Unit.compile, stale))
    is_new = not library.exists() or not stamp.exists() or stamp.read_text() != repr(link)
    if stale or is_new or EXPORTS.stat().st_mtime > library.stat().st_mtime:
        run(link)
        unfinished.replace(library)
        stamp.write_text(repr(link))
    return library
