/* SPDX-License-Identifier: MIT */
/* The gemm tile of bfloat16 numbers in rows that have a pointer each. */
#include "kernels/bfloat16_sums.h"
#include "kernels/epilogue.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Args: Number: the type of the results in memory; kFetches: whether it prefetches the next panel. */
template <typename Number, int R, int V, bool kFetches = false>
void gemm(const GemmTileBfloat16 &tile) {
  Bfloat16Sums<R, V> sums;
  sums.clear();
  prefetch_output<R, Number>(tile);
  Prefetcher ahead(tile.ahead);
  const Bfloat16 *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const PointedRows<R, Bfloat16> a(tile.rows + t * tile.rows_stride);
    int64_t k = 0;
    for (; k + 1 < tile.depth; k += 2, b += 2 * kColumns) {
      if constexpr (kFetches) ahead.fetch();
      sums.add(a, k, b);
    }
    if (k < tile.depth) {
      sums.add_last(a, k, b);
      b += 2 * kColumns;
    }
  }
  Floats all[R][V];
  sums.to_registers(all);
  finish<R, V, Number, true>(tile, all);
}

using Gemm = void (*)(const GemmTileBfloat16 &);

template <typename Number, int V, int... R>
Gemm gemm_of(int rows, std::integer_sequence<int, R...>) {
  static constexpr Gemm kOfRows[] = {gemm<Number, R + 1, V>...};
  return kOfRows[rows - 1];
}

template <typename Number, int V>
Gemm gemm_of(const GemmTileBfloat16 &tile) {
  if (tile.ahead != nullptr && tile.row_count == kRows) return gemm<Number, kRows, V, true>;
  return gemm_of<Number, V>(tile.row_count, std::make_integer_sequence<int, kRows>{});
}

template <typename Number>
Gemm gemm_for(const GemmTileBfloat16 &tile) {
  /* All of its vectors but the last one are whole. */
  const int64_t vectors = (tile.column_count + kLanes - 1) / kLanes;
  return vectors == 1   ? gemm_of<Number, 1>(tile)
         : vectors == 2 ? gemm_of<Number, 2>(tile)
                        : gemm_of<Number, kVectors>(tile);
}

void gemm_tile_bfloat16(const GemmTileBfloat16 &tile) {
  const Gemm compute = tile.bfloat16_c == nullptr ? gemm_for<float>(tile) : gemm_for<Bfloat16>(tile);
  compute(tile);
}

void round_to_bfloat16(const float *x, Bfloat16 *y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_bfloat16(y + i, load(x + i), kLanes);
  if (i < n) store_bfloat16(y + i, load_part(x + i, n - i), n - i);
}

}  // namespace

void fill_gemm_bfloat16(Kernels &table) {
  table.gemm_tile_bfloat16 = gemm_tile_bfloat16;
  table.rows_bfloat16 = kRows;
  table.round_to_bfloat16 = round_to_bfloat16;
}

}  // namespace cpuacc::CPUACC_LEVEL
