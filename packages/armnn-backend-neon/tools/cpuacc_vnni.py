# SPDX-License-Identifier: MIT
"""Tests and kit of the level avx_vnni on AVX-512.

Its instructions have two encodings, AVX-VNNI's and that of AVX-512, with the same results: CpuAcc
is built with the second one and installed. The tests are those of layers on bytes, the rest has the
kernels of the level that it adds to.

    python packages/armnn-backend-neon/tools/cpuacc_vnni.py [pytest arguments]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from cpuacc_kit import kit, pytest

NEON = Path(__file__).resolve().parents[1]
LEVEL = "avx_vnni"
FLAGS = "-mavx512vnni -mavx512vl -mno-avxvnni -DCPUACC_VNNI_BY_AVX512"


def install(flags: str) -> None:
    """Build CpuAcc with more flags and install it."""
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder]
        subprocess.run([*build, str(NEON)], check=True, env={**os.environ, "CXXFLAGS": flags})
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]
        subprocess.run([*pip, *Path(folder).glob("*.whl")], check=True)


def main() -> int:
    """Run tests and kit; return 1 if one failed."""
    install(FLAGS)
    tests = [*NEON.glob("tests/test_int8_*.py"), NEON / "tests/test_integer_gemm.py"]
    tests += [NEON / "tests/test_quantized_arithmetic.py"]
    names = [str(test) for test in sorted(tests)]
    well = pytest(sys.executable, LEVEL, [*names, *sys.argv[1:]], ARMNN_CPUACC_ISA=LEVEL)
    return int(not (kit(sys.executable, [LEVEL], sys.argv[1:]) and well))


if __name__ == "__main__":
    sys.exit(main())
