/* SPDX-License-Identifier: MIT */
/* Direct convolution of bytes along a row of an image; see direct.cpp. */
#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Vectors of columns as a whole register. */
struct WholeColumns {
  typedef Ints Sum;
  static Ints loaded(const void *p) { return load_ints(p); }
  static Ints bytes_of(int32_t four, Ints turned) { return splat_int(four) ^ turned; }
  static Ints added(Ints sum, Ints x, Ints weights) { return dot(sum, fours(x), fours(weights)); }
  static Ints widened(Ints sum) { return sum; }
};

/* The sums of R outputs, V vectors of columns each. */
template <typename Kind, int R, int V>
inline void sum_windows(const Int8DirectRow &row, int64_t first, typename Kind::Sum (&sums)[R][V]) {
  typedef typename Kind::Sum Sum;
  constexpr int kGroup = 3; /* outputs that are reached from one pointer: at 0, 1 and 2 steps */
  constexpr int kGroups = (R + kGroup - 1) / kGroup;
  constexpr int64_t kVectorBytes = static_cast<int64_t>(sizeof(Sum));
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Sum bias = Kind::loaded(row.bias + v * kVectorBytes / 4);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] = bias;
  }
  const Sum turned = hidden(turned_bits(row.is_signed) - Sum{});
  const int64_t step = row.step;
  const int8_t *b = row.b;
  for (int64_t t = 0; t < row.taps; ++t) {
    const uint8_t *a[kGroups];
    CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) {
      a[g] = row.image + t * row.tap_step + (first + g * kGroup) * step;
    }
    for (int64_t k = 0; k < row.depth; k += 4, b += kInt8Columns * 4) {
      Sum weights[V];
      CPUACC_UNROLL for (int v = 0; v < V; ++v) weights[v] = Kind::loaded(b + v * kVectorBytes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const Sum x = Kind::bytes_of(read_four(a[r / kGroup] + r % kGroup * step), turned);
        CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = Kind::added(sums[r][v], x, weights[v]);
      }
      CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) a[g] += 4;
    }
  }
}

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
