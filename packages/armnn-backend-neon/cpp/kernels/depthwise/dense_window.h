/* SPDX-License-Identifier: MIT */
/* Depthwise convolution by windows of 3, 5, 7 and 9 columns side by side: neighbouring outputs share what they load. */
#pragma once

#include "kernels/depthwise/block.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kWidestSquare = 5; /* window whose rows share lines of the image */

/* What blocks of B columns of a window of W columns share, as measured: rows of square ones, as registers suffice, and
 * the vectors of channels that a block computes before the next one begins. Many of them read the image in the order
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
  Rows pairs; /* the same with weights for the channels of two pixels */

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

/* Of the next vector: the processor does not fetch weights ahead that are so far apart. */
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
}  // namespace cpuacc::CPUACC_LEVEL
