/* SPDX-License-Identifier: MIT */
/* Products of rows with a single column. Lanes hold numbers of a row, as columns would leave all but one empty. */
#pragma once

#include "kernels/epilogue.h"
#include "kernels/sums.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Whether each number's weight fits, and its results are side by side, as the rows of one column are. */
inline bool are_dots(const GemmRows &g) {
  return g.column_count == 1 && g.c_stride == 1 && g.residual_stride == 1 && g.depth >= kLanes &&
         g.taps * g.depth <= kMostDotNumbers;
}

/* Lanes of both, of which those without bit W are sums of two of x, the others of y. */
template <int W>
inline Floats folded_pair(Floats x, Floats y) {
  Ints near{}, far{};
  CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) {
    const int of_y = static_cast<int>(kLanes);
    near[i] = (i & W) == 0 ? i : of_y + i - W;
    far[i] = (i & W) == 0 ? i + W : of_y + i;
  }
  return __builtin_shuffle(x, y, near) + __builtin_shuffle(x, y, far);
}

/* Lane i of the first becomes the sum of the lanes of sums[i]. */
template <int W = static_cast<int>(kLanes) / 2>
CPUACC_INLINE void fold_all(Floats (&sums)[kLanes]) {
  CPUACC_UNROLL for (int i = 0; i < W; ++i) sums[i] = folded_pair<W>(sums[i], sums[i + W]);
  if constexpr (W > 1) fold_all<W / 2>(sums);
}

/* The column, tap by tap. */
inline void copy_column(const GemmRows &g, float *weights) {
  for (int64_t k = 0; k < g.taps * g.depth; ++k) {
    weights[k] = g.has_paired_tail ? g.b[k / 2 * kLanes + k % 2] : g.b[k * kLanes];
  }
}

/* The sums of a register's rows. */
template <typename Rows>
inline Floats dots(const GemmRows &g, Rows rows, const float *weights) {
  const int64_t whole = g.depth / kLanes * kLanes;
  Floats sums[kLanes] = {};
  const auto add = [&](const Rows &a, const float *w, const auto &lanes) __attribute__((always_inline)) {
    const Floats weight = lanes.get(w);
    CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) sums[i] += lanes.get(a.at(i)) * weight;
  };
  for (int64_t t = 0; t < g.taps; ++t, rows.advance(g.tap_step)) {
    Rows at = rows;
    for (int64_t k = 0; k < whole; k += kLanes, weights += kLanes, at.advance(kLanes)) add(at, weights, All{});
    if (whole == g.depth) continue;
    add(at, weights, First{g.depth - whole});
    weights += g.depth - whole;
  }
  fold_all(sums);
  return sums[0];
}

/* The first of fewer rows than a register has lanes, of which the last one is read again and again. */
inline PointedRows<kLanes> some_rows(const float *first, int64_t step, int64_t count) {
  const float *rows[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) rows[i] = first + (i < count ? i : count - 1) * step;
  return PointedRows<kLanes>(rows);
}

template <bool kHasBfloat16>
void dots_of(const GemmRows &g) {
  float weights[kMostDotNumbers];
  float bias[kLanes];
  copy_column(g, weights);
  TileOutput tile = g;
  if (g.bias != nullptr) {
    for (float &number : bias) number = *g.bias;
    tile.bias = bias;
  }
  for (int64_t row = 0; row < g.count; row += kLanes, move_down<kHasBfloat16>(tile, kLanes)) {
    const float *first = g.a + row * g.step;
    const int64_t left = g.count - row;
    Floats all[1][1] = {{left >= kLanes ? dots(g, RowsAtSteps<kLanes>(first, g.step), weights)
                                        : dots(g, some_rows(first, g.step, left), weights)}};
    tile.column_count = static_cast<int32_t>(left < kLanes ? left : kLanes);
    if constexpr (kHasBfloat16) {
      if (tile.rounded_c != nullptr) {
        finish<1, 1, Bfloat16, true>(tile, all);
        continue;
      }
    }
    finish<1, 1, float, kHasBfloat16>(tile, all);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
