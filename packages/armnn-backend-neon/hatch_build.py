# SPDX-License-Identifier: MIT
"""Compiles the backend with a C++ compiler alone; hatchling calls it, and so does a developer.

``python hatch_build.py`` builds into the source tree and compiles only what has changed. The
machine is the one that the compiler in CXX compiles for: a cross-compiler makes another wheel.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
LIBRARY = Path("armnn_backend_neon/Arm_CpuAcc_backend.so")
SOURCES = ROOT / "src"
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
    "-Werror",
    "-Wno-psabi",
]
KERNEL_FLAGS = ["-fno-exceptions", "-fno-rtti"]
LINK_FLAGS = [
    "-shared",
    "-Wl,-z,defs",
    "-Wl,--gc-sections",
    # The C++ library is the compiler's own, so the C library's version alone says where the file
    # runs. libgcc stays shared: its static form needs a younger C library.
    "-static-libstdc++",
    "-pthread",
]
EXPORTS = ROOT / "cpp/exports.map"

OLDEST_GLIBC = (2, 17)
"""No older one is asked for: it is the first on Arm with a platform tag."""
OLDEST_LIBGCC = (4, 8, 0)
"""What comes with a system of that glibc."""


class Level(NamedTuple):
    """An instruction-set level that the kernels are compiled for.

    Attributes:
        name: Its namespace, and its name in ARMNN_CPUACC_ISA.
        vector_bytes: The width of its registers.
        flags: What the compiler needs to know.
        additions: The sources of kernels that it adds to those of another level, if that is all it
            has; else it has all but ADDED_ALONE.
    """

    name: str
    vector_bytes: int
    flags: tuple[str, ...]
    additions: tuple[str, ...] = ()

    def compiles(self, source: Path) -> bool:
        """Return whether a source of kernels is compiled for it."""
        if self.additions:
            return source.stem in self.additions
        return source.stem not in ADDED_ALONE

    @property
    def arguments(self) -> list[str]:
        """The compiler's arguments."""
        defines = [f"-DCPUACC_LEVEL={self.name}", f"-DCPUACC_VECTOR_BYTES={self.vector_bytes}"]
        return [*KERNEL_FLAGS, *defines, *self.flags]


AVX512 = ("-march=skylake-avx512", "-mavx512vnni", "-mprefer-vector-width=512")

LEVELS = {
    "x86_64": (
        Level("avx512_bf16", 64, (*AVX512, "-mavx512bf16"), additions=("gemm_bfloat16",)),
        Level("avx512", 64, AVX512),
        Level(
            "avx_vnni",
            32,
            ("-march=haswell", "-mavxvnni"),
            additions=("int8_gemm", "int8_accumulators", "int8_direct", "int8_depthwise"),
        ),
        Level("avx2", 32, ("-march=haswell",)),
        Level("sse2", 16, ()),
    ),
    "aarch64": (
        Level(
            "neon_bf16", 16, ("-march=armv8.2-a+dotprod+i8mm+bf16",), additions=("gemm_bfloat16",)
        ),
        Level("neon_i8mm", 16, ("-march=armv8.2-a+dotprod+i8mm",)),
        Level("neon_dotprod", 16, ("-march=armv8.2-a+dotprod",)),
        Level("neon_fp16", 16, ("-march=armv8.2-a+fp16",), additions=("pointwise_float16",)),
        Level("neon", 16, ("-march=armv8-a",)),
    ),
}
ADDED_ALONE = ("gemm_bfloat16", "pointwise_float16")
"""Sources of kernels that a level has only as an addition."""


class Unit(NamedTuple):
    """A translation unit: a source with the arguments it is compiled with."""

    source: Path
    object: Path
    arguments: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """What compiles it."""
        paths = ["-MMD", "-c", str(self.source), "-o", str(self.object)]
        return [*compiler(), *self.arguments, *paths]

    def compile(self) -> None:
        """Compile it, and note with which command."""
        begun = time.time()
        run(self.command)
        os.utime(self.object, (begun, begun))  # what changes from then on is younger
        self.object.with_suffix(".txt").write_text(repr(self.command))

    def is_stale(self) -> bool:
        """Return whether the source, a header or the command is younger than the object."""
        dependencies, stamp = (self.object.with_suffix(suffix) for suffix in (".d", ".txt"))
        if not all(path.exists() for path in (self.object, dependencies, stamp)):
            return True
        if stamp.read_text() != repr(self.command):
            return True
        made = self.object.stat().st_mtime
        _, _, listed = dependencies.read_text().replace("\\\n", " ").partition(":")
        files = [Path(name) for name in listed.split()]
        return any(not file.exists() or file.stat().st_mtime > made for file in files)


def header_directory() -> Path:
    """Return where ``HEADERS`` are: in the sdist, or beside this folder in the repository.

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


def compiler() -> list[str]:
    """Return the compiler's command: that of CXX, else g++."""
    return shlex.split(os.environ.get("CXX", "g++"))


def added_flags() -> list[str]:
    """Return the flags that the environment adds to ours: those of CXXFLAGS."""
    return shlex.split(os.environ.get("CXXFLAGS", ""))


def machine_of_compiler() -> str:
    """Return the machine that the compiler compiles for, such as ``aarch64``.

    Raises:
        ValueError: There is no level for it.
    """
    command = [*compiler(), "-dumpmachine"]
    triple = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    machine, _, _ = triple.partition("-")
    if machine not in LEVELS:
        known = " or ".join(LEVELS)
        raise ValueError(f"the compiler {compiler()} is for {triple!r}, expected {known}")
    return machine


def build_directory(machine: str) -> Path:
    """Return where objects go: each set of further flags, say a sanitizer's, has a place."""
    options = [*compiler()[1:], *added_flags()]
    if not options:
        return ROOT / "build" / machine
    digest = hashlib.sha256(repr(options).encode()).hexdigest()
    return ROOT / "build" / f"{machine}-{digest[:8]}"


def units(build: Path, machine: str, version: str) -> list[Unit]:
    """Return what is to be compiled for a machine."""
    cpp = ROOT / "cpp"
    folders = [f"-I{folder}" for folder in (cpp, header_directory(), build)]
    common = [*COMMON_FLAGS, *folders, f'-DCPUACC_VERSION="{version}"']
    found: list[Unit] = []
    added = tuple(added_flags())
    for source in sorted(cpp.rglob("*.cpp")):
        name = "_".join(source.relative_to(cpp).with_suffix("").parts)
        if source.parent.name != "kernels" or source.name == "dispatch.cpp":
            found.append(Unit(source, build / f"{name}.o", (*common, *added)))
            continue
        for level in filter(lambda level: level.compiles(source), LEVELS[machine]):
            arguments = (*common, *level.arguments, *added)
            found.append(Unit(source, build / f"{name}_{level.name}.o", arguments))
    return found


def state_build(build: Path, flags: str) -> None:
    """Write a header that tells this build from every other one, unless it says so already."""
    digest = hashlib.sha256(flags.encode())
    headers = [header_directory() / header for header in HEADERS]
    for source in (*sorted((ROOT / "cpp").rglob("*.*")), *headers):
        digest.update(source.read_bytes())
    header = build / "build.h"
    stated = f'#define CPUACC_BUILD "{digest.hexdigest()[:32]}"\n'
    if not header.exists() or header.read_text() != stated:
        header.write_text(stated)


def thread_library() -> list[str]:
    """Return what names glibc's library of threads as needed, where there is one.

    Since 2.34 it is empty, but on an older system it has the functions that our symbols' versions
    promise; a host that started without it would not find them.
    """
    asked = [*compiler(), "-print-file-name=libpthread.so.0"]
    found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    return ["-Wl,--no-as-needed", found] if Path(found).is_absolute() else []


def run(command: list[str]) -> None:
    """Run a compiler or linker; what it complains about goes to stderr."""
    subprocess.run(command, check=True)


def build_library(version: str) -> Path:
    """Compile what has changed and link it; return the library.

    Raises:
        subprocess.CalledProcessError: The compiler or the linker refused.
        ValueError: There is no level for the machine that it compiles for.
    """
    machine = machine_of_compiler()
    build = build_directory(machine)
    build.mkdir(parents=True, exist_ok=True)
    stamp = build / "link.txt"
    all_units = units(build, machine, version)
    library = build / LIBRARY.name
    unfinished = library.with_suffix(".part")
    objects = [str(unit.object) for unit in all_units]
    exports = f"-Wl,--version-script={EXPORTS}"
    link = [*compiler(), *LINK_FLAGS, *added_flags(), exports, "-o", str(unfinished), *objects]
    link += thread_library()
    state_build(build, repr([link, all_units]))
    stale = [unit for unit in all_units if unit.is_stale()]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(Unit.compile, stale))
    is_new = not library.exists() or not stamp.exists() or stamp.read_text() != repr(link)
    if stale or is_new or EXPORTS.stat().st_mtime > library.stat().st_mtime:
        run(link)
        unfinished.replace(library)
        stamp.write_text(repr(link))
    return library


def version_of_distribution() -> str:
    """Return the version in ``__about__.py``."""
    scope: dict[str, str] = {}
    exec((ROOT / "src/armnn_backend_neon/__about__.py").read_text(), scope)
    return scope["__version__"]


class NativeBuildHook(BuildHookInterface[BuilderConfig]):
    """Builds the library for wheels, and puts the headers into source distributions."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before hatchling collects the files."""
        if self.target_name == "sdist":
            build_data["force_include"][str(header_directory())] = "include"
            return
        library = build_library(self.metadata.version)
        if version == "editable":
            put_into_sources(library)
        else:
            build_data["force_include"][str(library)] = str(LIBRARY)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(library)}"


def put_into_sources(library: Path) -> Path:
    """Copy a library to where Python looks for it in the source tree; return the copy."""
    # The old file may be mapped by a process: it is replaced, never written to.
    unfinished = (SOURCES / LIBRARY).with_suffix(".part")
    shutil.copy2(library, unfinished)
    return unfinished.replace(SOURCES / LIBRARY)


def platform_tag(library: Path) -> str:
    """Return the platform tag of a wheel with a library, by PEP 600.

    Its glibc is the youngest version of a symbol that the library asks for. A library of another
    C library, whose symbols have no versions, runs on systems like this one.

    Raises:
        ValueError: The library needs something that not every system with this glibc has.
    """
    from elftools.elf.elffile import ELFFile

    youngest = OLDEST_GLIBC
    with library.open("rb") as stream:
        file = ELFFile(stream)
        needed = file.get_section_by_name(".gnu.version_r")
        machine = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}[file["e_machine"]]
        if needed is None:
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


if __name__ == "__main__":
    print(put_into_sources(build_library(version_of_distribution())), file=sys.stderr)
