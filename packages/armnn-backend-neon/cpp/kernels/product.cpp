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

#if CPUACC_VECTOR_BYTES == 64
/* Where wide registers are computed as two halves, a half takes half the time. */
typedef float Half __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));
typedef float UnalignedHalf __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2), aligned(4), may_alias));
constexpr int64_t kHalfLanes = kLanes / 2;

inline Half load_tail(const float *p, Half) { return *reinterpret_cast<const UnalignedHalf *>(p); }
inline Floats widened(Half x) {
  return __builtin_shufflevector(x, Half{}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
#endif

inline Floats load_tail(const float *p, Floats) { return load(p); }
inline Floats widened(Floats x) { return x; }

/* Rows of sums: whole vectors, then the last one. */
template <int R, int V, typename Tail>
struct Sums {
  Floats whole[R][V > 1 ? V - 1 : 1];
  Tail tail[R];

  __attribute__((always_inline)) void clear() {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) whole[r][v] = Floats{};
      tail[r] = Tail{};
    }
  }

  /* Adds element k of each row of a times a line of b. */
  __attribute__((always_inline)) void add(const float *const (&a)[R], int64_t k, const float *b) {
    Floats line[V];
    CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) line[v] = load(b + v * kLanes);
    const Tail last = load_tail(b + (V - 1) * kLanes, Tail{});
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const float x = a[r][k];
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) whole[r][v] += x * line[v];
      tail[r] += x * last;
    }
  }

  __attribute__((always_inline)) void add(const Sums &other) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) whole[r][v] += other.whole[r][v];
      tail[r] += other.tail[r];
    }
  }
};

template <int R, int V, typename Tail>
void product(const ProductTile &tile) {
  /* A sum waits for the one before it: with few of them in a line, every other k has its own. */
  constexpr bool kIsPaired = R * V <= 4;
  Sums<R, V, Tail> sums, odd;
  sums.clear();
  if constexpr (kIsPaired) odd.clear();
  prefetch_output<R>(tile);
  const float *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const float *const *rows = tile.rows + t * tile.rows_stride;
    const float *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) a[r] = rows[r];
    int64_t k = 0;
    if constexpr (kIsPaired) {
      for (; k + 2 <= tile.depth; k += 2, b += 2 * kColumns) {
        sums.add(a, k, b);
        odd.add(a, k + 1, b + kColumns);
      }
    }
    for (; k < tile.depth; ++k, b += kColumns) sums.add(a, k, b);
  }
  if constexpr (kIsPaired) sums.add(odd);
  Floats all[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) all[r][v] = sums.whole[r][v];
    all[r][V - 1] = widened(sums.tail[r]);
  }
  finish<R, V>(tile, all);
}

using Product = void (*)(const ProductTile &);

template <int V, typename Tail>
Product product_of(int rows) {
  static_assert(kRows <= 14, "a case for each number of rows");
  switch (rows) {
    case 1: return product<1, V, Tail>;
    case 2: return product<2, V, Tail>;
    case 3: return product<3, V, Tail>;
    case 4: return product<4, V, Tail>;
#if CPUACC_VECTOR_BYTES > 16 || defined(__aarch64__)
    case 5: return product<5, V, Tail>;
    case 6: return product<6, V, Tail>;
#if CPUACC_VECTOR_BYTES == 64 || defined(__aarch64__)
    case 7: return product<7, V, Tail>;
    case 8: return product<8, V, Tail>;
#if CPUACC_VECTOR_BYTES == 64
    case 9: return product<9, V, Tail>;
    case 10: return product<10, V, Tail>;
    case 11: return product<11, V, Tail>;
    case 12: return product<12, V, Tail>;
    case 13: return product<13, V, Tail>;
    case 14: return product<14, V, Tail>;
#endif
#endif
#endif
    default: return nullptr;
  }
}

template <int V>
Product product_for(const ProductTile &tile) {
#if CPUACC_VECTOR_BYTES == 64
  if (tile.column_count - (V - 1) * kLanes <= kHalfLanes) return product_of<V, Half>(tile.row_count);
#endif
  return product_of<V, Floats>(tile.row_count);
}

void product_tile(const ProductTile &tile) {
  const int64_t vectors = (tile.column_count + kLanes - 1) / kLanes;
  const Product compute = vectors == 1   ? product_for<1>(tile)
                          : vectors == 2 ? product_for<2>(tile)
                                         : product_for<kVectors>(tile);
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
