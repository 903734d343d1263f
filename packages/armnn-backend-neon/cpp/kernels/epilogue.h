/* SPDX-License-Identifier: MIT */
/* The epilogue of a gemm tile summed in float32: bias, residual and function, then to memory. */
#pragma once

#include "kernels/prefetcher.h"
#include "kernels/functions.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* All vectors of a row but the last one are whole. */
template <int V, typename Last, typename Visit>
CPUACC_INLINE void each_vector(const Last &last, const Visit &visit) {
  CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) visit(v, All{});
  visit(V - 1, last);
}

/* Where a tile is stored and its residual is, by the type of a number. */
CPUACC_INLINE float *output_of(const TileOutput &tile, const float *) { return tile.c; }
[[maybe_unused]] CPUACC_INLINE Bfloat16 *output_of(const TileOutput &tile, const Bfloat16 *) { return tile.bfloat16_c; }
CPUACC_INLINE const float *residual_of(const TileOutput &tile, const float *) { return tile.residual; }
[[maybe_unused]] CPUACC_INLINE const Bfloat16 *residual_of(const TileOutput &tile, const Bfloat16 *) {
  return tile.bfloat16_residual;
}

template <typename Number, int R, int V, typename Last>
CPUACC_INLINE void add_residual(const TileOutput &tile, const Last &last, Floats (&sums)[R][V]) {
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    const Number *residual = residual_of(tile, static_cast<const Number *>(nullptr)) + r * tile.residual_stride;
    each_vector<V>(last, [&](int v, const auto &lanes) __attribute__((always_inline)) {
      sums[r][v] += get(lanes, residual + v * kLanes);
    });
  }
}

template <int R, int V, typename Last>
CPUACC_INLINE void add_bias(const TileOutput &tile, const Last &last, Floats (&sums)[R][V]) {
  each_vector<V>(last, [&](int v, const auto &lanes) __attribute__((always_inline)) {
    const Floats bias = lanes.get(tile.bias + v * kLanes);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] += bias;
  });
}

template <typename Number, int R, int V, typename Last, typename F>
CPUACC_INLINE void store_all(const TileOutput &tile, const Last &last, const Floats (&sums)[R][V],
                             const F &function) {
  /* Not read again behind each store, which might have written them. */
  Number *const first = output_of(tile, static_cast<const Number *>(nullptr));
  const int64_t stride = tile.c_stride;
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    Number *row = first + r * stride;
    each_vector<V>(last, [&](int v, const auto &lanes) __attribute__((always_inline)) {
      put(lanes, row + v * kLanes, function(sums[r][v]));
    });
  }
}

/* The functions that most networks use stay in registers, the others go through memory. */
template <typename Number, int R, int V, typename Last>
CPUACC_INLINE void store_function(const TileOutput &tile, const Last &last, Floats (&sums)[R][V]) {
  const Elementwise &f = tile.function;
  if (!f.is_scaled()) {
    switch (f.function) {
      case Function::identity:
        return store_all<Number>(tile, last, sums, Known<Function::identity>{f.a, f.b});
      case Function::clamp: return store_all<Number>(tile, last, sums, Known<Function::clamp>{f.a, f.b});
      case Function::linear: return store_all<Number>(tile, last, sums, Known<Function::linear>{f.a, f.b});
      case Function::hard_swish:
        return store_all<Number>(tile, last, sums, Known<Function::hard_swish>{f.a, f.b});
      default: break;
    }
  }
  Floats spilled[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) spilled[r][v] = sums[r][v];
  }
  apply_all(f, &spilled[0][0], R * V);
  store_all<Number>(tile, last, spilled, Known<Function::linear>{f.scale, f.shift});
}

template <typename Number, bool kHasBfloat16, int R, int V, typename Last>
CPUACC_INLINE void finish_lanes(const TileOutput &tile, const Last &last, Floats (&sums)[R][V]) {
  if (tile.bias != nullptr) add_bias(tile, last, sums);
  if (tile.residual != nullptr) add_residual<float>(tile, last, sums);
  if constexpr (kHasBfloat16) {
    if (tile.bfloat16_residual != nullptr) add_residual<Bfloat16>(tile, last, sums);
  }
  store_function<Number>(tile, last, sums);
}

/* Args: Number: the type of the results in memory; kHasBfloat16: whether the residual may be in bfloat16. */
template <int R, int V, typename Number = float, bool kHasBfloat16 = false>
CPUACC_INLINE void finish(const TileOutput &tile, Floats (&sums)[R][V]) {
  if (tile.column_count == V * kLanes) return finish_lanes<Number, kHasBfloat16>(tile, All{}, sums);
  finish_lanes<Number, kHasBfloat16>(tile, First{tile.column_count - (V - 1) * kLanes}, sums);
}

/* To the tile that begins so many rows further down. */
template <bool kHasBfloat16>
CPUACC_INLINE void move_down(TileOutput &tile, int64_t rows) {
  if (tile.c != nullptr) tile.c += rows * tile.c_stride;
  if (tile.residual != nullptr) tile.residual += rows * tile.residual_stride;
  if constexpr (kHasBfloat16) {
    if (tile.bfloat16_c != nullptr) tile.bfloat16_c += rows * tile.c_stride;
    if (tile.bfloat16_residual != nullptr) tile.bfloat16_residual += rows * tile.residual_stride;
  }
}

/* Prefetches the memory that finish() writes to, and the residuals that it adds. */
template <int R, typename Number = float>
inline void prefetch_output(const TileOutput &tile) {
  constexpr const Number *kType = nullptr;
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    __builtin_prefetch(output_of(tile, kType) + r * tile.c_stride, 1);
    if (residual_of(tile, kType) != nullptr) __builtin_prefetch(residual_of(tile, kType) + r * tile.residual_stride);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
