# SPDX-License-Identifier: MIT
"""Tests and kit of the level avx512_amx without AMX.

CpuAcc is built with emulated tile registers and installed; where there is no AVX-512 either, its
vectors are emulated by AVX2. The tests are those of gemms and ``emulated_levels.py``; the rest has
the kernels of the level that it adds to.

    python packages/armnn-backend-neon/tools/cpuacc_amx.py [pytest arguments]
"""

from __future__ import annotations

import os
import runpy
import shlex
import sys
from pathlib import Path

from cpuacc_kit import BUILD, LEVELS, kit, pytest
from cpuacc_vnni import install

NEON = Path(__file__).resolve().parents[1]
LEVEL = "avx512_amx"
(BELOW,) = (level.adds_to for level in BUILD["levels_of"]("x86_64") if level.name == LEVEL)
EMULATION = runpy.run_path(str(NEON / "native_build/emulation.py"))
TESTS = (
    *("test_attention", "test_batch_mat_mul", "test_bfloat16", "test_bfloat16_filtering"),
    *("test_bfloat16_storage", "test_einsum", "test_epilogues", "test_fed_weights"),
    *("test_indirection", "test_int8_gemm", "test_int8_lookup", "test_int8_rescaling"),
    *("test_integer_gemm", "test_quantized_arithmetic", "test_threads"),
)
"""Modules of tests that reach the level's own kernels."""


def main() -> int:
    """Run tests and kit; return 1 if one failed."""
    has_vectors = BELOW in LEVELS
    if not has_vectors:  # the flags would make other levels of the same instructions
        os.environ["ARMNN_CPUACC_LEVELS"] = LEVEL
    install(shlex.join(EMULATION["emulated_tile_registers"](has_vectors)))
    tests = [str(NEON / f"tests/{name}.py") for name in TESTS]
    well = pytest(sys.executable, LEVEL, [*tests, *sys.argv[1:]], ARMNN_CPUACC_ISA=LEVEL)
    emulated = [str(NEON / "tools/emulated_levels.py"), *sys.argv[1:]]
    well &= pytest(sys.executable, "choice of the level", emulated)
    return int(not (kit(sys.executable, [LEVEL], sys.argv[1:]) and well))


if __name__ == "__main__":
    sys.exit(main())
