/* SPDX-License-Identifier: MIT */
/* Rows of which each column has its own scale and shift. */
#pragma once

#include "kernels/functions.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kScaledRows = 4; /* rows that share the loaded scale and shift of a column */

/* A vector of columns of R rows. */
template <int R, bool kHasBfloat16, typename Rows, typename Lanes>
CPUACC_INLINE void scale_columns(const Rows &rows, int64_t offset, int64_t column, const Lanes &lanes) {
  const Floats scale = lanes.get(rows.scale + column);
  const Floats shift = lanes.get(rows.shift + column);
  Floats made[R];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    made[r] = get(lanes, rows.x + offset + r * rows.columns) * scale + shift;
  }
  if (rows.factor != nullptr) {
    const Floats factor = lanes.get(rows.factor + column);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) made[r] = rounded_product(made[r], factor);
  }
  if (rows.addend != nullptr) {
    const Floats addend = lanes.get(rows.addend + column);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) made[r] += addend;
  }
  finish(rows.function, made);
  if constexpr (kHasBfloat16) {
    if (rows.to.bfloat16 != nullptr) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) put(lanes, rows.to.bfloat16 + offset + r * rows.columns, made[r]);
      return;
    }
  }
  CPUACC_UNROLL for (int r = 0; r < R; ++r) lanes.put(rows.to.float32 + offset + r * rows.columns, made[r]);
}

template <int R, bool kHasBfloat16, typename Rows>
void scale_some(const Rows &rows, int64_t row) {
  const int64_t offset = row * rows.columns;
  int64_t c = 0;
  for (; c + kLanes <= rows.columns; c += kLanes) scale_columns<R, kHasBfloat16>(rows, offset + c, c, All{});
  if (c < rows.columns) scale_columns<R, kHasBfloat16>(rows, offset + c, c, First{rows.columns - c});
}

template <bool kHasBfloat16, typename Rows>
void scale_rows_of(const Rows &rows) {
  int64_t row = 0;
  for (; row + kScaledRows <= rows.count; row += kScaledRows) scale_some<kScaledRows, kHasBfloat16>(rows, row);
  for (; row < rows.count; ++row) scale_some<1, kHasBfloat16>(rows, row);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
