/* SPDX-License-Identifier: MIT */
/* Convolutions whose windows slide over one line of an image: rows of a product at equal distances.
 *
 * Few columns leave most lanes of a vector without work. Where the level has vectors of half the
 * width, the last columns are computed in one of those.
 */
#include "kernels/epilogue.h"
#include "kernels/level.h"
#include "kernels/narrow_vector.h"
#include "kernels/tile_shape.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

/* The sums of R outputs and V vectors of columns, and a half one behind them. */
template <int R, int V, bool kHalf>
inline void sum_windows(const SlidingLine &line, int64_t first, Floats (&sums)[R][V + kHalf]) {
  constexpr int kGroup = 3; /* outputs that are reached from one pointer: at 0, 1 and 2 steps */
  constexpr int kGroups = (R + kGroup - 1) / kGroup;
  Floats whole[R][V == 0 ? 1 : V];
  Half half[R];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) whole[r][v] = Floats{};
    if constexpr (kHalf) half[r] = Half{};
  }
  const int64_t step = line.step;
  const float *b = line.b;
  for (int64_t t = 0; t < line.taps; ++t) {
    const float *a[kGroups];
    CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) {
      a[g] = line.image + t * line.tap_step + (first + g * kGroup) * step;
    }
    for (int64_t k = 0; k < line.depth; ++k, b += kColumns) {
      Floats weights[V == 0 ? 1 : V];
      Half half_weights{};
      CPUACC_UNROLL for (int v = 0; v < V; ++v) weights[v] = load(b + v * kLanes);
      if constexpr (kHalf) half_weights = load_half(b + V * kLanes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const float x = a[r / kGroup][r % kGroup * step];
        CPUACC_UNROLL for (int v = 0; v < V; ++v) whole[r][v] += x * weights[v];
        if constexpr (kHalf) half[r] += x * half_weights;
      }
      CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) ++a[g];
    }
  }
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = whole[r][v];
    if constexpr (kHalf) sums[r][V] = whole_of(half[r]);
  }
}

template <int R, int V, bool kHalf>
void outputs(const SlidingLine &line, int64_t first) {
  Floats sums[R][V + kHalf];
  sum_windows<R, V, kHalf>(line, first, sums);
  TileOutput to = line;
  to.c += first * line.c_stride;
  if (to.residual != nullptr) to.residual += first * line.residual_stride;
  finish<R, V + kHalf>(to, sums);
}

template <int V, bool kHalf>
void all_outputs(const SlidingLine &line) {
  int64_t x = 0;
  for (; x + kRows <= line.count; x += kRows) outputs<kRows, V, kHalf>(line, x);
  if constexpr (kRows > 8) {
    if (x + 8 <= line.count) outputs<8, V, kHalf>(line, x), x += 8;
  }
  if constexpr (kRows > 4) {
    if (x + 4 <= line.count) outputs<4, V, kHalf>(line, x), x += 4;
  }
  if (x + 2 <= line.count) outputs<2, V, kHalf>(line, x), x += 2;
  if (x < line.count) outputs<1, V, kHalf>(line, x);
}

void sliding_line(const SlidingLine &line) {
  const int64_t whole = line.column_count / kLanes;
  const int64_t rest = line.column_count % kLanes;
  const bool ends_in_half = kHasHalves && rest > 0 && rest <= kHalfLanes;
  const int64_t vectors = whole + (rest > 0 && !ends_in_half ? 1 : 0);
  if constexpr (kHasHalves) {
    if (ends_in_half && vectors == 0) return all_outputs<0, true>(line);
    if (ends_in_half && vectors == 1) return all_outputs<1, true>(line);
  }
  if (vectors == 1) return all_outputs<1, false>(line);
  if constexpr (kVectors > 2) {
    if (vectors == 3) return all_outputs<3, false>(line);
  }
  all_outputs<2, false>(line);
}

}  // namespace

void fill_sliding(Kernels &table) { table.sliding_line = sliding_line; }

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
