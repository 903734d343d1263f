# SPDX-License-Identifier: MIT
"""Return a function that puts a mock into a folder.

Each set is compiled once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_backend_api import get_include
from armnn_dynamic_loader.wrapper import python_backend_source

sys.path.insert(0, str(Path(__file__).parent))  # for bad_files, which a benchmark uses as well

from compiling import gcc  # beside this file

HELPER = "int help_me(void) {{ return {0}; }}\n"
COMPUTING = (
    "extern int help_me(void); if (count == 7) { for (int i = 0; i < 7; ++i) sum[i] = "
    "(float)help_me(); return ARMNN_OK; }"
)

SOURCE = Path(__file__).with_name("mock_backend.c")
COMMAND = [
    "gcc", "-std=gnu11", "-O1", "-fPIC", "-shared", "-fvisibility=default", "-Wall", "-Wextra",
    "-Werror", "-Wno-unused-function", "-Wno-array-bounds", "-Wno-unused-parameter",
]  # fmt: skip

# Compiles a mock with these switches and puts it at a path.
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that compiles the mock, once per switches.

    Workers of pytest-xdist share what they compile.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "mocks"
    folder.mkdir(exist_ok=True)

    def compile_mock(*switches: str, source: Path = SOURCE) -> Path:
        name = hashlib.sha256("\n".join([str(source), *switches]).encode()).hexdigest()
        output = folder / f"{name}.so"
        if not output.exists():
            unfinished = output.with_suffix(f".{os.getpid()}")
            command = [*COMMAND, f"-I{get_include()}", *switches, "-o", unfinished, source]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stderr
            unfinished.rename(output)
        return output

    return compile_mock


@pytest.fixture
def build(compiled: Callable[..., Path], tmp_path: Path) -> Build:
    """Mock backends: one C source, one defect per switch set.

    It may be a folder in it; only the owner may write it.
    """

    def build_mock(name: str, *switches: str, folder: str = "backends") -> Path:
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o755)
        path = place / name
        shutil.copyfile(compiled(*switches), path)
        path.chmod(0o755)
        return path

    return build_mock


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the tests' verdicts and settings apart from the user's."""
    for variable in ("ARMNN_BACKENDS", "ARMNN_DYNAMIC_BACKENDS_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "armnn" / "probes.json"


@pytest.fixture
def reference(build: Build, compiled: Callable[..., Path]) -> Path:
    """Make CpuRef a file in a folder of its own."""
    wrapped = compiled(
        "-std=c11",
        "-fvisibility=hidden",
        "-Wl,-z,defs",
        '-DBACKEND_ID="CpuRef"',
        '-DBACKEND_CLASS="armnn_backend_ref.backend:RefBackend"',
        source=Path(python_backend_source()),
    )
    path = build("Arm_CpuRef_backend.so", folder="reference")
    shutil.copyfile(wrapped, path)
    return path


@pytest.fixture
def link(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that links a backend with a helper.

    The sum of seven elements is the helper's number in each.
    """

    def link_one(
        name: str,
        *flags: str | Path,
        rpath: str = "$ORIGIN/lib",
        helper: str = "libhelp.so",
        number: int = 1,
    ) -> Path:
        place = tmp_path / name
        (place / "lib").mkdir(parents=True)
        for each in (place, place / "lib"):
            each.chmod(0o755)
        source = place / "help.c"
        source.write_text(HELPER.format(number))
        library = place / "lib" / helper
        backend = place / f"Mock_{name}_backend.so"
        gcc("-o", library, source, f"-Wl,-soname,{helper}")
        source.unlink()
        gcc(
            f"-I{get_include()}", f'-DID="{name}"', "-DAT_LOAD=extern int help_me(void);help_me()",
            f"-DIN_EXECUTE={COMPUTING}", "-o", backend, SOURCE, library, f"-Wl,-rpath,{rpath}",
            *flags,
        )  # fmt: skip
        return backend

    return link_one
