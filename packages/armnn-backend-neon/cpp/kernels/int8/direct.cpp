/* SPDX-License-Identifier: MIT */
/* Direct convolution of bytes along a row of an image. */
#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

template <typename Kind, int R, int V>
void outputs(const Int8DirectRow &row, int64_t first) {
  typename Kind::Sum sums[R][V];
  sum_windows<Kind, R, V>(row, first, sums);
  Ints whole[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) whole[r][v] = Kind::widened(sums[r][v]);
  }
  store_rows<R, V>(row.c + first * row.c_stride, row.c_stride, row.column_count, row.requantization,
                   whole);
}

template <typename Kind, int V>
void all_outputs(const Int8DirectRow &row) {
  int64_t x = 0;
  for (; x + kInt8Rows <= row.count; x += kInt8Rows) outputs<Kind, kInt8Rows, V>(row, x);
  if constexpr (kInt8Rows > 8) {
    if (x + 8 <= row.count) outputs<Kind, 8, V>(row, x), x += 8;
  }
  if constexpr (kInt8Rows > 4) {
    if (x + 4 <= row.count) outputs<Kind, 4, V>(row, x), x += 4;
  }
  if (x + 2 <= row.count) outputs<Kind, 2, V>(row, x), x += 2;
  if (x < row.count) outputs<Kind, 1, V>(row, x);
}

template <typename Narrow>
inline void direct_row_by(const Int8DirectRow &row) {
  if constexpr (Narrow::kIsThere) {
    if (row.column_count <= kLanes / 2) return all_outputs<Narrow, 1>(row);
  }
  row.column_count <= kLanes ? all_outputs<WholeColumns, 1>(row) : all_outputs<WholeColumns, kInt8Vectors>(row);
}

void direct_row(const Int8DirectRow &row) { direct_row_by<NarrowColumns>(row); }

}  // namespace

void fill_int8_direct(Kernels &table) { table.int8.direct_row = direct_row; }

}  // namespace cpuacc::CPUACC_LEVEL
