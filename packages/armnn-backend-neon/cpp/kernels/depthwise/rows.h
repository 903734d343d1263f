/* SPDX-License-Identifier: MIT */
/* Depthwise convolution of channels-last images: a vector holds channels. */
#pragma once

#include "kernels/depthwise/any_window.h"
#include "kernels/depthwise/dense_window.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

template <bool kHasBfloat16, typename Rows>
void depthwise_rows_of(const Rows &d) {
  const int64_t stride = d.dilation_x == 1 ? d.stride_x : 0;
  switch (stride == 1 || stride == 2 ? 2 * d.window_width + stride : 0) {
    case 2 * 3 + 1: return dense<3, 1, kHasBfloat16>(d);
    case 2 * 3 + 2: return dense<3, 2, kHasBfloat16>(d);
    case 2 * 5 + 1: return dense<5, 1, kHasBfloat16>(d);
    case 2 * 5 + 2: return dense<5, 2, kHasBfloat16>(d);
    case 2 * 7 + 1: return dense<7, 1, kHasBfloat16>(d);
    case 2 * 7 + 2: return dense<7, 2, kHasBfloat16>(d);
    case 2 * 9 + 1: return dense<9, 1, kHasBfloat16>(d);
    case 2 * 9 + 2: return dense<9, 2, kHasBfloat16>(d);
    default: return any<kHasBfloat16>(d);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
