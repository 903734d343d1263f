/* SPDX-License-Identifier: MIT */
/* Direct convolution along a row of an image: the windows are at equal distances.
 *
 * Few columns leave most lanes of a vector without work. Where the level has narrow vectors, the last
 * columns are computed in one of those.
 */
#pragma once

#include "kernels/epilogue.h"
#include "kernels/tile_shape.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* The sums of R outputs and V vectors of columns, and a narrow one behind them. */
template <int R, int V, bool kNarrow>
inline void sum_windows(const DirectRow &row, int64_t first, Floats (&sums)[R][V + kNarrow]) {
  constexpr int kGroup = 3; /* outputs that are reached from one pointer: at 0, 1 and 2 steps */
  constexpr int kGroups = (R + kGroup - 1) / kGroup;
  Floats whole[R][V == 0 ? 1 : V];
  NarrowFloats narrow[R];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) whole[r][v] = Floats{};
    if constexpr (kNarrow) narrow[r] = NarrowFloats{};
  }
  const int64_t step = row.step;
  const float *b = row.b;
  for (int64_t t = 0; t < row.taps; ++t) {
    const float *a[kGroups];
    CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) {
      a[g] = row.image + t * row.tap_step + (first + g * kGroup) * step;
    }
    for (int64_t k = 0; k < row.depth; ++k, b += kColumns) {
      Floats weights[V == 0 ? 1 : V];
      NarrowFloats narrow_weights{};
      CPUACC_UNROLL for (int v = 0; v < V; ++v) weights[v] = load(b + v * kLanes);
      if constexpr (kNarrow) narrow_weights = load_narrow(b + V * kLanes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const float x = a[r / kGroup][r % kGroup * step];
        CPUACC_UNROLL for (int v = 0; v < V; ++v) whole[r][v] += x * weights[v];
        if constexpr (kNarrow) narrow[r] += x * narrow_weights;
      }
      CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) ++a[g];
    }
  }
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = whole[r][v];
    if constexpr (kNarrow) sums[r][V] = whole_of(narrow[r]);
  }
}

template <bool kHasBfloat16, int R, int V, bool kNarrow>
void outputs(const DirectRow &row, int64_t first) {
  Floats sums[R][V + kNarrow];
  sum_windows<R, V, kNarrow>(row, first, sums);
  TileOutput to = row;
  move_down<kHasBfloat16>(to, first);
  if constexpr (kHasBfloat16) {
    if (to.rounded_c != nullptr) return finish<R, V + kNarrow, Bfloat16, true>(to, sums);
  }
  finish<R, V + kNarrow, float, kHasBfloat16>(to, sums);
}

template <bool kHasBfloat16, int V, bool kNarrow>
void all_outputs(const DirectRow &row) {
  int64_t x = 0;
  for (; x + kRows <= row.count; x += kRows) outputs<kHasBfloat16, kRows, V, kNarrow>(row, x);
  if constexpr (kRows > 8) {
    if (x + 8 <= row.count) outputs<kHasBfloat16, 8, V, kNarrow>(row, x), x += 8;
  }
  if constexpr (kRows > 4) {
    if (x + 4 <= row.count) outputs<kHasBfloat16, 4, V, kNarrow>(row, x), x += 4;
  }
  if (x + 2 <= row.count) outputs<kHasBfloat16, 2, V, kNarrow>(row, x), x += 2;
  if (x < row.count) outputs<kHasBfloat16, 1, V, kNarrow>(row, x);
}

/* Args: kHasBfloat16: whether results may be stored in it, and residuals read. */
template <bool kHasBfloat16>
void direct_row_of(const DirectRow &row) {
  const int64_t whole = row.column_count / kLanes;
  const int64_t rest = row.column_count % kLanes;
  const bool ends_in_narrow = kHasNarrowVectors && rest > 0 && rest <= kNarrowLanes;
  const int64_t vectors = whole + (rest > 0 && !ends_in_narrow ? 1 : 0);
  if constexpr (kHasNarrowVectors) {
    if (ends_in_narrow && vectors == 0) return all_outputs<kHasBfloat16, 0, true>(row);
    if (ends_in_narrow && vectors == 1) return all_outputs<kHasBfloat16, 1, true>(row);
  }
  if (vectors == 1) return all_outputs<kHasBfloat16, 1, false>(row);
  if constexpr (kVectors > 2) {
    if (vectors == 3) return all_outputs<kHasBfloat16, 3, false>(row);
  }
  all_outputs<kHasBfloat16, 2, false>(row);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
