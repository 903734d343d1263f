/* SPDX-License-Identifier: MIT */
/* Products of bfloat16 numbers, which are widened by their own instruction. */
#pragma once

#include "kernels/isa/bfloat16_avx512.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* The first n lanes; the others are 0. */
inline Floats load_bfloat16(const Bfloat16 *p, int64_t n) {
  const __m256i halves = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1u), p);
  return reinterpret_cast<Floats>(_mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, halves), 16));
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
