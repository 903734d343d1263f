/* SPDX-License-Identifier: MIT */
/* Depthwise convolution by any window: a number is loaded for each product. */
#pragma once

#include "kernels/depthwise/block.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* What taps outside of the image read. */
alignas(64) const uint32_t kZeros[kLanes] = {};

template <typename Number>
inline const Number *zeros_like(const Number *) { return reinterpret_cast<const Number *>(kZeros); }

/* Any window: N outputs side by side. Those at the image's border read zeros where taps are outside;
 * those behind the last output are not stored.
 */
template <int N, bool kIsInside, bool kHasBfloat16, typename Rows, typename Lanes>
inline void any_block(const Rows &d, int64_t y, int64_t x, int64_t c, const Lanes &lanes) {
  const int64_t top = d.top + y * d.stride_y;
  const int64_t left = d.left + x * d.stride_x;
  const Range rows = taps_inside(top, d.dilation_y, d.window_height, d.height);
  const Floats bias = d.bias == nullptr ? Floats{} : lanes.get(d.bias + c);
  const int64_t step = d.stride_x * d.channels;
  Floats sums[N];
  CPUACC_UNROLL for (int b = 0; b < N; ++b) sums[b] = bias;
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const auto *line = d.input + (top + i * d.dilation_y) * d.width * d.channels + c;
    const float *weights = d.weights + i * d.window_width * d.channels + c;
    for (int64_t j = 0; j < d.window_width; ++j) {
      const int64_t first = left + j * d.dilation_x;
      const Floats weight = lanes.get(weights + j * d.channels);
      const auto *pixel = line + first * d.channels;
      CPUACC_UNROLL for (int b = 0; b < N; ++b) {
        const int64_t at = first + b * d.stride_x;
        const bool is_there = kIsInside || (at >= 0 && at < d.width);
        sums[b] += get(lanes, is_there ? pixel + b * step : zeros_like(pixel)) * weight;
      }
    }
  }
  finish(d.function, sums);
  const int64_t count = kIsInside ? N : d.output_width - x;
  const int64_t place = (y * d.output_width + x) * d.channels + c;
  store_outputs<N, kHasBfloat16>(d.output, place, d.channels, count, lanes, sums);
}

template <int N, bool kHasBfloat16, typename Rows, typename Lanes>
inline void any_outputs(const Rows &d, int64_t y, int64_t x, int64_t c, const Lanes &lanes) {
  const int64_t left = d.left + x * d.stride_x;
  const int64_t reach = (N - 1) * d.stride_x + (d.window_width - 1) * d.dilation_x;
  if (x + N <= d.output_width && left >= 0 && left + reach < d.width) {
    any_block<N, true, kHasBfloat16>(d, y, x, c, lanes);
  } else {
    any_block<N, false, kHasBfloat16>(d, y, x, c, lanes);
  }
}

template <bool kHasBfloat16, typename Rows, typename Lanes>
void any_channels(const Rows &d, int64_t c, const Lanes &lanes) {
  for (int64_t y = 0; y < d.count; ++y) {
    int64_t x = 0;
    for (; x + kBlock < d.output_width; x += 2 * kBlock) any_outputs<2 * kBlock, kHasBfloat16>(d, y, x, c, lanes);
    if (x < d.output_width) any_outputs<kBlock, kHasBfloat16>(d, y, x, c, lanes);
  }
}

template <bool kHasBfloat16, typename Rows>
void any(const Rows &d) {
  if (d.channels < kLanes) return any_channels<kHasBfloat16>(d, 0, First{d.channels});
  const int64_t vectors = (d.channels + kLanes - 1) / kLanes;
  for (int64_t v = 0; v < vectors; ++v) any_channels<kHasBfloat16>(d, vector_begin(v, d.channels), All{});
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
