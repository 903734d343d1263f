/* SPDX-License-Identifier: MIT */
/* The way of an int8 gemm's sums to memory. */
#pragma once

#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Sums that are stored as they are. */
template <int R, int V>
inline void store_sums(const Int8GemmTile &tile, const Ints (&sums)[R][V]) {
  auto *c = static_cast<int32_t *>(tile.c);
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const int64_t left = tile.column_count - v * kLanes;
    if (left >= kLanes) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        std::memcpy(c + r * tile.c_stride + v * kLanes, &sums[r][v], sizeof(Ints));
      }
    } else if (left > 0) {
      Ints spilled[R]; /* else the lanes that are there are picked out one by one */
      CPUACC_UNROLL for (int r = 0; r < R; ++r) spilled[r] = sums[r][v];
      for (int r = 0; r < R; ++r) {
        std::memcpy(c + r * tile.c_stride + v * kLanes, &spilled[r], static_cast<size_t>(left) * 4);
      }
    }
  }
}

template <typename Number>
inline Ints load_some(const Number *numbers, int64_t n) {
  if (numbers == nullptr) return Ints{};
  const auto *x = reinterpret_cast<const float *>(numbers);
  return reinterpret_cast<Ints>(n >= kLanes ? load(x) : load_part(x, n));
}

/* Sums become real numbers, in the same registers: the same bits in a tile of any number of rows. */
template <int R, int V>
inline void dequantize(const Int8GemmTile &tile, Ints (&sums)[R][V]) {
  const DequantizedAccumulators &as = *tile.real;
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const int64_t left = tile.column_count - v * kLanes;
    if (left <= 0) return;
    const Ints whole = load_some(as.whole == nullptr ? nullptr : as.whole + v * kLanes, left) * as.whole_factor;
    const Floats scale = as.column_scales == nullptr ? splat(as.scale) : load(as.column_scales + v * kLanes) * as.scale;
    const Ints shift = load_some(as.shift == nullptr ? nullptr : as.shift + v * kLanes, left);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const Floats number = __builtin_convertvector(sums[r][v] + whole, Floats);
      sums[r][v] = reinterpret_cast<Ints>(rounded_product(number, scale) + reinterpret_cast<Floats>(shift));
    }
  }
}

template <int R, int V>
inline void finish(const Int8GemmTile &tile, Ints (&sums)[R][V]) {
  if (tile.b_zero_point != 0) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const Ints off = splat_int(tile.b_zero_point * tile.row_sums[r]);
      CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] -= off;
    }
  }
  if (tile.requantization.scales == nullptr) {
    if (tile.real != nullptr) dequantize<R, V>(tile, sums);
    store_sums<R, V>(tile, sums);
  } else {
    store_rows<R, V>(static_cast<uint8_t *>(tile.c), tile.c_stride, tile.column_count,
                     tile.requantization, sums);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
