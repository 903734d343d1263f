/* SPDX-License-Identifier: MIT */
/* The int8 gemm tile, which convolutions use as well: one register per vector of sums. */
#include <utility>

#include "kernels/int8/tile.h"

#if defined(__ARM_FEATURE_MATMUL_INT8)
#include "kernels/int8/blocks.h"
#endif

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

#if !defined(__ARM_FEATURE_MATMUL_INT8)

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
      row[v] = fours(load_ints(b + (c * kColumns + v * kLanes) * 4));
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

/* total = bias + sum over taps and depth of A * B; a row of B has four k of all columns. */
template <int R, int V>
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
  const int8_t *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const uint8_t *const *rows = tile.rows + t * tile.rows_stride;
    const uint8_t *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) a[r] = rows[r];
    int64_t k = 0;
    for (; k + 4 * C <= tile.depth; k += 4 * C, b += C * row_bytes) add_steps<R, V, C>(sums, a, b, k, turned);
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

#endif

/* Sums that are stored as they are. */
template <int R, int V>
inline void store_sums(const Int8GemmTile &tile, const Ints (&sums)[R][V]) {
  auto *c = static_cast<int32_t *>(tile.c);
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const int64_t left = tile.column_count - v * kLanes;
    if (left >= kLanes) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        std::memcpy(c + r * tile.c_stride + v * kLanes, &sums[r][v], sizeof(Ints));
      }
    } else if (left > 0) {
      Ints spilled[R]; /* else the lanes that are there are picked out one by one */
      CPUACC_UNROLL for (int r = 0; r < R; ++r) spilled[r] = sums[r][v];
      for (int r = 0; r < R; ++r) {
        std::memcpy(c + r * tile.c_stride + v * kLanes, &spilled[r], static_cast<size_t>(left) * 4);
      }
    }
  }
}

template <int R, int V>
inline void finish(const Int8GemmTile &tile, Ints (&sums)[R][V]) {
  if (tile.b_zero_point != 0) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const Ints off = splat_int(tile.b_zero_point * tile.row_sums[r]);
      CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] -= off;
    }
  }
  if (tile.requantization.scales == nullptr) {
    store_sums<R, V>(tile, sums);
  } else {
    store_rows<R, V>(static_cast<uint8_t *>(tile.c), tile.c_stride, tile.column_count,
                     tile.requantization, sums);
  }
}

template <int R, int V>
void gemm(const Int8GemmTile &tile) {
  Ints sums[R][V];
  sum_products<R, V>(tile, kColumns * 4, sums);
  finish<R, V>(tile, sums);
}

using Gemm = void (*)(const Int8GemmTile &);

template <int V, int... R>
Gemm gemm_of(int rows, std::integer_sequence<int, R...>) {
  static constexpr Gemm kOfRows[] = {gemm<R + 1, V>...};
  return kOfRows[rows - 1];
}

template <int V>
Gemm gemm_of(int rows) {
  return gemm_of<V>(rows, std::make_integer_sequence<int, kRows>{});
}

void gemm_tile(const Int8GemmTile &tile) {
  const bool is_narrow = tile.column_count <= kLanes;
  const Gemm compute =
      is_narrow ? gemm_of<1>(tile.row_count) : gemm_of<kVectors>(tile.row_count);
  compute(tile);
}

}  // namespace

void fill_int8_gemm(Kernels &table) {
  table.int8.rows = kRows;
  table.int8.columns = kColumns;
  table.int8.lanes = static_cast<int32_t>(kLanes);
  table.int8.read_offset[0] = kReadsUnsigned ? 0 : -128;
  table.int8.read_offset[1] = kReadsUnsigned ? 128 : 0;
  table.int8.gemm_tile = gemm_tile;
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
