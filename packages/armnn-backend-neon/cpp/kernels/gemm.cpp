/* SPDX-License-Identifier: MIT */
/* The float32 gemm tile of rows that have a pointer each, as windows of an image have. */
#include "kernels/epilogue.h"
#include "kernels/sums.h"

#include <utility>

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kTwoSums = 4; /* registers of sums, up to which they have a second one */

/* A sum waits for the one before it: with few of them in a row, every other addition may have its own. What fetches
 * is a function of its own: with both in one, the other one takes longer.
 */
template <int R, int V, typename AllSums, bool kHasTwo, bool kFetches = false>
void sum_up(const GemmTile &tile) {
  constexpr int64_t kSteps = AllSums::kSteps;
  constexpr int64_t kNumbers = kSteps * AllSums::kRow;
  AllSums sums, others;
  sums.clear();
  if constexpr (kHasTwo) others.clear();
  prefetch_output<R>(tile);
  Prefetcher ahead(tile.ahead);
  const float *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const PointedRows<R> a(tile.rows + t * tile.rows_stride);
    int64_t k = 0;
    if constexpr (kHasTwo) {
      for (; k + 2 * kSteps <= tile.depth; k += 2 * kSteps, b += 2 * kNumbers) {
        sums.add(a, k, b);
        others.add(a, k + kSteps, b + kNumbers);
      }
    }
    for (; k < tile.depth; k += kSteps, b += kNumbers) {
      if constexpr (kFetches) {
        CPUACC_UNROLL for (int i = 0; i < kSteps; ++i) ahead.fetch();
      }
      sums.add(a, k, b);
    }
  }
  if constexpr (kHasTwo) sums.add(others);
  Floats all[R][V];
  sums.to_registers(all);
  finish<R, V>(tile, all);
}

using Gemm = void (*)(const GemmTile &);

template <int R, int V, typename Kind>
constexpr Gemm kGemmOf = sum_up<R, V, typename Kind::template Of<R, V>, (R * V <= kTwoSums)>;

/* By the number of rows. */
template <int V, typename Kind, int... R>
Gemm gemm_of(const GemmTile &tile, std::integer_sequence<int, R...>) {
  static constexpr Gemm kOfRows[] = {kGemmOf<R + 1, V, Kind>...};
  return kOfRows[tile.row_count - 1];
}

template <int V, typename Kind>
Gemm gemm_of(const GemmTile &tile) {
  if constexpr (kRows * V > kTwoSums) {
    if (tile.ahead != nullptr && tile.row_count == kRows) {
      return sum_up<kRows, V, typename Kind::template Of<kRows, V>, false, true>;
    }
  }
  return gemm_of<V, Kind>(tile, std::make_integer_sequence<int, kRows>{});
}

template <int V>
void gemm(const GemmTile &tile) {
  Gemm compute = nullptr;
  SumsOfNumbers<float>::visit(tile.has_paired_tail, tile.column_count - (V - 1) * kLanes,
                              [&](auto kind) { compute = gemm_of<V, decltype(kind)>(tile); });
  compute(tile);
}

void gemm_tile(const GemmTile &tile) {
  const int64_t vectors = (tile.column_count + kLanes - 1) / kLanes;
  if (vectors == 1) return gemm<1>(tile);
  vectors == 2 ? gemm<2>(tile) : gemm<kVectors>(tile);
}

}  // namespace

void fill_gemm(Kernels &table) {
  table.rows = kRows;
  table.columns = kColumns;
  table.paired_columns = kHasNarrowVectors ? kNarrowLanes : 0;
  table.gemm_tile = gemm_tile;
}

}  // namespace cpuacc::CPUACC_LEVEL
