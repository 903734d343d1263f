/* SPDX-License-Identifier: MIT */
/* Products of signed bytes by sdot. */
#pragma once

#include "kernels/isa/bytes_neon.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
  return reinterpret_cast<Ints>(vdotq_s32(reinterpret_cast<int32x4_t>(sum), a, b));
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
