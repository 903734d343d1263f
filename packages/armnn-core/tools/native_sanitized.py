# SPDX-License-Identifier: MIT
"""Run the C side under AddressSanitizer, UBSan and valgrind.

The samples run by themselves, then the tests of the C adapter run with mock backends that are
instrumented, and with the sanitizer's library loaded before Python::

    python packages/armnn-core/tools/native_sanitized.py [pytest arguments]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from armnn_backend_api import get_include

REPOSITORY = Path(__file__).resolve().parents[3]
SAMPLES = REPOSITORY / "packages/armnn-dynamic-loader/src/armnn_dynamic_loader/samples"
TESTS = REPOSITORY / "packages/armnn-core/tests/backends/capi"
BASE = ["gcc", "-std=c11", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{get_include()}"]
SHARED = ["-shared", "-fPIC", "-fvisibility=hidden"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def run(*command: str | Path, **environment: str) -> None:
    """Run a command, show it, and stop at a failure."""
    print("+", *command, flush=True)
    subprocess.run(command, check=True, cwd=REPOSITORY, env={**os.environ, **environment})


def samples(folder: Path) -> None:
    """Run host.c with acme_npu.c: sanitized, then under valgrind."""
    for name, flags in (("checked", SANITIZERS), ("plain", [])):
        host, library = folder / f"host_{name}", folder / f"{name}.so"
        run(*BASE, *flags, "-o", host, SAMPLES / "host.c", "-ldl")
        run(*BASE, *flags, *SHARED, "-o", library, SAMPLES / "acme_npu.c")
    run(folder / "host_checked", folder / "checked.so")
    valgrind = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full"]
    run(*valgrind, folder / "host_plain", folder / "plain.so")


def adapter(arguments: list[str]) -> None:
    """Run the adapter's tests.

    Leaks are counted by the tests, as Python itself keeps memory.
    """
    found = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    run(
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        TESTS,
        *arguments,
        LD_PRELOAD=found.stdout.strip(),
        ASAN_OPTIONS="detect_leaks=0:handle_segv=0:allocator_may_return_null=1:quarantine_size_mb=1",
        ARMNN_TEST_CFLAGS="-fsanitize=address",
        ARMNN_TEST_CYCLES="1000",
        PYTHONMALLOC="malloc",
    )


def main() -> int:
    """Run everything."""
    with tempfile.TemporaryDirectory() as folder:
        samples(Path(folder))
    adapter(sys.argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
