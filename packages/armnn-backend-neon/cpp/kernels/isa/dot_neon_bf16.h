/* SPDX-License-Identifier: MIT */
/* Products of bfloat16 numbers summed in float32, by bfdot. */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Two bfloat16 numbers in each lane. */
typedef Ints Pairs;

inline Floats multiply_add(Floats sum, Pairs x, Pairs y) {
  return reinterpret_cast<Floats>(vbfdotq_f32(reinterpret_cast<float32x4_t>(sum),
                                              reinterpret_cast<bfloat16x8_t>(x),
                                              reinterpret_cast<bfloat16x8_t>(y)));
}

/* The first n lanes; the others are 0. */
inline Floats load_bfloat16(const Bfloat16 *p, int64_t n) {
  uint16x4_t halves = vdup_n_u16(0);
  std::memcpy(&halves, p, static_cast<size_t>(n) * sizeof(Bfloat16));
  return reinterpret_cast<Floats>(vshlq_n_u32(vmovl_u16(halves), 16));
}

/* A vector of numbers, rounded, in the lower half of a register. */
inline void store_bfloat16(Bfloat16 *y, Floats x, int64_t n) {
  const bfloat16x4_t rounded = vcvt_bf16_f32(reinterpret_cast<float32x4_t>(x));
  std::memcpy(y, &rounded, static_cast<size_t>(n) * sizeof(Bfloat16));
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
