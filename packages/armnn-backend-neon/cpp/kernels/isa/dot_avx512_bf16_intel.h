/* SPDX-License-Identifier: MIT */
/* Products of bfloat16 numbers, which are widened by one shuffle.
 *
 * Widening and shifting are two operations of the units that multiply and add on Intel's processors: a depthwise
 * convolution takes 1.7 times as long by them (Emerald Rapids). Zen 5 has other units for them, and models take 1 to
 * 3 % longer by the shuffle.
 */
#pragma once

#include "kernels/isa/bfloat16_avx512.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Each lane has the number of its place in its upper half. */
inline __m512i upper_halves() {
  const __m512i places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_slli_epi32(places, 16);
}

/* The first n lanes; the others are 0. */
inline Floats load_bfloat16(const Bfloat16 *p, int64_t n) {
  const __m256i halves = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1u), p);
  constexpr __mmask32 kUpper = 0xaaaaaaaau;
  return reinterpret_cast<Floats>(
      _mm512_maskz_permutexvar_epi16(kUpper, upper_halves(), _mm512_castsi256_si512(halves)));
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
