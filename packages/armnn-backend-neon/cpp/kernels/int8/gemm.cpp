/* SPDX-License-Identifier: MIT */
/* The int8 gemm tile, which convolutions use as well: one register per vector of sums. */
#include <utility>

#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

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
  sum_products<R, V>(tile, kInt8Columns * 4, sums);
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
  return gemm_of<V>(rows, std::make_integer_sequence<int, kInt8Rows>{});
}

void gemm_tile(const Int8GemmTile &tile) {
  const bool is_narrow = tile.column_count <= kLanes;
  const Gemm compute =
      is_narrow ? gemm_of<1>(tile.row_count) : gemm_of<kInt8Vectors>(tile.row_count);
  compute(tile);
}

}  // namespace

void fill_int8_gemm(Kernels &table) {
  table.int8.rows = kInt8Rows;
  table.int8.columns = kInt8Columns;
  table.int8.lanes = static_cast<int32_t>(kLanes);
  table.int8.read_offset[0] = kReadsUnsigned ? 0 : -128;
  table.int8.read_offset[1] = kReadsUnsigned ? 128 : 0;
  table.int8.gemm_tile = gemm_tile;
}

}  // namespace cpuacc::CPUACC_LEVEL
