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
