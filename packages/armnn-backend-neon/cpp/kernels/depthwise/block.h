/* SPDX-License-Identifier: MIT */
/* Blocks of outputs of a depthwise convolution, which share what they load: a vector holds channels. */
#pragma once

#include "kernels/functions.h"
#include "kernels/sums.h"
#include "kernels/taps.h"

#include <type_traits>

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kBlock = 4; /* outputs side by side that share their weights, where others are not better */

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

/* R rows of B outputs of a window of W columns, with stride S. An output is a pixel, or several side by side. */
template <int W, int S, int R, int B, int Pixels = 1>
struct BlockOf {
  static constexpr int kWidth = W, kRows = R, kColumns = B, kPixels = Pixels;
  static constexpr int kStride = S; /* between rows */
  static constexpr int kStep = S * Pixels; /* pixels from an output to the next one */
  static constexpr int kLoads = (B - 1) * kStep + W; /* places in a line that its outputs read */
  static constexpr int kReach = kLoads + Pixels - 1; /* pixels from the first to the last one */
  static constexpr int kLines = (R - 1) * S + W; /* of a square window */
};

/* Adds a line of the image to a row of outputs. */
template <typename Block, typename Lanes>
CPUACC_INLINE void add_line(Floats *sums, const Floats *pixels, const float *weights, int64_t step,
                            const Lanes &lanes) {
  CPUACC_UNROLL for (int j = 0; j < Block::kWidth; ++j) {
    const Floats weight = lanes.get(weights + j * step);
    CPUACC_UNROLL for (int b = 0; b < Block::kColumns; ++b) sums[b] += pixels[b * Block::kStep + j] * weight;
  }
}

/* Adds pixel p of line i to all outputs of a square window that read it. */
template <typename Block>
CPUACC_INLINE void add_pixel(Floats *sums, Floats pixel, int i, int p, const Floats *weights) {
  CPUACC_UNROLL for (int b = 0; b < Block::kColumns; ++b) {
    const int j = p - b * Block::kStep;
    if (j < 0 || j >= Block::kWidth) continue;
    CPUACC_UNROLL for (int r = 0; r < Block::kRows; ++r) {
      const int tap = i - r * Block::kStride;
      if (tap < 0 || tap >= Block::kWidth) continue;
      sums[r * Block::kColumns + b] += pixel * weights[tap * Block::kWidth + j];
    }
  }
}

constexpr bool kHasManyRegisters = kTall > 1; /* for sums, and for the weights of a window of 3 x 3 */

/* The sums of a block whose weights stay in registers, so that each pixel is needed only once. A few registers reach
 * all pixels.
 */
template <typename Block, typename Line, typename Lanes>
CPUACC_INLINE void add_small_window(Floats *sums, Line line, int64_t line_step, const float *weights, int64_t step,
                                    const bool *is_there, const bool *is_line_there, const Lanes &lanes) {
  constexpr int kTaps = Block::kWidth * Block::kWidth;
  const RowsAtSteps<kTaps> taps(weights, step);
  Floats window[kTaps];
  CPUACC_UNROLL for (int t = 0; t < kTaps; ++t) window[t] = lanes.get(taps.at(t));
  CPUACC_UNROLL for (int i = 0; i < Block::kLines; ++i, line.advance(line_step)) {
    if (!is_line_there[i]) continue;
    CPUACC_UNROLL for (int p = 0; p < Block::kLoads; ++p) {
      add_pixel<Block>(sums, is_there[p] ? get(lanes, line.at(p)) : Floats{}, i, p, window);
    }
  }
}

/* The same of any window: each line of weights is read again. Args: lines: those of a window that is not square. */
template <typename Block, bool kIsSquare, typename Number, typename Lanes>
CPUACC_INLINE void add_window(Floats *sums, const Number *input, int64_t line_step, int64_t pixel_step,
                              const float *weights, int64_t step, int64_t c, const bool *is_there,
                              const bool *is_line_there, Range lines, const Lanes &lanes) {
  constexpr int W = Block::kWidth;
  Floats pixels[Block::kLoads];
  const auto read = [&](int64_t i) __attribute__((always_inline)) {
    const Number *line = input + i * line_step + c;
    CPUACC_UNROLL for (int p = 0; p < Block::kLoads; ++p) {
      pixels[p] = is_there[p] ? get(lanes, line + p * pixel_step) : Floats{};
    }
  };
  if constexpr (!kIsSquare) {
    for (int64_t i = lines.first; i < lines.last; ++i) {
      read(i);
      add_line<Block>(sums, pixels, weights + i * W * step + c, step, lanes);
    }
  } else {
    CPUACC_UNROLL for (int i = 0; i < Block::kLines; ++i) {
      if (!is_line_there[i]) continue;
      read(i);
      CPUACC_UNROLL for (int r = 0; r < Block::kRows; ++r) {
        const int tap = i - r * Block::kStride;
        if (tap < 0 || tap >= W) continue;
        add_line<Block>(sums + r * Block::kColumns, pixels, weights + tap * W * step + c, step, lanes);
      }
    }
  }
}

/* Outputs in rows y .. y + R - 1, from pixel x on. The window's rows, their dilation and their stride are as its
 * columns if it is square, else any, and R is 1. What does not change with the channels is read once: a store might
 * have written it. Where an output is several pixels, d has the channels of all, and its widths are in pixels.
 */
template <typename Block, bool kIsSquare, bool kIsInside, bool kHasBfloat16, typename Rows, typename Channels>
CPUACC_INLINE void dense_block(const Rows &d, int64_t y, int64_t x, const Channels &channels) {
  using Number = std::remove_cv_t<std::remove_pointer_t<decltype(d.input)>>;
  constexpr int kSums = Block::kRows * Block::kColumns;
  const int64_t left = d.left + x * Block::kStride;
  const int64_t top = d.top + y * d.stride_y;
  bool is_there[Block::kLoads], is_line_there[Block::kLines];
  CPUACC_UNROLL for (int p = 0; p < Block::kLoads; ++p) {
    is_there[p] = kIsInside || (left + p >= 0 && left + p < d.width);
  }
  CPUACC_UNROLL for (int i = 0; i < Block::kLines; ++i) is_line_there[i] = top + i >= 0 && top + i < d.height;
  const Range lines = taps_inside(top, d.dilation_y, d.window_height, d.height);
  const int64_t step = d.channels;
  const int64_t pixel_step = step / Block::kPixels;
  const Number *const input = d.input + (top * d.width + left) * pixel_step;
  const float *const weights = d.weights;
  const float *const bias = d.bias;
  const Stored output = d.output;
  const int64_t line_step = d.width * pixel_step * d.dilation_y;
  const int64_t place = (y * d.output_width + x) * pixel_step;
  const int64_t row_step = d.output_width * pixel_step;
  const int64_t count = kIsInside ? Block::kColumns : d.output_width - x;
  channels.each([&](int64_t c, const auto &lanes) __attribute__((always_inline)) {
    Floats sums[kSums];
    const Floats begin = bias == nullptr ? Floats{} : lanes.get(bias + c);
    CPUACC_UNROLL for (int i = 0; i < kSums; ++i) sums[i] = begin;
    if constexpr (kIsSquare && Block::kWidth == 3 && kHasManyRegisters) {
      const RowsAtSteps<Block::kLoads, Number> line(input + c, pixel_step);
      add_small_window<Block>(sums, line, line_step, weights + c, step, is_there, is_line_there, lanes);
    } else {
      add_window<Block, kIsSquare>(sums, input, line_step, pixel_step, weights, step, c, is_there, is_line_there,
                                   lines, lanes);
    }
    finish(d.function, sums);
    CPUACC_UNROLL for (int r = 0; r < Block::kRows; ++r) {
      store_outputs<Block::kColumns, kHasBfloat16>(output, place + r * row_step + c, step, count, lanes,
                                                   sums + r * Block::kColumns);
    }
  });
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
