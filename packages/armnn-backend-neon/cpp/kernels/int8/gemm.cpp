/* SPDX-License-Identifier: MIT */
/* The int8 gemm tile, which convolutions use as well: one register per vector of sums. */
#include <utility>

#include "kernels/int8/store_sums.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

template <int R, int V>
void gemm(const Int8GemmTile &tile) {
  Ints sums[R][V];
  sum_products<R, V>(tile, kInt8Columns * 4, sums);
  finish<R, V>(tile, sums);
}

/* A function of its own, as in gemm.cpp for floats. */
template <int R, int V>
void fetching_gemm(const Int8GemmTile &tile) {
  if constexpr (kFetchesAhead) {
    Ints sums[R][V];
    sum_products<R, V, true>(tile, kInt8Columns * 4, sums);
    finish<R, V>(tile, sums);
  } else {
    gemm<R, V>(tile);
  }
}

using Gemm = void (*)(const Int8GemmTile &);

template <int V, int... R>
Gemm gemm_of(int rows, std::integer_sequence<int, R...>) {
  static constexpr Gemm kOfRows[] = {gemm<R + 1, V>...};
  return kOfRows[rows - 1];
}

template <int V>
Gemm gemm_of(int rows) {
  return gemm_of<V>(rows, std::make_integer_sequence<int, kInt8Rows>{});
}

void gemm_tile(const Int8GemmTile &tile) {
  if (tile.column_count <= kLanes) return gemm_of<1>(tile.row_count)(tile);
  const bool fetches = tile.ahead != nullptr && tile.row_count == kInt8Rows;
  const Gemm compute = fetches ? fetching_gemm<kInt8Rows, kInt8Vectors> : gemm_of<kInt8Vectors>(tile.row_count);
  compute(tile);
}

/* Fewer rows at a time, so that the weights of several fours stay in registers. */
template <int R, int V, typename Small = SmallWeights>
void small_weights_rows(const Int8GemmTile &tile) {
  Ints sums[R][V];
  Small::template sum_products<R, V>(tile, sums);
  finish<R, V>(tile, sums);
}

template <int V>
void small_weights_of(Int8GemmTile tile) {
  constexpr int kTogether = 3;
  const int64_t size = tile.requantization.scales == nullptr ? 4 : 1;
  for (int32_t left = tile.row_count; left > 0;) {
    const int32_t count = left == 4 ? 2 : left < kTogether ? left : kTogether;
    count == 3 ? small_weights_rows<3, V>(tile) : count == 2 ? small_weights_rows<2, V>(tile) : small_weights_rows<1, V>(tile);
    left -= count;
    tile.rows += count;
    tile.row_sums += tile.row_sums == nullptr ? 0 : count;
    tile.c = static_cast<uint8_t *>(tile.c) + count * tile.c_stride * size;
  }
}

template <typename Small>
void fill_small_weights(Int8Kernels &table) {
  table.small_weights_tile = nullptr;
  table.sum_unsigned_rows = nullptr;
  if constexpr (Small::kAreThere) {
    table.small_weights_tile = [](const Int8GemmTile &tile) {
      tile.column_count <= kLanes ? small_weights_of<1>(tile) : small_weights_of<kInt8Vectors>(tile);
    };
    table.sum_unsigned_rows = [](const Int8GemmTile &tile, int32_t *sums) {
      for (int32_t r = 0; r < tile.row_count; ++r) {
        Ints sum{};
        for (int64_t t = 0; t < tile.taps; ++t) {
          sum = Small::add_bytes(sum, tile.rows[t * tile.rows_stride + r], tile.depth);
        }
        int32_t total = 0;
        for (int64_t lane = 0; lane < kLanes; ++lane) total += sum[lane];
        sums[r] = total;
      }
    };
  }
}

/* R rows times a panel, which the tile names; each is finished by its own scale. A panel of one row is so short that
 * calls would take a tenth of the time.
 */
template <int R, typename Small>
[[gnu::flatten]] inline void gemv_rows(const Int8GemvRow *rows, Int8GemmTile &tile, int64_t column) {
  const bool is_small = Small::kAreThere && tile.small_fours != 0;
  const uint8_t *from[R];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) from[r] = is_small ? rows[r].bytes : rows[r].read;
  tile.rows = from;
  tile.rows_stride = R;
  Ints sums[R][kInt8Vectors];
  if constexpr (Small::kAreThere) {
    if (is_small) Small::template sum_products<R, kInt8Vectors>(tile, sums);
  }
  if (!is_small) sum_products<R, kInt8Vectors>(tile, kInt8Columns * 4, sums);
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    DequantizedAccumulators real = rows[r].real;
    real.whole += column;
    if (real.shift != nullptr) real.shift += column;
    if (real.column_scales != nullptr) real.column_scales += column;
    tile.real = &real;
    tile.row_sums = &rows[r].sum;
    tile.c = rows[r].y + column;
    Ints one[1][kInt8Vectors];
    CPUACC_UNROLL for (int v = 0; v < kInt8Vectors; ++v) one[0][v] = sums[r][v];
    finish<1, kInt8Vectors>(tile, one);
  }
}

/* Panel by panel, each of them for all rows while it is in the first cache. */
template <typename Small>
void gemv_of(const Int8Gemv &g) {
  constexpr int64_t kTogether = 3;
  alignas(64) static constexpr int32_t kNoBias[kInt8Columns] = {};
  Int8GemmTile tile{};
  tile.taps = 1;
  tile.depth = g.depth;
  tile.b_zero_point = g.b_zero_point;
  tile.bias = kNoBias;
  const int8_t *panel = g.panels + g.first / kInt8Columns * g.panel_bytes;
  for (int64_t column = g.first; column < g.last; column += kInt8Columns, panel += g.panel_bytes) {
    const int64_t columns = g.last - column;
    tile.column_count = static_cast<int32_t>(columns < kInt8Columns ? columns : kInt8Columns);
    tile.b = panel;
    if (Small::kAreThere && g.small_offset != 0) {
      const auto *numbers = reinterpret_cast<const int32_t *>(panel + g.small_offset);
      tile.small_fours = numbers[0];
      tile.large_count = numbers[1];
      tile.large_fours = numbers + 2;
      tile.large_weights = panel + g.large_offset;
    }
    for (int64_t i = 0; i < g.count;) {
      const int64_t left = g.count - i;
      const int64_t rows = left == 4 ? 2 : left < kTogether ? left : kTogether;
      rows == 3   ? gemv_rows<3, Small>(g.rows + i, tile, column)
      : rows == 2 ? gemv_rows<2, Small>(g.rows + i, tile, column)
                  : gemv_rows<1, Small>(g.rows + i, tile, column);
      i += rows;
    }
  }
}

/* A vector of bytes at a time; the last one overlaps the one before rather than being cut. */
template <typename T>
void widen_all(const T *bytes, int16_t *numbers, int64_t n) {
  typedef T HalfVector __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));
  typedef int16_t Shorts __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
  constexpr int64_t kTogether = CPUACC_VECTOR_BYTES / 2;
  if (n < kTogether) {
    for (int64_t i = 0; i < n; ++i) numbers[i] = bytes[i];
    return;
  }
  for (int64_t i = 0; i < n; i += kTogether) {
    const int64_t first = i + kTogether <= n ? i : n - kTogether;
    HalfVector half;
    std::memcpy(&half, bytes + first, sizeof half);
    const Shorts whole = __builtin_convertvector(half, Shorts);
    std::memcpy(numbers + first, &whole, sizeof whole);
  }
}

[[maybe_unused]] void widen(const uint8_t *bytes, int16_t *numbers, int64_t n, bool are_signed) {
  are_signed ? widen_all(reinterpret_cast<const int8_t *>(bytes), numbers, n) : widen_all(bytes, numbers, n);
}

}  // namespace

void fill_int8_gemm(Kernels &table) {
  table.int8.rows = kInt8Rows;
  table.int8.columns = kInt8Columns;
  table.int8.lanes = static_cast<int32_t>(kLanes);
  table.int8.read_offset[0] = offset_as_read(false);
  table.int8.read_offset[1] = offset_as_read(true);
  table.int8.widen = kReads == Reads::shorts ? widen : nullptr;
  table.int8.gemm_tile = gemm_tile;
  table.int8.gemv = gemv_of<SmallWeights>;
  fill_small_weights<SmallWeights>(table.int8);
}

}  // namespace cpuacc::CPUACC_LEVEL
