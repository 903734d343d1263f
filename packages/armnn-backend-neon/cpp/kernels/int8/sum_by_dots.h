/* SPDX-License-Identifier: MIT */
/* Sums of an int8 gemm tile: one register per vector of sums, four k at a time. */
#pragma once

#include "kernels/prefetcher.h"
#include "kernels/int8/dot_traits.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* No instruction multiplies pairs of rows. */
struct RowPairs {
  static constexpr bool kAreThere = false;
};

/* The last one to three bytes of a row; weights are zeros where there are none. */
inline int32_t read_rest(const uint8_t *p, int64_t n) {
  uint32_t bytes = p[0];
  if (n > 1) bytes |= static_cast<uint32_t>(p[1]) << 8;
  if (n > 2) bytes |= static_cast<uint32_t>(p[2]) << 16;
  return static_cast<int32_t>(bytes);
}

/* Adds C steps of four k to sums of their own: few rows alone would wait for each other. */
template <int R, int V, int C>
inline void add_steps(Ints (&sums)[C][R][V], const uint8_t *const (&a)[R], const int8_t *b, int64_t k,
                      Ints turned) {
  CPUACC_UNROLL for (int c = 0; c < C; ++c) {
    Fours row[V];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      row[v] = fours(load_ints(b + (c * kInt8Columns + v * kLanes) * 4));
    }
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const Fours x = fours(splat_int(read_four(a[r] + k + 4 * c)) ^ turned);
      CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[c][r][v] = dot(sums[c][r][v], x, row[v]);
    }
  }
}

template <int R, int V>
inline void add_rest(Ints (&sums)[R][V], const uint8_t *const (&a)[R], const int8_t *b, int64_t k,
                     int64_t n, Ints turned) {
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    const Fours x = fours(splat_int(read_rest(a[r] + k, n)) ^ turned);
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      sums[r][v] = dot(sums[r][v], x, fours(load_ints(b + v * kLanes * 4)));
    }
  }
}

constexpr bool kFetchesAhead = true;

/* total = bias + sum over taps and depth of A * B; a row of B has four k of all columns. */
template <int R, int V, bool kFetches = false>
inline void sum_products(const Int8GemmTile &tile, int64_t row_bytes, Ints (&total)[R][V]) {
  constexpr int C = R * V <= 4 ? 4 : 1;
  Ints sums[C][R][V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Ints bias = load_ints(tile.bias + v * kLanes);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      sums[0][r][v] = bias;
      CPUACC_UNROLL for (int c = 1; c < C; ++c) sums[c][r][v] = Ints{};
    }
  }
  const Ints turned = hidden(splat_int(turned_bits(tile.is_signed)));
  [[maybe_unused]] Prefetcher ahead(tile.ahead);
  const int8_t *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const uint8_t *const *rows = tile.rows + t * tile.rows_stride;
    const uint8_t *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) a[r] = rows[r];
    int64_t k = 0;
    for (; k + 4 * C <= tile.depth; k += 4 * C, b += C * row_bytes) {
      if constexpr (kFetches) ahead.fetch();
      add_steps<R, V, C>(sums, a, b, k, turned);
    }
    if constexpr (C > 1) {
      auto &first = reinterpret_cast<Ints(&)[1][R][V]>(sums[0]);
      for (; k + 4 <= tile.depth; k += 4, b += row_bytes) add_steps<R, V, 1>(first, a, b, k, turned);
    }
    if (k < tile.depth) {
      add_rest<R, V>(sums[0], a, b, k, tile.depth - k, turned);
      b += row_bytes;
    }
  }
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      total[r][v] = sums[0][r][v];
      CPUACC_UNROLL for (int c = 1; c < C; ++c) total[r][v] += sums[c][r][v];
    }
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
