/* SPDX-License-Identifier: MIT */
/* The tile registers of AMX: eight, of up to 16 rows of 64 bytes, by number.
 *
 * Inline assembly, as the intrinsics of some compilers take the numbers as letters of their source
 * only, not as parameters of a template.
 */
#pragma once

#include <immintrin.h>

#include "kernels/isa/tile_shapes.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

inline void keep_tile_shapes(TileShapes &to) { asm volatile("sttilecfg %0" : "=m"(to)); }

inline void load_tile_shapes(const TileShapes &shapes) { asm volatile("ldtilecfg %0" ::"m"(shapes)); }

inline void release_tile_registers() { asm volatile("tilerelease"); }

template <int To>
inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(To));
}

/* Args: step: bytes from a row to the next one. */
template <int To>
inline void load_tile(const void *from, int64_t step) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(step), "i"(To) : "memory");
}

template <int From>
inline void store_tile(void *to, int64_t step) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(step), "i"(From) : "memory");
}

/* Copies the first bytes of a row, 1 to 64, and zeros behind them. */
inline void copy_row(uint8_t *to, const uint8_t *from, int64_t bytes) {
  const __mmask64 some = ~__mmask64{0} >> (64 - bytes);
  _mm512_store_si512(to, _mm512_maskz_loadu_epi8(some, from));
}

/* Adds to each sum the products of a row of left, of unsigned bytes, and a column of right. */
template <int Sums, int Left, int Right>
inline void add_unsigned_products() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Left), "i"(Right));
}

template <int Sums, int Left, int Right>
inline void add_signed_products() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Left), "i"(Right));
}

template <int Sums, int Left, int Right>
inline void add_bfloat16_products() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sums), "i"(Left), "i"(Right));
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
