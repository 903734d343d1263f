/* SPDX-License-Identifier: MIT */
/* Outputs and residuals of minimal filtering, in memory of either format. */
#pragma once

#include "kernels/functions.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

template <bool kHasBfloat16, typename Lanes>
CPUACC_INLINE void add_residual(const Epilogue &epilogue, int64_t offset, const Lanes &lanes, Floats &sum) {
  if (epilogue.residual != nullptr) sum += lanes.get(epilogue.residual + offset);
  if constexpr (kHasBfloat16) {
    if (epilogue.bfloat16_residual != nullptr) sum += get(lanes, epilogue.bfloat16_residual + offset);
  }
}

template <bool kHasBfloat16, typename Lanes>
CPUACC_INLINE void put_stored(const FloatOutput &to, int64_t offset, const Lanes &lanes, Floats x) {
  if constexpr (kHasBfloat16) {
    if (to.bfloat16 != nullptr) return put(lanes, to.bfloat16 + offset, x);
  }
  lanes.put(to.float32 + offset, x);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
