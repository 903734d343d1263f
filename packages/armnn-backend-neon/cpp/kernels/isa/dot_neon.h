/* SPDX-License-Identifier: MIT */
/* Products of signed bytes by NEON of Armv8.0: widening multiplications and pairwise sums. */
#pragma once

#include "kernels/int8/kernels.h"
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of sums: rows, and vectors in each row. */
constexpr int kInt8Rows = 8;
constexpr int kInt8Vectors = 2;
/* Neighbours that a lane of a depthwise convolution multiplies at once. */
constexpr int kInt8Group = 1;

constexpr bool kReadsUnsigned = false;
typedef int8x16_t Fours;

[[maybe_unused]] inline Fours fours(Ints bytes) { return reinterpret_cast<int8x16_t>(bytes); }

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
  const int32x4_t high = vpaddlq_s16(vmull_high_s8(a, b));
  return sum + reinterpret_cast<Ints>(vpaddq_s32(low, high));
}

/* Adds the products of the neighbours in each lane. */
[[maybe_unused]] inline Ints multiply_add(Ints sum, Ints neighbours, Ints weights) {
  return sum + neighbours * weights;
}

/* No narrower registers are worth it. */
struct NarrowColumns {
  static constexpr bool kIsThere = false;
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL

#include "kernels/int8/sum_by_dots.h"
#include "kernels/int8/sum_of_bytes.h"
