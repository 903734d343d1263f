/* SPDX-License-Identifier: MIT */
/* Pairs of bfloat16 numbers, by AVX-512 BF16: products summed in float32 by vdpbf16ps, and rounding. */
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

/* A vector of numbers, rounded, in the lower half of a register. */
inline void store_bfloat16(Bfloat16 *y, Floats x, int64_t n) {
  const auto rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x)));
  _mm256_mask_storeu_epi16(y, static_cast<__mmask16>((1u << n) - 1u), rounded);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
