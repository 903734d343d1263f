/* SPDX-License-Identifier: MIT */
/* Sums of the windows of a direct convolution, four k at a time. */
#pragma once

#include "kernels/int8/dot_traits.h"

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
      a[g] = static_cast<const uint8_t *>(row.image) + t * row.tap_step + (first + g * kGroup) * step;
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

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
