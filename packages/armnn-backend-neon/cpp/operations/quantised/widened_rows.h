/* SPDX-License-Identifier: MIT */
/* Rows of an int8 gemm's left side as numbers of 16 bits, for kernels that read these. */
#pragma once

#include <algorithm>

#include "operations/gemm/gemm.h"

namespace cpuacc {

constexpr int64_t kMostTiles = 8; /* of a block of rows */

constexpr int64_t kMostWidenedBytes = 128 * 1024; /* of a block of rows, to stay in the second cache */

inline int64_t fours_of(const WeightLayout &layout) { return ratio_up(layout.depth, 4); }

/* Rows that are widened at a time. */
inline int64_t widened_rows(const WeightLayout &layout, const Int8Kernels &kernels) {
  const int64_t tile_bytes = std::max<int64_t>(1, kernels.rows * layout.taps * fours_of(layout) * 4 * 2);
  return std::clamp<int64_t>(kMostWidenedBytes / tile_bytes, 1, kMostTiles) * kernels.rows;
}

/* Of a block of at most so many rows. */
inline size_t widened_bytes(const WeightLayout &layout, const Int8Kernels &kernels, int64_t rows) {
  const int64_t numbers = std::min(widened_rows(layout, kernels), rows) * layout.taps * fours_of(layout) * 4;
  return aligned_bytes(static_cast<size_t>(numbers) * sizeof(int16_t));
}

/* Widens the rows of a block, to which their pointers point from then on. Pixels side by side are one row of numbers;
 * windows side by side share most taps: a row has that of the row before it at the next tap.
 */
class BlockWidener {
 public:
  BlockWidener(const WeightLayout &layout, const Int8Kernels &kernels, bool is_signed, int16_t *room)
      : layout_(layout), kernels_(kernels), is_signed_(is_signed), to_(room) {}

  void widen(const uint8_t **pointers, int64_t rows) {
    layout_.taps == 1 ? widen_pixels(pointers, rows) : widen_windows(pointers, rows);
  }

 private:
  static constexpr int64_t kMostKnownTaps = 64;

  /* Numbers behind a row are multiplied by zeros. */
  void widen_pixels(const uint8_t **pointers, int64_t rows) {
    const int64_t depth = layout_.depth;
    for (int64_t row = 0, next; row < rows; row = next) {
      const uint8_t *first = pointers[row];
      for (next = row + 1; next < rows && pointers[next] == first + (next - row) * depth;) ++next;
      const int16_t *numbers = widened(first, (next - row) * depth);
      for (int64_t i = row; i < next; ++i) pointers[i] = as_bytes(numbers + (i - row) * depth);
    }
  }

  void widen_windows(const uint8_t **pointers, int64_t rows) {
    const int64_t known_taps = std::min(layout_.taps, kMostKnownTaps);
    for (int64_t row = 0; row < rows; ++row) {
      const uint8_t **tile = pointers + row / kernels_.rows * layout_.taps * kernels_.rows;
      for (int64_t t = 0; t < layout_.taps; ++t) {
        const uint8_t *&place = tile[t * kernels_.rows + row % kernels_.rows];
        const bool is_known = row > 0 && t + 1 < known_taps && bytes_[t + 1] == place;
        const int16_t *numbers = is_known ? numbers_[t + 1] : widened(place, layout_.depth);
        if (t < kMostKnownTaps) {
          bytes_[t] = place;
          numbers_[t] = numbers;
        }
        place = as_bytes(numbers);
      }
    }
  }

  const int16_t *widened(const uint8_t *bytes, int64_t n) {
    int16_t *begin = to_;
    kernels_.widen(bytes, begin, n, is_signed_);
    to_ += ratio_up(n, 4) * 4;
    std::fill(begin + n, to_, int16_t{0});
    return begin;
  }

  static const uint8_t *as_bytes(const int16_t *numbers) { return reinterpret_cast<const uint8_t *>(numbers); }

  const WeightLayout &layout_;
  const Int8Kernels &kernels_;
  bool is_signed_;
  int16_t *to_;
  const uint8_t *bytes_[kMostKnownTaps]; /* of the row before, and of this one up to the tap */
  const int16_t *numbers_[kMostKnownTaps];
};

}  // namespace cpuacc
