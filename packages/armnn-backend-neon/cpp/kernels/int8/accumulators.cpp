/* SPDX-License-Identifier: MIT */
/* Beside the int8 gemm: sums of rows for the zero point of weights, and accumulators dequantised. */
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

inline Floats real_of(Ints sums, Ints whole, Floats scale, Floats shift) {
  return __builtin_convertvector(sums + whole, Floats) * scale + shift;
}

void dequantise_accumulators(const DequantisedAccumulators &as, void *sums, int64_t stride, int64_t rows,
                             int64_t columns) {
  const Floats scale = splat(as.scale);
  for (int64_t r = 0; r < rows; ++r) {
    auto *row = static_cast<int32_t *>(sums) + r * stride;
    int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      const Ints whole = as.whole == nullptr ? Ints{} : load_ints(as.whole + j);
      const Floats shift = as.shift == nullptr ? Floats{} : load(as.shift + j);
      const Floats made = real_of(load_ints(row + j), whole, scale, shift);
      std::memcpy(row + j, &made, sizeof made);
    }
    for (; j < columns; ++j) {
      const int32_t whole = as.whole == nullptr ? 0 : as.whole[j];
      const float shift = as.shift == nullptr ? 0.0f : as.shift[j];
      const float made = static_cast<float>(row[j] + whole) * as.scale + shift;
      std::memcpy(row + j, &made, sizeof made);
    }
  }
}

}  // namespace

void fill_int8_accumulators(Kernels &table) {
  table.int8.sum_rows = sum_rows;
  table.int8.dequantise_accumulators = dequantise_accumulators;
}

}  // namespace cpuacc::CPUACC_LEVEL
