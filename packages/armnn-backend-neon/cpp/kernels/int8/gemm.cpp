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

/* A vector of bytes at a time; the last one overlaps the one before rather than being cut. */
template <typename T>
void widen_all(const T *bytes, int16_t *numbers, int64_t n) {
  typedef T HalfVector __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));
  typedef int16_t Numbers __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
  constexpr int64_t kTogether = CPUACC_VECTOR_BYTES / 2;
  if (n < kTogether) {
    for (int64_t i = 0; i < n; ++i) numbers[i] = bytes[i];
    return;
  }
  for (int64_t i = 0; i < n; i += kTogether) {
    const int64_t first = i + kTogether <= n ? i : n - kTogether;
    HalfVector half;
    std::memcpy(&half, bytes + first, sizeof half);
    const Numbers whole = __builtin_convertvector(half, Numbers);
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
  fill_small_weights<SmallWeights>(table.int8);
}

}  // namespace cpuacc::CPUACC_LEVEL
