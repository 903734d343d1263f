/* SPDX-License-Identifier: MIT */
/* The dot product of bytes where an instruction multiplies two rows with two columns, eight deep.
 *
 * It adds to a block of sums: [row 0 column 0, row 0 column 1, row 1 column 0, row 1 column 1].
 */
#pragma once

#include "kernels/int8/dot_traits.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int64_t kPairDepth = 8;

/* Blocks of two rows and two columns, as above, for sums of other weights. */
struct RowPairs {
  static constexpr bool kAreThere = true;

  /* Two words of each row, side by side. */
  static Ints read(const int32_t *row, const int32_t *next) {
    return reinterpret_cast<Ints>(vcombine_s32(vld1_s32(row), vld1_s32(next)));
  }

  static Ints add(Ints block, Ints rows, Ints columns) {
    return reinterpret_cast<Ints>(vmmlaq_s32(reinterpret_cast<int32x4_t>(block), reinterpret_cast<int8x16_t>(rows),
                                             reinterpret_cast<int8x16_t>(columns)));
  }
};

inline int8x8_t read_eight(const uint8_t *p, int64_t n) {
  if (n >= kPairDepth) return vreinterpret_s8_u8(vld1_u8(p));
  uint64_t bytes = 0;
  std::memcpy(&bytes, p, static_cast<size_t>(n));
  return vcreate_s8(bytes);
}

/* Adds up to eight k. A row of B has four k of each column; two of them, zipped, have eight k of
 * two columns side by side.
 */
template <int P, int V>
inline void add_pairs(int32x4_t (&blocks)[P][2 * V], const uint8_t *const (&a)[2 * P], const int8_t *b,
                      int64_t line, int64_t k, int64_t n, int8x16_t turned) {
  int8x16_t columns[2 * V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const int32x4_t first = vreinterpretq_s32_s8(vld1q_s8(b + v * kLanes * 4));
    const int32x4_t second =
        n > 4 ? vreinterpretq_s32_s8(vld1q_s8(b + line + v * kLanes * 4)) : vdupq_n_s32(0);
    columns[2 * v] = vreinterpretq_s8_s32(vzip1q_s32(first, second));
    columns[2 * v + 1] = vreinterpretq_s8_s32(vzip2q_s32(first, second));
  }
  CPUACC_UNROLL for (int p = 0; p < P; ++p) {
    const int8x16_t read = vcombine_s8(read_eight(a[2 * p] + k, n), read_eight(a[2 * p + 1] + k, n));
    const int8x16_t rows = veorq_s8(read, turned);
    CPUACC_UNROLL for (int q = 0; q < 2 * V; ++q) {
      blocks[p][q] = vmmlaq_s32(blocks[p][q], rows, columns[q]);
    }
  }
}

constexpr bool kFetchesAhead = false;

/* sums = bias + sum over taps and depth of A * B; the last of an odd number of rows is read twice. */
template <int R, int V>
inline void sum_products(const Int8GemmTile &tile, int64_t line, Ints (&sums)[R][V]) {
  constexpr int P = (R + 1) / 2;
  int32x4_t blocks[P][2 * V];
  CPUACC_UNROLL for (int q = 0; q < 2 * V; ++q) {
    const int32x2_t bias = vld1_s32(tile.bias + 2 * q);
    CPUACC_UNROLL for (int p = 0; p < P; ++p) blocks[p][q] = vcombine_s32(bias, bias);
  }
  const int8x16_t turned = vreinterpretq_s8_s32(vdupq_n_s32(turned_bits(tile.is_signed)));
  const int8_t *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const uint8_t *const *rows = tile.rows + t * tile.rows_stride;
    const uint8_t *a[2 * P];
    CPUACC_UNROLL for (int r = 0; r < 2 * P; ++r) a[r] = rows[r < R ? r : R - 1];
    int64_t k = 0;
    for (; k + kPairDepth <= tile.depth; k += kPairDepth, b += 2 * line) {
      add_pairs<P, V>(blocks, a, b, line, k, kPairDepth, turned);
    }
    if (const int64_t n = tile.depth - k; n > 0) {
      add_pairs<P, V>(blocks, a, b, line, k, n, turned);
      b += (n + 3) / 4 * line;
    }
  }
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      const int32x4_t left = blocks[r / 2][2 * v];
      const int32x4_t right = blocks[r / 2][2 * v + 1];
      sums[r][v] = reinterpret_cast<Ints>(
          r % 2 == 0 ? vcombine_s32(vget_low_s32(left), vget_low_s32(right))
                     : vcombine_s32(vget_high_s32(left), vget_high_s32(right)));
    }
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
