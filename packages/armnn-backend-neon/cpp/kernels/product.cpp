/* SPDX-License-Identifier: MIT */
/* Tiles of products of matrices and of convolutions: one register per vector of C. */
#include "kernels/level.h"
#include "kernels/tile_output.h"

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

template <int R, int V>
void product(const ProductTile &tile) {
  Floats sums[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = Floats{};
  }
  prefetch_output<R>(tile);
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
  finish<R, V>(tile, sums);
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
