# SPDX-License-Identifier: MIT
"""Compiler flags of builds with emulated registers.

Tests run kernels of a level so, which the processor lacks. No release has these flags: they are
given with CXXFLAGS, by the tools and tests that want them.
"""

from __future__ import annotations

TILE_REGISTERS = ("-DCPUACC_EMULATED_TILES",)
VECTORS = ("-DCPUACC_EMULATED_VECTORS", "-mno-avx512f", "-march=haswell", "-Wno-psabi", "-O1")
"""Those of AVX-512 become pairs of AVX2, which are compiled in minutes, not optimized further."""
HEADERS = {
    TILE_REGISTERS: {"TILE_REGISTERS": "tile_registers_emulated"},
    VECTORS: {"VECTOR": "vector_emulated", "DOT": "dot_emulated", "BFLOAT16": "dot_emulated_bf16"},
}
"""Of cpp/kernels/isa, by the macros that the flags of a level set."""


def emulated_tile_registers(has_vectors: bool) -> list[str]:
    """Return the flags that make AMX of other instructions.

    Args:
        has_vectors: Whether the processor has AVX-512 as the level below does; else it is made of
            AVX2.
    """
    flags = []
    for each in (TILE_REGISTERS,) if has_vectors else (TILE_REGISTERS, VECTORS):
        flags += each
        for macro, header in HEADERS[each].items():
            name = f"CPUACC_{macro}_HEADER"
            flags += [f"-U{name}", f'-D{name}="kernels/isa/{header}.h"']
    return flags
