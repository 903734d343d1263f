/* SPDX-License-Identifier: MIT */
/* What becomes of the sums of a tile of a product: bias, residual and function, then to memory. */
#ifndef CPUACC_KERNELS_TILE_OUTPUT_H_
#define CPUACC_KERNELS_TILE_OUTPUT_H_

#include "kernels/functions.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

#if CPUACC_VECTOR_BYTES != 64

/* Where only part of the columns is left. */
template <int R, int V>
inline void finish_part(const TileOutput &tile, Floats (&sums)[R][V]) {
  for (int v = 0; v < V; ++v) {
    const int64_t first = v * kLanes;
    const int64_t left = tile.column_count - first;
    if (left <= 0) break;
    const int64_t n = left < kLanes ? left : kLanes;
    const Floats bias = tile.bias == nullptr ? Floats{} : load_part(tile.bias + first, n);
    for (int r = 0; r < R; ++r) {
      sums[r][v] += bias;
      if (tile.residual != nullptr) {
        sums[r][v] += load_part(tile.residual + r * tile.residual_stride + first, n);
      }
    }
  }
  apply_all(tile.function, &sums[0][0], R * V);
  scale_all(tile.function, &sums[0][0], R * V);
  for (int v = 0; v < V; ++v) {
    const int64_t left = tile.column_count - v * kLanes;
    if (left <= 0) break;
    for (int r = 0; r < R; ++r) {
      store_part(tile.c + r * tile.c_stride + v * kLanes, sums[r][v], left < kLanes ? left : kLanes);
    }
  }
}

#endif

/* Last: what the last vector of columns stands for, All or First; the others are whole. */
template <int R, int V, typename Last>
inline void add_bias_and_residual(const TileOutput &tile, Floats (&sums)[R][V], const Last &last) {
  if (tile.bias != nullptr) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      const float *from = tile.bias + v * kLanes;
      const Floats bias = v + 1 < V ? load(from) : last.get(from);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] += bias;
    }
  }
  if (tile.residual != nullptr) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) {
        const float *from = tile.residual + r * tile.residual_stride + v * kLanes;
        sums[r][v] += v + 1 < V ? load(from) : last.get(from);
      }
    }
  }
}

template <int R, int V, typename F, typename Last>
inline void store_all(const TileOutput &tile, const Floats (&sums)[R][V], const F &function, const Last &last) {
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      float *to = tile.c + r * tile.c_stride + v * kLanes;
      v + 1 < V ? store(to, function(sums[r][v])) : last.put(to, function(sums[r][v]));
    }
  }
}

/* The functions that most networks use stay in registers, the others go through memory. */
template <int R, int V, typename Last>
inline void finish_vectors(const TileOutput &tile, Floats (&sums)[R][V], const Last &last) {
  add_bias_and_residual<R, V>(tile, sums, last);
  const Elementwise &f = tile.function;
  if (!f.is_scaled()) {
    switch (f.function) {
      case Function::identity: return store_all<R, V>(tile, sums, Known<Function::identity>{f.a, f.b}, last);
      case Function::clamp: return store_all<R, V>(tile, sums, Known<Function::clamp>{f.a, f.b}, last);
      case Function::linear: return store_all<R, V>(tile, sums, Known<Function::linear>{f.a, f.b}, last);
      case Function::hard_swish:
        return store_all<R, V>(tile, sums, Known<Function::hard_swish>{f.a, f.b}, last);
      default: break;
    }
  }
  Floats spilled[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) spilled[r][v] = sums[r][v];
  }
  apply_all(f, &spilled[0][0], R * V);
  store_all<R, V>(tile, spilled, Known<Function::linear>{f.scale, f.shift}, last);
}

template <int R, int V>
inline void finish(const TileOutput &tile, Floats (&sums)[R][V]) {
  if (tile.column_count == V * kLanes) return finish_vectors<R, V>(tile, sums, All{});
#if CPUACC_VECTOR_BYTES == 64
  /* Part of a vector is a mask there, not a call. */
  finish_vectors<R, V>(tile, sums, First{tile.column_count - (V - 1) * kLanes});
#else
  Floats spilled[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) spilled[r][v] = sums[r][v];
  }
  finish_part<R, V>(tile, spilled);
#endif
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
}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
