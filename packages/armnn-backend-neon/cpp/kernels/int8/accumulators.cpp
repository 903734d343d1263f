/* SPDX-License-Identifier: MIT */
/* Sums of the rows of an int8 gemm, for the zero point of weights. */
#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

void sum_rows(const Int8GemmTile &tile, int32_t *sums) {
  const Ints turned = splat_int(turned_bits(tile.is_signed));
  for (int32_t r = 0; r < tile.row_count; ++r) {
    Ints sum{};
    for (int64_t t = 0; t < tile.taps; ++t) {
      sum = add_bytes(sum, tile.rows[t * tile.rows_stride + r], tile.depth, turned);
    }
    int32_t total = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane) total += sum[lane];
    sums[r] = total;
  }
}

}  // namespace

void fill_int8_accumulators(Kernels &table) {
  table.int8.sum_rows = sum_rows;
}

}  // namespace cpuacc::CPUACC_LEVEL
