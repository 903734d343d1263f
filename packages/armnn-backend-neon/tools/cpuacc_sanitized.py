# SPDX-License-Identifier: MIT
"""Run CpuAcc's tests under AddressSanitizer, UBSan and ThreadSanitizer.

They are AddressSanitizer with UBSan, then ThreadSanitizer. CpuAcc is built with the sanitizer, and
with CXXFLAGS of the environment, and installed. The sanitizer's library is loaded before Python,
which itself is not instrumented::

    python packages/armnn-backend-neon/tools/cpuacc_sanitized.py [pytest arguments]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

NEON = Path(__file__).resolve().parents[1]
NOT_SANITIZED = {
    "test_allocations.py": "the sanitizers have an allocator of their own",
    "test_conformance.py": "the kit is run by cpuacc_kit",
    "test_hatch_build.py": "it computes nothing",
    "test_sequences.py": "ThreadSanitizer finds races in onnxruntime",
}
"""Modules of tests that do not run here, and why."""

COUNT_THREADS = ("as_many_threads_as_asked_for", "as_many_threads_as_it_was_told")
"""Tests that cannot pass here: ThreadSanitizer has a thread of its own."""

SANITIZERS = {
    "address,undefined": {
        "library": "libasan.so",
        # Python keeps memory until it ends, so leaks are not looked for.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    },
    "thread": {
        "library": "libtsan.so",
        # A test forks a process that has threads.
        "TSAN_OPTIONS": "die_after_fork=0:halt_on_error=1:exitcode=66",
    },
}


def install(sanitizer: str, folder: Path) -> None:
    """Build CpuAcc with a sanitizer and install it."""
    flags = f"-O1 -g -fno-omit-frame-pointer -fsanitize={sanitizer}"
    flags += " " + os.environ.get("CXXFLAGS", "")
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder)]
    subprocess.run([*build, str(NEON)], check=True, env={**os.environ, "CXXFLAGS": flags})
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]
    subprocess.run([*pip, *folder.glob("*.whl")], check=True)


def run_tests(sanitizer: str, settings: dict[str, str], arguments: list[str]) -> bool:
    """Run CpuAcc's tests with the sanitizer; return whether all passed.

    A test that compiles kernels of its own takes the sanitizer from CXXFLAGS.
    """
    library, *options = settings.items()
    ask = ["gcc", f"-print-file-name={library[1]}"]
    preloaded = subprocess.run(ask, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    ignored = [f"--ignore={NEON / 'tests' / name}" for name in NOT_SANITIZED]
    # Sanitizers place their memory where addresses that are not randomised leave room.
    command = ["setarch", "--addr-no-randomize", sys.executable, "-m", "pytest", "-q", "-s"]
    command += ["-p", "no:cacheprovider", str(NEON / "tests"), *ignored, *arguments]
    command += ["-k", f"not ({' or '.join(COUNT_THREADS)})"]
    environment = {**os.environ, **dict(options), "LD_PRELOAD": preloaded, "PYTHONMALLOC": "malloc"}
    environment["CXXFLAGS"] = f"-g -fsanitize={sanitizer}"
    return subprocess.run(command, env=environment).returncode == 0


def main() -> int:
    """Run the tests under each sanitizer; return 1 on failure."""
    well = []
    for sanitizer, settings in SANITIZERS.items():
        print(f"== {sanitizer}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            install(sanitizer, Path(folder))
        well.append(run_tests(sanitizer, settings, sys.argv[1:]))
    return int(not all(well))


if __name__ == "__main__":
    sys.exit(main())
