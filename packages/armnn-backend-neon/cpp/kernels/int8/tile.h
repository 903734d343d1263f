/* SPDX-License-Identifier: MIT */
/* Int8 gemm tiles: how many sums fit the registers, and how they are stored.
 *
 * Panels of weights are as wide as a tile for all readers.
 */
#pragma once

#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Stores the sums of R rows as bytes, the rows so far apart; columns: how many of them are there. */
template <int R, int V>
inline void store_rows(uint8_t *c, int64_t stride, int32_t columns, const Requantization &requantization,
                       const Ints (&sums)[R][V]) {
  const Requantizer requantize(requantization);
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Floats scale = load(requantization.scales + v * kLanes);
    const int64_t left = columns - v * kLanes;
    if (left >= kLanes) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        store_bytes(c + r * stride + v * kLanes, requantize(sums[r][v], scale));
      }
    } else if (left > 0) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        store_bytes(c + r * stride + v * kLanes, requantize(sums[r][v], scale), left);
      }
    }
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
