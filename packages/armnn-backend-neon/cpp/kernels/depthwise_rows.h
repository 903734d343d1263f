/* SPDX-License-Identifier: MIT */
/* Depthwise convolution of channels-last images: a vector holds channels. */
#pragma once

#include "kernels/functions.h"
#include "kernels/taps.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kBlock = 4; /* outputs side by side that share their weights */
constexpr int kWidestSquare = 5; /* window whose rows share lines of the image */

/* What blocks of outputs of a window of W columns with stride S share, as measured: rows of square ones, and columns,
 * of a block, and the vectors of channels that it computes before the next block begins. Many of them read the image
 * in the order of memory, one keeps the weights of a large window near.
 */
template <int W, int S>
struct Blocking {
  static constexpr bool kIsSmall = W == 3;
  static constexpr int kRows = kIsSmall && S == 1 ? kTall * kTall : kTall;
  static constexpr int kColumns = kIsSmall && S == 2 ? kBlock / kTall : kBlock;
  static constexpr int kVectors = kIsSmall ? 8 : 1;
};

/* Where registers suffice. */
constexpr int kWideBlock = kTall == 1 ? kBlock : 7;

/* The first channel of vector v: the last vector of all overlaps the one before rather than being cut. */
inline int64_t vector_begin(int64_t v, int64_t channels) {
  return (v + 1) * kLanes <= channels ? v * kLanes : channels - kLanes;
}

/* Channels of a block: some vectors, one (of which the compiler keeps no addresses in memory), or fewer than a vector
 * has lanes.
 */
struct ManyVectors {
  int64_t first, last, channels;
  template <typename Visit>
  CPUACC_INLINE void each(const Visit &visit) const {
    for (int64_t v = first; v < last; ++v) visit(vector_begin(v, channels), All{});
  }
};

struct OneVector {
  int64_t begin;
  template <typename Visit>
  CPUACC_INLINE void each(const Visit &visit) const { visit(begin, All{}); }
};

struct FewChannels {
  int64_t count;
  template <typename Visit>
  CPUACC_INLINE void each(const Visit &visit) const { visit(0, First{count}); }
};

/* The first count of N outputs side by side. */
template <int N, typename Number, typename Lanes>
CPUACC_INLINE void store_side_by_side(Number *to, int64_t step, int64_t count, const Lanes &lanes, const Floats *sums) {
  CPUACC_UNROLL for (int b = 0; b < N; ++b) {
    if (b < count) put(lanes, to + b * step, sums[b]);
  }
}

template <int N, bool kHasBfloat16, typename Lanes>
CPUACC_INLINE void store_outputs(const Stored &output, int64_t place, int64_t step, int64_t count, const Lanes &lanes,
                                 const Floats *sums) {
  if constexpr (kHasBfloat16) {
    if (output.rounded != nullptr) {
      return store_side_by_side<N>(output.rounded + place, step, count, lanes, sums);
    }
  }
  store_side_by_side<N>(output.exact + place, step, count, lanes, sums);
}

/* Adds a line of the image to the sums of B outputs: W taps at a stride of S. */
template <int W, int S, int B, typename Lanes>
CPUACC_INLINE void add_line(Floats *sums, const Floats *pixels, const float *weights, int64_t step,
                            const Lanes &lanes) {
  CPUACC_UNROLL for (int j = 0; j < W; ++j) {
    const Floats weight = lanes.get(weights + j * step);
    CPUACC_UNROLL for (int b = 0; b < B; ++b) sums[b] += pixels[b * S + j] * weight;
  }
}

/* Outputs y .. y + R - 1 and x .. x + B - 1 of a window of W columns that are side by side, with stride S. Its rows,
 * their dilation and their stride are the same if it is square, else any, and R is 1. Neighbours share what they load.
 * What does not change with the channels is read once: a store might have written it.
 */
template <int W, int S, int R, int B, bool kIsSquare, bool kIsInside, bool kHasBfloat16, typename Rows,
          typename Channels>
CPUACC_INLINE void dense_block(const Rows &d, int64_t y, int64_t x, const Channels &channels) {
  constexpr int kLoads = (B - 1) * S + W;
  constexpr int kLines = (R - 1) * S + W;
  const int64_t left = d.left + x * S;
  const int64_t top = d.top + y * d.stride_y;
  bool is_there[kLoads], is_line_there[kLines];
  CPUACC_UNROLL for (int p = 0; p < kLoads; ++p) is_there[p] = kIsInside || (left + p >= 0 && left + p < d.width);
  CPUACC_UNROLL for (int i = 0; i < kLines; ++i) is_line_there[i] = top + i >= 0 && top + i < d.height;
  const Range taps = taps_inside(top, d.dilation_y, d.window_height, d.height);
  const auto *const input = d.input + (top * d.width + left) * d.channels;
  const float *const weights = d.weights;
  const float *const bias = d.bias;
  const Stored output = d.output;
  const int64_t step = d.channels;
  const int64_t line_step = d.width * step * d.dilation_y;
  const int64_t place = (y * d.output_width + x) * step;
  const int64_t row_step = d.output_width * step;
  const int64_t count = d.output_width - x < B ? d.output_width - x : B;
  channels.each([&](int64_t c, const auto &lanes) __attribute__((always_inline)) {
    Floats sums[R * B];
    const Floats begin = bias == nullptr ? Floats{} : lanes.get(bias + c);
    CPUACC_UNROLL for (int i = 0; i < R * B; ++i) sums[i] = begin;
    Floats pixels[kLoads];
    const auto read = [&](int64_t i) __attribute__((always_inline)) {
      const auto *line = input + i * line_step + c;
      CPUACC_UNROLL for (int p = 0; p < kLoads; ++p) {
        pixels[p] = is_there[p] ? get(lanes, line + p * step) : Floats{};
      }
    };
    if constexpr (!kIsSquare) {
      for (int64_t i = taps.first; i < taps.last; ++i) {
        read(i);
        add_line<W, S, B>(sums, pixels, weights + i * W * step + c, step, lanes);
      }
    } else {
      CPUACC_UNROLL for (int i = 0; i < kLines; ++i) {
        if (!is_line_there[i]) continue;
        read(i);
        CPUACC_UNROLL for (int r = 0; r < R; ++r) {
          const int tap = i - r * S;
          if (tap < 0 || tap >= W) continue;
          add_line<W, S, B>(sums + r * B, pixels, weights + tap * W * step + c, step, lanes);
        }
      }
    }
    finish(d.function, sums);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      store_outputs<B, kHasBfloat16>(output, place + r * row_step + c, step, kIsInside ? B : count, lanes,
                                     sums + r * B);
    }
  });
}

template <int W, int S, int R, int B, bool kIsSquare, bool kHasBfloat16, typename Rows, typename Channels>
void dense_rows(const Rows &d, int64_t y, const Channels &channels) {
  for (int64_t x = 0; x < d.output_width; x += B) {
    const int64_t left = d.left + x * S;
    if (left >= 0 && left + (B - 1) * S + W <= d.width && x + B <= d.output_width) {
      dense_block<W, S, R, B, kIsSquare, true, kHasBfloat16>(d, y, x, channels);
    } else {
      dense_block<W, S, R, B, kIsSquare, false, kHasBfloat16>(d, y, x, channels);
    }
  }
}

/* Rows from y on, R at a time, the rest in half as many; a single one as of any window, which takes as long. */
template <int W, int S, int R, int B, bool kIsSquare, bool kHasBfloat16, typename Rows, typename Channels>
void dense_channels(const Rows &d, int64_t y, const Channels &channels) {
  for (; y + R <= d.count; y += R) dense_rows<W, S, R, B, kIsSquare, kHasBfloat16>(d, y, channels);
  if constexpr (R > 1) dense_channels<W, S, R / 2, B, (R > 2), kHasBfloat16>(d, y, channels);
}

/* Of the next vector: the processor does not fetch weights ahead that are so far apart. */
inline void prefetch_weights(const float *weights, int64_t taps, int64_t step) {
  for (int64_t t = 0; t < taps; ++t) __builtin_prefetch(weights + t * step);
}

template <int W, int S, int B, bool kIsSquare, bool kHasBfloat16, typename Rows>
void dense_by(const Rows &d) {
  constexpr int kRows = kIsSquare ? Blocking<W, S>::kRows : 1;
  constexpr int64_t kVectors = Blocking<W, S>::kVectors;
  if (d.channels < kLanes) {
    return dense_channels<W, S, kRows, B, kIsSquare, kHasBfloat16>(d, 0, FewChannels{d.channels});
  }
  const int64_t vectors = (d.channels + kLanes - 1) / kLanes;
  for (int64_t v = 0; v < vectors; v += kVectors) {
    if (kVectors == 1 || vectors == 1) {
      const float *next = d.weights + vector_begin(v + 1, d.channels);
      if (v + 1 < vectors) prefetch_weights(next, d.window_height * W, d.channels);
      dense_channels<W, S, kRows, B, kIsSquare, kHasBfloat16>(d, 0, OneVector{vector_begin(v, d.channels)});
    } else {
      const int64_t last = v + kVectors < vectors ? v + kVectors : vectors;
      dense_channels<W, S, kRows, B, kIsSquare, kHasBfloat16>(d, 0, ManyVectors{v, last, d.channels});
    }
  }
}

/* Wide blocks where they do not compute many outputs behind the last one: they take 0.87 of the time of an output. */
inline bool prefers_wide_blocks(int64_t width) {
  const auto computed = [&](int64_t block) { return (width + block - 1) / block * block; };
  return 87 * computed(kWideBlock) < 100 * computed(kBlock);
}

template <int W, int S, bool kIsSquare, bool kHasBfloat16, typename Rows>
void dense_as(const Rows &d) {
  if constexpr (W > 3 && S == 1 && kWideBlock != kBlock) {
    if (prefers_wide_blocks(d.output_width)) return dense_by<W, S, kWideBlock, kIsSquare, kHasBfloat16>(d);
  }
  dense_by<W, S, Blocking<W, S>::kColumns, kIsSquare, kHasBfloat16>(d);
}

template <int W, int S, bool kHasBfloat16, typename Rows>
void dense(const Rows &d) {
  if constexpr (W <= kWidestSquare) {
    const bool is_square = d.window_height == W && d.stride_y == S && d.dilation_y == 1;
    if (is_square) return dense_as<W, S, true, kHasBfloat16>(d);
  }
  dense_as<W, S, false, kHasBfloat16>(d);
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
