/* SPDX-License-Identifier: MIT */
/* Products of bfloat16 numbers summed in float32, by vdpbf16ps. */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Two bfloat16 numbers in each lane. */
typedef Ints Pairs;

inline Floats multiply_add(Floats sum, Pairs x, Pairs y) {
  return reinterpret_cast<Floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                   reinterpret_cast<__m512bh>(x),
                                                   reinterpret_cast<__m512bh>(y)));
}

/* The first n lanes; the others are 0. */
inline Floats load_rounded(const Bfloat16 *p, int64_t n) {
  const __m256i halves = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1u), p);
  return reinterpret_cast<Floats>(_mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, halves), 16));
}

/* A vector of numbers, rounded, in the lower half of a register. */
inline void store_rounded(Bfloat16 *y, Floats x, int64_t n) {
  const auto rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x)));
  _mm256_mask_storeu_epi16(y, static_cast<__mmask16>((1u << n) - 1u), rounded);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
