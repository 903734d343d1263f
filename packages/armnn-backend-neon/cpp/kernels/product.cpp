/* SPDX-License-Identifier: MIT */
/* Tiles of products of matrices and of convolutions: one register per vector of C. */
#include "kernels/functions.h"
#include "kernels/level.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

#if CPUACC_VECTOR_BYTES == 64
constexpr int kRows = 14;
constexpr int kVectors = 2;
#elif CPUACC_VECTOR_BYTES == 32
constexpr int kRows = 6;
constexpr int kVectors = 2;
#elif defined(__aarch64__)
constexpr int kRows = 8;
constexpr int kVectors = 3;
#else
constexpr int kRows = 4;
constexpr int kVectors = 2;
#endif
constexpr int kColumns = kVectors * static_cast<int>(kLanes);

/* Where only part of the columns is left. */
template <int R, int V>
inline void finish_part(const ProductTile &tile, Floats (&sums)[R][V]) {
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

template <int R, int V>
inline void add_bias_and_residual(const ProductTile &tile, Floats (&sums)[R][V]) {
  if (tile.bias != nullptr) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      const Floats bias = load(tile.bias + v * kLanes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] += bias;
    }
  }
  if (tile.residual != nullptr) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) {
        sums[r][v] += load(tile.residual + r * tile.residual_stride + v * kLanes);
      }
    }
  }
}

template <int R, int V, typename F>
inline void store_all(const ProductTile &tile, const Floats (&sums)[R][V], const F &function) {
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      store(tile.c + r * tile.c_stride + v * kLanes, function(sums[r][v]));
    }
  }
}

/* The functions that most networks use stay in registers, the others go through memory. */
template <int R, int V>
inline void finish_whole(const ProductTile &tile, Floats (&sums)[R][V]) {
  add_bias_and_residual<R, V>(tile, sums);
  const Elementwise &f = tile.function;
  if (!f.is_scaled()) {
    switch (f.function) {
      case Function::identity: return store_all<R, V>(tile, sums, Known<Function::identity>{f.a, f.b});
      case Function::clamp: return store_all<R, V>(tile, sums, Known<Function::clamp>{f.a, f.b});
      case Function::linear: return store_all<R, V>(tile, sums, Known<Function::linear>{f.a, f.b});
      case Function::hard_swish: return store_all<R, V>(tile, sums, Known<Function::hard_swish>{f.a, f.b});
      default: break;
    }
  }
  Floats spilled[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) spilled[r][v] = sums[r][v];
  }
  apply_all(f, &spilled[0][0], R * V);
  store_all<R, V>(tile, spilled, Known<Function::linear>{f.scale, f.shift});
}

template <int R, int V>
void product(const ProductTile &tile) {
  Floats sums[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = Floats{};
  }
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    __builtin_prefetch(tile.c + r * tile.c_stride, 1);
    if (tile.residual != nullptr) __builtin_prefetch(tile.residual + r * tile.residual_stride);
  }
  const float *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const float *const *rows = tile.rows + t * tile.rows_stride;
    const float *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) a[r] = rows[r];
    for (int64_t k = 0; k < tile.depth; ++k) {
      Floats line[V];
      CPUACC_UNROLL for (int v = 0; v < V; ++v) line[v] = load(b + v * kLanes);
      b += kColumns;
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const float x = a[r][k];
        CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] += x * line[v];
      }
    }
  }
  if (tile.column_count == V * kLanes) {
    finish_whole<R, V>(tile, sums);
  } else {
    Floats spilled[R][V];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) spilled[r][v] = sums[r][v];
    }
    finish_part<R, V>(tile, spilled);
  }
}

using Product = void (*)(const ProductTile &);

template <int V>
Product product_of(int rows) {
  static_assert(kRows <= 14, "a case for each number of rows");
  switch (rows) {
    case 1: return product<1, V>;
    case 2: return product<2, V>;
    case 3: return product<3, V>;
    case 4: return product<4, V>;
#if CPUACC_VECTOR_BYTES > 16 || defined(__aarch64__)
    case 5: return product<5, V>;
    case 6: return product<6, V>;
#if CPUACC_VECTOR_BYTES == 64 || defined(__aarch64__)
    case 7: return product<7, V>;
    case 8: return product<8, V>;
#if CPUACC_VECTOR_BYTES == 64
    case 9: return product<9, V>;
    case 10: return product<10, V>;
    case 11: return product<11, V>;
    case 12: return product<12, V>;
    case 13: return product<13, V>;
    case 14: return product<14, V>;
#endif
#endif
#endif
    default: return nullptr;
  }
}

void product_tile(const ProductTile &tile) {
  const bool is_narrow = tile.column_count <= kLanes;
  const Product compute =
      is_narrow ? product_of<1>(tile.row_count) : product_of<kVectors>(tile.row_count);
  compute(tile);
}

}  // namespace

void fill_product(Kernels &table) {
  table.rows = kRows;
  table.columns = kColumns;
  table.product_tile = product_tile;
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
