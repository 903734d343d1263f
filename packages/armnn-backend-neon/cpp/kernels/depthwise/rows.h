/* SPDX-License-Identifier: MIT */
/* Depthwise convolution of channels-last images: a vector holds channels. */
#pragma once

#include <type_traits>

#include "kernels/functions.h"
#include "kernels/sums.h"
#include "kernels/taps.h"

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
CPUACC_INLINE void store_outputs(const FloatOutput &output, int64_t offset, int64_t step, int64_t count,
                                 const Lanes &lanes, const Floats *sums) {
  if constexpr (kHasBfloat16) {
    if (output.bfloat16 != nullptr) {
      return store_side_by_side<N>(output.bfloat16 + offset, step, count, lanes, sums);
    }
  }
  store_side_by_side<N>(output.float32 + offset, step, count, lanes, sums);
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

/* Adds a window of any size: each line of weights is read again. Args: lines: of a window that is not square. */
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
  const FloatOutput output = d.output;
  const int64_t line_step = d.width * pixel_step * d.dilation_y;
  const int64_t offset = (y * d.output_width + x) * pixel_step;
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
      store_outputs<Block::kColumns, kHasBfloat16>(output, offset + r * row_step + c, step, count, lanes,
                                                   sums + r * Block::kColumns);
    }
  });
}

}  // namespace

/* Depthwise convolution by any window: a number is loaded for each product. */

namespace {

/* The zeros that taps outside of the image read. */
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
  const int64_t offset = (y * d.output_width + x) * d.channels + c;
  store_outputs<N, kHasBfloat16>(d.output, offset, d.channels, count, lanes, sums);
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

/* Depthwise convolution by windows of 3, 5, 7 and 9 columns side by side: neighboring outputs share what they load. */

namespace {

constexpr int kWidestSquare = 5; /* window whose rows share lines of the image */

/* The sizes, as measured, of blocks of B columns for a window of W columns: rows of a square window, as registers
 * suffice, and the vectors of channels that a block computes before the next one begins. Many of them read the image in the order
 * of memory, one keeps the weights of a large window near.
 */
template <int W, int B>
struct Blocking {
  static constexpr bool kIsSmall = W == 3;
  static constexpr int kRows = kIsSmall && B == kBlock ? kTall * kTall : kTall;
  static constexpr int kVectors = kIsSmall ? 8 : 1;
};

/* Whether pixels, and outputs, of a block from output x on are all in the image. */
template <typename Block, typename Rows>
inline bool is_inside(const Rows &d, int64_t x) {
  const int64_t left = d.left + x * Block::kStride;
  return left >= 0 && left + Block::kReach <= d.width && x + Block::kColumns * Block::kPixels <= d.output_width;
}

template <typename Block, bool kIsSquare, bool kHasBfloat16, typename Rows, typename Channels>
void dense_rows(const Rows &d, int64_t y, const Channels &channels) {
  for (int64_t x = 0; x < d.output_width; x += Block::kColumns) {
    if (is_inside<Block>(d, x)) {
      dense_block<Block, kIsSquare, true, kHasBfloat16>(d, y, x, channels);
    } else {
      dense_block<Block, kIsSquare, false, kHasBfloat16>(d, y, x, channels);
    }
  }
}

/* Outputs of one pixel. */
template <typename Rows, typename Channels>
struct Pixels {
  const Rows &d;
  const Channels &channels;

  template <int W, int S, int R, int B, bool kIsSquare, bool kHasBfloat16>
  void compute(int64_t y) const {
    dense_rows<BlockOf<W, S, R, B>, kIsSquare, kHasBfloat16>(d, y, channels);
  }
};

/* Rows from y on, R at a time, the rest in half as many; a single one as of any window, which takes as long. */
template <int W, int S, int R, int B, bool kIsSquare, bool kHasBfloat16, typename Outputs>
void dense_channels(const Outputs &outputs, int64_t y) {
  for (; y + R <= outputs.d.count; y += R) outputs.template compute<W, S, R, B, kIsSquare, kHasBfloat16>(y);
  if constexpr (R > 1) dense_channels<W, S, R / 2, B, (R > 2), kHasBfloat16>(outputs, y);
}

template <int W, int S, int R, int B, bool kIsSquare, bool kHasBfloat16, typename Rows, typename Channels>
void by_pixels(const Rows &d, const Channels &channels) {
  dense_channels<W, S, R, B, kIsSquare, kHasBfloat16>(Pixels<Rows, Channels>{d, channels}, 0);
}

/* Outputs of two pixels, where their channels fill registers that those of one do not. What is at the border is
 * computed pixel by pixel.
 */
template <typename Rows, typename Channels>
struct PairsOfPixels {
  const Rows &d;
  const Channels &channels;
  Rows pairs; /* rows with weights for the channels of two pixels */

  template <int W, int S, int R, int B, bool kIsSquare, bool kHasBfloat16>
  void compute(int64_t y) const {
    using Block = BlockOf<W, S, R, B, 2>;
    const ManyVectors all{0, pairs.channels / kLanes, pairs.channels};
    for (int64_t x = 0; x < d.output_width; x += 2 * B) {
      if (is_inside<Block>(d, x)) {
        dense_block<Block, kIsSquare, true, kHasBfloat16>(pairs, y, x, all);
        continue;
      }
      for (int64_t pixel = x; pixel < x + 2 * B && pixel < d.output_width; pixel += B) {
        dense_block<BlockOf<W, S, R, B>, kIsSquare, false, kHasBfloat16>(d, y, pixel, channels);
      }
    }
  }
};

constexpr int64_t kMostPaired = 3 * kLanes / 2; /* channels: of more, one pixel wastes few lanes */

/* Args: channels: those of a pixel. */
template <int W, int S, int R, bool kHasBfloat16, typename Rows, typename Channels>
void dense_in_pairs(const Rows &d, const Channels &channels) {
  float weights[W * W * 2 * kMostPaired], bias[2 * kMostPaired];
  Rows pairs = d;
  pairs.channels = 2 * d.channels;
  pairs.weights = weights;
  for (int64_t t = 0; t < 2 * W * W; ++t) {
    for (int64_t c = 0; c < d.channels; ++c) weights[t * d.channels + c] = d.weights[t / 2 * d.channels + c];
  }
  if (d.bias != nullptr) {
    pairs.bias = bias;
    for (int64_t c = 0; c < pairs.channels; ++c) bias[c] = d.bias[c % d.channels];
  }
  dense_channels<W, S, R, kBlock, true, kHasBfloat16>(PairsOfPixels<Rows, Channels>{d, channels, pairs}, 0);
}

/* Prefetches the weights of the next vector: they are too far apart for the processor to fetch them by itself. */
inline void prefetch_weights(const float *weights, int64_t taps, int64_t step) {
  for (int64_t t = 0; t < taps; ++t) __builtin_prefetch(weights + t * step);
}

template <int W, int S, int B, bool kIsSquare, bool kHasBfloat16, typename Rows>
void dense_by(const Rows &d) {
  constexpr int kRows = kIsSquare ? Blocking<W, B>::kRows : 1;
  constexpr int64_t kVectors = Blocking<W, B>::kVectors;
  const int64_t vectors = (d.channels + kLanes - 1) / kLanes;
  for (int64_t v = 0; v < vectors; v += kVectors) {
    if (kVectors == 1 || vectors == 1) {
      const float *next = d.weights + vector_begin(v + 1, d.channels);
      if (v + 1 < vectors) prefetch_weights(next, d.window_height * W, d.channels);
      by_pixels<W, S, kRows, B, kIsSquare, kHasBfloat16>(d, OneVector{vector_begin(v, d.channels)});
    } else {
      const int64_t last = v + kVectors < vectors ? v + kVectors : vectors;
      by_pixels<W, S, kRows, B, kIsSquare, kHasBfloat16>(d, ManyVectors{v, last, d.channels});
    }
  }
}

/* The columns of the blocks that take least: those of 6 and 7 compute more outputs behind the last one, or fewer. Of
 * windows larger than 3 an output takes 0.88 and 0.87 of the time in them.
 */
template <int W>
inline int fastest_block(int64_t width) {
  const auto time = [&](int64_t block, int64_t percent) { return percent * ((width + block - 1) / block * block); };
  const int64_t narrow = time(kBlock, 100), seven = time(7, W == 3 ? 100 : 87);
  if (W > 3 && time(6, 88) < narrow && time(6, 88) < seven) return 6;
  return seven < narrow ? 7 : kBlock;
}

template <int W, int S, bool kIsSquare, bool kHasBfloat16, typename Rows>
void dense_as(const Rows &d) {
  constexpr int kRows = kIsSquare ? Blocking<W, kBlock>::kRows : 1;
  const FewChannels few{d.channels};
  if constexpr (kIsSquare && W == 3 && S == 1 && kLanes == 16) { /* for shorter vectors, such channels are rare */
    if (d.channels == kLanes / 2) return dense_in_pairs<W, S, kRows, kHasBfloat16>(d, few);
    if (d.channels == kMostPaired) return dense_in_pairs<W, S, kRows, kHasBfloat16>(d, ManyVectors{0, 2, d.channels});
  }
  if (d.channels < kLanes) return by_pixels<W, S, kRows, kBlock, kIsSquare, kHasBfloat16>(d, few);
  if constexpr (kTall > 1 && (W == 3 ? kIsSquare : S == 1)) {
    const int block = fastest_block<W>(d.output_width);
    if (block == 7) return dense_by<W, S, 7, kIsSquare, kHasBfloat16>(d);
    if constexpr (W > 3) {
      if (block == 6) return dense_by<W, S, 6, kIsSquare, kHasBfloat16>(d);
    }
  }
  dense_by<W, S, kBlock, kIsSquare, kHasBfloat16>(d);
}

template <int W, int S, bool kHasBfloat16, typename Rows>
void dense(const Rows &d) {
  if constexpr (W <= kWidestSquare) {
    const bool is_square = d.window_height == W && d.stride_y == S && d.dilation_y == 1;
    if (is_square) return dense_as<W, S, true, kHasBfloat16>(d);
  }
  dense_as<W, S, false, kHasBfloat16>(d);
}

}  // namespace

/* Depthwise convolution of channels-last images: a vector holds channels. */

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
