/* SPDX-License-Identifier: MIT */
/* Rows of an int8 gemm's left side as numbers of 16 bits, for kernels that read these. */
#pragma once

#include <algorithm>

#include "costs/costs.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {

constexpr int64_t kMostTiles = 8; /* of a block of rows */

constexpr int64_t kMostWidenedBytes = 128 * 1024; /* of a block of rows, to stay in the second cache */

inline int64_t fours_of(const WeightLayout &layout) { return ratio_up(layout.depth, 4); }

/* Rows that are widened at a time. */
inline int64_t widened_rows(const WeightLayout &layout, const Int8Kernels &kernels) {
  const int64_t tile_bytes = std::max<int64_t>(1, kernels.rows * fours_of(layout) * 4 * 2);
  return std::clamp<int64_t>(kMostWidenedBytes / tile_bytes, 1, kMostTiles) * kernels.rows;
}

/* The bytes of a block of at most so many widened rows. */
inline size_t widened_bytes(const WeightLayout &layout, const Int8Kernels &kernels, int64_t rows) {
  if (layout.taps > 1) return 0;
  const int64_t numbers = std::min(widened_rows(layout, kernels), rows) * fours_of(layout) * 4;
  return aligned_bytes(static_cast<size_t>(numbers) * sizeof(int16_t));
}

/* Widens the rows of a block, each of one tap, to which their pointers point from then on. Those one behind the other
 * are one row of numbers: what follows a row is multiplied by zeros.
 */
inline void widen_block(const WeightLayout &layout, const Int8Kernels &kernels, bool is_signed, const uint8_t **pointers,
                        int64_t rows, int16_t *to) {
  const int64_t depth = layout.depth;
  for (int64_t row = 0, next; row < rows; row = next) {
    const uint8_t *first = pointers[row];
    for (next = row + 1; next < rows && pointers[next] == first + (next - row) * depth;) ++next;
    const int64_t count = (next - row) * depth;
    kernels.widen(first, to, count, is_signed);
    for (int64_t i = row; i < next; ++i) pointers[i] = reinterpret_cast<const uint8_t *>(to + (i - row) * depth);
    std::fill(to + count, to + ratio_up(count, 4) * 4, int16_t{0});
    to += ratio_up(count, 4) * 4;
  }
}

/* An image whose windows have several taps, widened once for all of them, and a pixel of its padding. */
class WidenedImage {
 public:
  /* Args: count: elements of the image. */
  void prepare(const WeightLayout &layout, const Int8Kernels &kernels, int64_t count) {
    is_there_ = kernels.widen != nullptr && layout.taps > 1;
    count_ = count;
    outside_count_ = fours_of(layout) * 4;
  }

  bool is_there() const { return is_there_; }

  size_t bytes() const { return is_there_ ? image_bytes() + outside_bytes() : 0; }

  void widen(const Frame &frame, const uint8_t *image, bool is_signed, int32_t zero_point, std::byte *room) const {
    auto *numbers = reinterpret_cast<int16_t *>(room);
    std::fill_n(numbers + image_bytes() / sizeof(int16_t), outside_count_, static_cast<int16_t>(zero_point));
    constexpr int64_t kPiece = costs::kChunkElements;
    const double piece_ns = kPiece * costs::kWidenedElements * frame.element_ns();
    frame.for_each(ratio_up(count_, kPiece), piece_ns, [&](int64_t i, int32_t) {
      const int64_t first = i * kPiece;
      frame.kernels.int8.widen(image + first, numbers + first, std::min(kPiece, count_ - first), is_signed);
    });
  }

  static const int16_t *image(const std::byte *room) { return reinterpret_cast<const int16_t *>(room); }
  const int16_t *outside(const std::byte *room) const { return image(room + image_bytes()); }

 private:
  size_t image_bytes() const { return aligned_bytes(static_cast<size_t>(count_) * sizeof(int16_t)); }
  size_t outside_bytes() const { return aligned_bytes(static_cast<size_t>(outside_count_) * sizeof(int16_t)); }

  bool is_there_ = false;
  int64_t count_ = 0;
  int64_t outside_count_ = 0;
};

}  // namespace cpuacc
