/* SPDX-License-Identifier: MIT */
/* The epilogue of a float32 gemm tile: bias, residual and function, then to memory. */
#pragma once

#include "kernels/functions.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* All vectors of a row but the last one are whole. */
template <int V, typename Last, typename Visit>
CPUACC_INLINE void each_vector(const Last &last, const Visit &visit) {
  CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) visit(v, All{});
  visit(V - 1, last);
}

template <int R, int V, typename Last>
CPUACC_INLINE void add_bias_and_residual(const TileOutput &tile, const Last &last, Floats (&sums)[R][V]) {
  if (tile.bias != nullptr) {
    each_vector<V>(last, [&](int v, const auto &lanes) __attribute__((always_inline)) {
      const Floats bias = lanes.get(tile.bias + v * kLanes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] += bias;
    });
  }
  if (tile.residual != nullptr) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const float *residual = tile.residual + r * tile.residual_stride;
      each_vector<V>(last, [&](int v, const auto &lanes) __attribute__((always_inline)) {
        sums[r][v] += lanes.get(residual + v * kLanes);
      });
    }
  }
}

template <int R, int V, typename Last, typename F>
CPUACC_INLINE void store_all(const TileOutput &tile, const Last &last, const Floats (&sums)[R][V],
                             const F &function) {
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    float *row = tile.c + r * tile.c_stride;
    each_vector<V>(last, [&](int v, const auto &lanes) __attribute__((always_inline)) {
      lanes.put(row + v * kLanes, function(sums[r][v]));
    });
  }
}

/* The functions that most networks use stay in registers, the others go through memory. */
template <int R, int V, typename Last>
CPUACC_INLINE void finish_lanes(const TileOutput &tile, const Last &last, Floats (&sums)[R][V]) {
  add_bias_and_residual<R, V>(tile, last, sums);
  const Elementwise &f = tile.function;
  if (!f.is_scaled()) {
    switch (f.function) {
      case Function::identity:
        return store_all<R, V>(tile, last, sums, Known<Function::identity>{f.a, f.b});
      case Function::clamp: return store_all<R, V>(tile, last, sums, Known<Function::clamp>{f.a, f.b});
      case Function::linear: return store_all<R, V>(tile, last, sums, Known<Function::linear>{f.a, f.b});
      case Function::hard_swish:
        return store_all<R, V>(tile, last, sums, Known<Function::hard_swish>{f.a, f.b});
      default: break;
    }
  }
  Floats spilled[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) spilled[r][v] = sums[r][v];
  }
  apply_all(f, &spilled[0][0], R * V);
  store_all<R, V>(tile, last, spilled, Known<Function::linear>{f.scale, f.shift});
}

template <int R, int V>
CPUACC_INLINE void finish(const TileOutput &tile, Floats (&sums)[R][V]) {
  if (tile.column_count == V * kLanes) return finish_lanes<R, V>(tile, All{}, sums);
  finish_lanes<R, V>(tile, First{tile.column_count - (V - 1) * kLanes}, sums);
}

/* Brings what finish() writes to, and adds, into the nearest cache. */
template <int R>
inline void prefetch_output(const TileOutput &tile) {
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    __builtin_prefetch(tile.c + r * tile.c_stride, 1);
    if (tile.residual != nullptr) __builtin_prefetch(tile.residual + r * tile.residual_stride);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
