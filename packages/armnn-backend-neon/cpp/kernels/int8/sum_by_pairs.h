/* SPDX-License-Identifier: MIT */
/* Sums of products of bytes as shorts, two k at a time: of a gemm tile, of windows, and of rows alone.
 *
 * The left side was widened ahead, once for all columns. The weights of both vectors of columns are the two bytes of
 * shorts, so that shifts widen them, once for all rows of a tile.
 */
#pragma once

#include "kernels/int8/dot_traits.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* No instruction multiplies pairs of rows. */
struct RowPairs {
  static constexpr bool kAreThere = false;
};

static_assert(kInt8Vectors == 2, "a short has two bytes");

/* Adds the products of one tap of R rows. */
template <int R, int V>
inline void add_tap(Ints (&sums)[R][V], const int16_t *const (&a)[R], const int8_t *b, int64_t depth) {
  constexpr int64_t kPairBytes = kInt8Columns * 2;
  for (int64_t k = 0; k < depth; k += 4, b += 2 * kPairBytes) {
    CPUACC_UNROLL for (int pair = 0; pair < 2; ++pair) {
      const Shorts both = reinterpret_cast<Shorts>(load_ints(b + pair * kPairBytes));
      Shorts weights[2] = {(both << 8) >> 8, both >> 8};
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const Shorts x = reinterpret_cast<Shorts>(in_order(splat_int(read_four(a[r] + k + 2 * pair))));
        CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = in_order(sums[r][v] + pairs_of_products(x, weights[v]));
      }
    }
  }
}

inline int64_t fours_of(int64_t depth) { return (depth + 3) / 4; }

constexpr bool kFetchesAhead = false;

/* total = bias + sum over taps and depth of A * B; a row of B has four k of all columns. */
template <int R, int V>
inline void sum_products(const Int8GemmTile &tile, int64_t row_bytes, Ints (&total)[R][V]) {
  Ints sums[R][V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Ints bias = load_ints(tile.bias + v * kLanes);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] = bias;
  }
  const int8_t *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t, b += fours_of(tile.depth) * row_bytes) {
    const int16_t *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      a[r] = reinterpret_cast<const int16_t *>(tile.rows[t * tile.rows_stride + r]);
    }
    add_tap<R, V>(sums, a, b, tile.depth);
  }
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) total[r][v] = sums[r][v];
  }
}

/* Vectors of columns as a whole register. */
struct WholeColumns {
  typedef Ints Sum;
  static Ints widened(Ints sum) { return sum; }
};

/* The sums of R outputs, V vectors of columns each. */
template <typename Kind, int R, int V>
inline void sum_windows(const Int8DirectRow &row, int64_t first, Ints (&sums)[R][V]) {
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Ints bias = load_ints(row.bias + v * kLanes);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] = bias;
  }
  const int8_t *b = row.b;
  for (int64_t t = 0; t < row.taps; ++t, b += row.depth * kInt8Columns) {
    const int16_t *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      a[r] = static_cast<const int16_t *>(row.image) + t * row.tap_step + (first + r) * row.step;
    }
    add_tap<R, V>(sums, a, b, row.depth);
  }
}

/* The sums of the lanes are that of the n bytes, which were widened. */
inline Ints add_bytes(Ints sum, const uint8_t *row, int64_t n, Ints) {
  const auto *p = reinterpret_cast<const int16_t *>(row);
  const Shorts ones = Shorts{} + 1;
  int64_t k = 0;
  for (; k + 2 * kLanes <= n; k += 2 * kLanes) {
    sum += pairs_of_products(reinterpret_cast<Shorts>(load_ints(p + k)), ones);
  }
  int32_t rest = 0;
  for (; k < n; ++k) rest += p[k];
  sum[0] += rest;
  return sum;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
