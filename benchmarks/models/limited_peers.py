# SPDX-License-Identifier: MIT
"""Copies of the peers that see a processor without AVX-512.

Most processors on desks end with AVX2. In a copy of a peer's shared libraries each CPUID
instruction is replaced by two bytes that are none, and a preloaded library answers in its place,
with all hidden that AVX-512 and AMX bring. So any machine measures what the peers reach with AVX2;
CpuAcc is limited by its own ``ARMNN_CPUACC_ISA``, and the C library by ``GLIBC_TUNABLES``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CPUID: Final = b"\x0f\xa2"
REPLACEMENT: Final = b"\x27\x27"
LEVEL: Final = "avx2"
ARCHITECTURE: Final = "haswell"
"""The first processors with AVX2, as gcc calls them."""
PACKAGES: Final = ("onnxruntime", "openvino", "ai_edge_litert")
_SOURCE: Final = Path(__file__).with_name("limited_cpu.c")
_LINE: Final = re.compile(rb"^ *([0-9a-f]+):\t0f a2 +\tcpuid", re.MULTILINE)
_SECTION: Final = re.compile(r"^ *\d+ +\S+ +([0-9a-f]+) +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)", re.M)
_HIDDEN_FROM_C_LIBRARY: Final = "-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD"


def limits(folder: Path) -> dict[str, str]:
    """Return the environment of processes that are limited.

    Args:
        folder: Keeps the copies; those of other versions of the peers go.

    Raises:
        OSError: They cannot be written.
        ValueError: The folder has a name that the loader would split.
        subprocess.CalledProcessError: The compiler or objdump failed.
    """
    folder = folder.resolve()
    if set(str(folder)) & set(" :"):
        raise ValueError(f"{str(folder)!r} cannot be preloaded from: expected no space nor colon")
    folder.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        _copy(_folder_of(name), folder / name)
    return {
        "LD_PRELOAD": str(preloaded(folder)),
        "PYTHONPATH": os.pathsep.join([str(folder), *_own_path()]),
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={_HIDDEN_FROM_C_LIBRARY}",
        "ARMNN_CPUACC_ISA": LEVEL,
    }


def preloaded(folder: Path) -> Path:
    """Compile the library that answers CPUID; return its path.

    Raises:
        subprocess.CalledProcessError: The compiler failed.
    """
    library = folder / "limited_cpu.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*compiler, *flags, str(_SOURCE), "-o", str(library)], check=True)
    return library


def limited(library: bytes, places: Iterator[int]) -> bytes:
    """Return a library with other bytes for some CPUID.

    Raises:
        ValueError: There is no CPUID at a place.
    """
    made = bytearray(library)
    for place in places:
        if made[place : place + len(CPUID)] != CPUID:
            raise ValueError(f"there is no CPUID at {place}: objdump and the file disagree")
        made[place : place + len(CPUID)] = REPLACEMENT
    return bytes(made)


def places_of_cpuid(path: Path) -> Iterator[int]:
    """Yield where in a library's file CPUID instructions are.

    Raises:
        subprocess.CalledProcessError: objdump failed.
    """
    headers = subprocess.run(
        ["objdump", "-h", str(path)], check=True, capture_output=True, text=True
    ).stdout
    sections = [tuple(int(number, 16) for number in found) for found in _SECTION.findall(headers)]
    listed = subprocess.run(["objdump", "-d", str(path)], check=True, capture_output=True).stdout
    for found in _LINE.finditer(listed):
        address = int(found[1], 16)
        for size, start, offset in sections:
            if start <= address < start + size:
                yield offset + address - start
                break


def _copy(package: Path, folder: Path) -> None:
    """Copy a package, with other bytes for CPUID.

    Files without it are linked.
    """
    stamp = folder.with_suffix(".stamp")
    text = f"{package} {package.stat().st_mtime_ns}"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == text:
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(package, folder, copy_function=_link, symlinks=True)
    for path in folder.rglob("*.so*"):
        if path.is_symlink() or CPUID not in (content := path.read_bytes()):
            continue
        made = limited(content, places_of_cpuid(path))
        mode = path.stat().st_mode
        path.unlink()  # it is a link
        path.write_bytes(made)
        path.chmod(mode)
    stamp.write_text(text, encoding="utf-8")


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _folder_of(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{name} is not installed: pip install it", name=name)
    return Path(spec.origin).parent


def _own_path() -> list[str]:
    path = os.environ.get("PYTHONPATH", "")
    return [path] if path else []
