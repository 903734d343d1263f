/* SPDX-License-Identifier: MIT */
/* Products of a few rows with each of many, all along memory: the queries of a decoder's step and the keys of its
 * cache.
 */
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kDotKeys = 4;
constexpr int kDotRows = kRows * kVectors / kDotKeys < 4 ? kRows * kVectors / kDotKeys : 4;

/* Sums of neighbors, each of Width lanes: those of x and of y in turn. */
template <int Width>
CPUACC_INLINE Floats added_neighbors(Floats x, Floats y) {
  Ints first{};
  CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) {
    first[i] = i / (2 * Width) * (2 * Width) + i % Width + i / Width % 2 * static_cast<int>(kLanes);
  }
  return __builtin_shuffle(x, y, first) + __builtin_shuffle(x, y, first + Width);
}

/* The sums of four vectors, in the first lanes. */
CPUACC_INLINE Floats sums_of_four(const Floats (&x)[kDotKeys]) {
  Floats sums = added_neighbors<2>(added_neighbors<1>(x[0], x[1]), added_neighbors<1>(x[2], x[3]));
  if constexpr (kLanes >= 16) sums += rotated<8>(sums);
  if constexpr (kLanes >= 8) sums += rotated<4>(sums);
  return sums;
}

template <int R, int K>
CPUACC_INLINE void dot_tile(const DotRows &d, int64_t row, int64_t key) {
  const float *rows = d.rows + row * d.depth;
  const float *keys = d.keys + key * d.depth;
  Floats sums[R][kDotKeys];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int k = 0; k < kDotKeys; ++k) sums[r][k] = Floats{};
  }
  const auto add = [&](const auto &lanes, int64_t i) {
    Floats of_keys[K];
    CPUACC_UNROLL for (int k = 0; k < K; ++k) of_keys[k] = get(lanes, keys + k * d.depth + i);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const Floats x = get(lanes, rows + r * d.depth + i);
      CPUACC_UNROLL for (int k = 0; k < K; ++k) sums[r][k] += x * of_keys[k];
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= d.depth; i += kLanes) add(All{}, i);
  if (i < d.depth) add(First{d.depth - i}, i);
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    const Floats made = sums_of_four(sums[r]);
    std::memcpy(d.y + (row + r) * d.y_step + key, &made, K * sizeof(float));
  }
}

template <int R>
void dot_keys(const DotRows &d, int64_t row, int64_t first, int64_t last) {
  int64_t key = first;
  for (; key + kDotKeys <= last; key += kDotKeys) dot_tile<R, kDotKeys>(d, row, key);
  for (; key < last; ++key) dot_tile<R, 1>(d, row, key);
}

/* All rows meet some keys while these are in the first cache. */
void dot_rows(const DotRows &d) {
  constexpr int64_t kTogether = 4 * kDotKeys;
  for (int64_t first = 0; first < d.key_count; first += kTogether) {
    const int64_t last = d.key_count - first < kTogether ? d.key_count : first + kTogether;
    int64_t row = 0;
    for (; row + kDotRows <= d.row_count; row += kDotRows) dot_keys<kDotRows>(d, row, first, last);
    for (; row < d.row_count; ++row) dot_keys<1>(d, row, first, last);
  }
}

}  // namespace

void fill_dot_rows(Kernels &table) { table.dot_rows = dot_rows; }

}  // namespace cpuacc::CPUACC_LEVEL
