/* SPDX-License-Identifier: MIT */
/* Depthwise convolution of channels-last images: a vector holds channels. */
#pragma once

#include "kernels/functions.h"
#include "kernels/taps.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kBlock = 4; /* outputs side by side that share their weights */

/* The first count of N outputs side by side. */
template <int N, typename Number, typename Lanes>
CPUACC_INLINE void store_side_by_side(Number *to, int64_t step, int64_t count, const Lanes &lanes, const Floats *sums) {
  CPUACC_UNROLL for (int b = 0; b < N; ++b) {
    if (b < count) put(lanes, to + b * step, sums[b]);
  }
}

template <int N, bool kHasBfloat16, typename Rows, typename Lanes>
CPUACC_INLINE void store_outputs(const Rows &d, int64_t place, int64_t count, const Lanes &lanes, const Floats *sums) {
  if constexpr (kHasBfloat16) {
    if (d.output.rounded != nullptr) {
      return store_side_by_side<N>(d.output.rounded + place, d.channels, count, lanes, sums);
    }
  }
  store_side_by_side<N>(d.output.exact + place, d.channels, count, lanes, sums);
}

/* Outputs y .. y + R - 1 and x .. x + kBlock - 1 of a W x W window with stride S and no dilation.
 * Neighbours share what they load; R is 1 unless S is.
 */
template <int W, int S, int R, bool kIsInside, bool kHasBfloat16, typename Rows, typename Lanes>
inline void dense_block(const Rows &d, int64_t y, int64_t x, int64_t c, const Lanes &lanes) {
  constexpr int kLoads = (kBlock - 1) * S + W;
  const int64_t left = d.left + x * S;
  const Floats bias = d.bias == nullptr ? Floats{} : lanes.get(d.bias + c);
  Floats sums[R * kBlock];
  CPUACC_UNROLL for (int i = 0; i < R * kBlock; ++i) sums[i] = bias;
  CPUACC_UNROLL for (int i = 0; i < W + R - 1; ++i) {
    const int64_t row = d.top + y * S + i;
    if (row < 0 || row >= d.height) continue;
    const auto *line = d.input + (row * d.width + left) * d.channels + c;
    Floats pixels[kLoads];
    CPUACC_UNROLL for (int p = 0; p < kLoads; ++p) {
      const bool is_there = kIsInside || (left + p >= 0 && left + p < d.width);
      pixels[p] = is_there ? get(lanes, line + p * d.channels) : Floats{};
    }
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      if (i - r < 0 || i - r >= W) continue;
      CPUACC_UNROLL for (int j = 0; j < W; ++j) {
        const Floats weight = lanes.get(d.weights + ((i - r) * W + j) * d.channels + c);
        CPUACC_UNROLL for (int b = 0; b < kBlock; ++b) sums[r * kBlock + b] += pixels[b * S + j] * weight;
      }
    }
  }
  finish(d.function, sums);
  const int64_t count = d.output_width - x < kBlock ? d.output_width - x : kBlock;
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    const int64_t place = ((y + r) * d.output_width + x) * d.channels + c;
    store_outputs<kBlock, kHasBfloat16>(d, place, count, lanes, sums + r * kBlock);
  }
}

template <int W, int S, int R, bool kHasBfloat16, typename Rows, typename Lanes>
inline void dense_rows(const Rows &d, int64_t y, int64_t c, const Lanes &lanes) {
  for (int64_t x = 0; x < d.output_width; x += kBlock) {
    const int64_t left = d.left + x * S;
    if (left >= 0 && left + (kBlock - 1) * S + W <= d.width) {
      dense_block<W, S, R, true, kHasBfloat16>(d, y, x, c, lanes);
    } else {
      dense_block<W, S, R, false, kHasBfloat16>(d, y, x, c, lanes);
    }
  }
}

template <int W, int S, bool kHasBfloat16, typename Rows, typename Lanes>
void dense(const Rows &d, int64_t c, const Lanes &lanes) {
  constexpr int kRows = S == 1 ? kTall : 1;
  int64_t y = 0;
  for (; y + kRows <= d.count; y += kRows) dense_rows<W, S, kRows, kHasBfloat16>(d, y, c, lanes);
  for (; y < d.count; ++y) dense_rows<W, S, 1, kHasBfloat16>(d, y, c, lanes);
}

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
  store_outputs<N, kHasBfloat16>(d, (y * d.output_width + x) * d.channels + c, count, lanes, sums);
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
void any(const Rows &d, int64_t c, const Lanes &lanes) {
  for (int64_t y = 0; y < d.count; ++y) {
    int64_t x = 0;
    for (; x + kBlock < d.output_width; x += 2 * kBlock) any_outputs<2 * kBlock, kHasBfloat16>(d, y, x, c, lanes);
    if (x < d.output_width) any_outputs<kBlock, kHasBfloat16>(d, y, x, c, lanes);
  }
}

template <bool kHasBfloat16, typename Rows, typename Lanes>
void channels_at(const Rows &d, int64_t c, const Lanes &lanes) {
  const bool is_dense = d.dilation_x == 1 && d.dilation_y == 1 && d.stride_x == d.stride_y &&
                        d.window_width == d.window_height;
  const int64_t window = is_dense ? d.window_width : 0;
  if (window == 3 && d.stride_x == 1) return dense<3, 1, kHasBfloat16>(d, c, lanes);
  if (window == 3 && d.stride_x == 2) return dense<3, 2, kHasBfloat16>(d, c, lanes);
  if (window == 5 && d.stride_x == 1) return dense<5, 1, kHasBfloat16>(d, c, lanes);
  if (window == 5 && d.stride_x == 2) return dense<5, 2, kHasBfloat16>(d, c, lanes);
  any<kHasBfloat16>(d, c, lanes);
}

/* The last vector of channels overlaps the one before rather than being cut. */
template <bool kHasBfloat16, typename Rows>
void depthwise_rows_of(const Rows &d) {
  if (d.channels < kLanes) return channels_at<kHasBfloat16>(d, 0, First{d.channels});
  for (int64_t c = 0; c < d.channels; c += kLanes) {
    channels_at<kHasBfloat16>(d, c + kLanes <= d.channels ? c : d.channels - kLanes, All{});
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
