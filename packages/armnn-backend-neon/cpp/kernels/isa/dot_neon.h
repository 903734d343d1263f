/* SPDX-License-Identifier: MIT */
/* Products of signed bytes by NEON of Armv8.0: widening multiplications and pairwise sums. */
#pragma once

#include "kernels/isa/bytes_neon.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
  const int32x4_t high = vpaddlq_s16(vmull_high_s8(a, b));
  return sum + reinterpret_cast<Ints>(vpaddq_s32(low, high));
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL

#include "kernels/int8/sum_by_dots.h"
#include "kernels/int8/sum_of_bytes.h"
#include "kernels/int8/windows_by_dots.h"
