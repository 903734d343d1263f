/* SPDX-License-Identifier: MIT */
/* The float32 gemm tile, which convolutions use as well: one register per vector of C. */
#include "kernels/epilogue.h"
#include "kernels/tile_shape.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Where a wide register is computed in two parts, a narrow one takes half the time. */
constexpr bool kSplitsWideVectors = CPUACC_VECTOR_BYTES == 64;

inline Floats load_tail(const float *p, Floats) { return load(p); }
inline NarrowFloats load_tail(const float *p, NarrowFloats) { return load_narrow(p); }
inline Floats whole_of(Floats x) { return x; }

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

  /* Adds element k of each row of a times a row of b. */
  __attribute__((always_inline)) void add(const float *const (&a)[R], int64_t k, const float *b) {
    Floats row[V];
    CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) row[v] = load(b + v * kLanes);
    const Tail last = load_tail(b + (V - 1) * kLanes, Tail{});
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const float x = a[r][k];
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) whole[r][v] += x * row[v];
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

/* A sum waits for the one before it: with few of them in a row, every other k may have its own. */
template <int R, int V, typename Tail, bool kIsPaired>
void sum_up(const GemmTile &tile) {
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
    all[r][V - 1] = whole_of(sums.tail[r]);
  }
  finish<R, V>(tile, all);
}

template <int R, int V, typename Tail>
void gemm(const GemmTile &tile) {
  if constexpr (R * V <= 4) {
    if (!tile.is_in_order) return sum_up<R, V, Tail, true>(tile);
  }
  sum_up<R, V, Tail, false>(tile);
}

using Gemm = void (*)(const GemmTile &);

template <int V, typename Tail, int... R>
Gemm gemm_of(int rows, std::integer_sequence<int, R...>) {
  static constexpr Gemm kOfRows[] = {gemm<R + 1, V, Tail>...};
  return kOfRows[rows - 1];
}

template <int V, typename Tail>
Gemm gemm_of(int rows) {
  return gemm_of<V, Tail>(rows, std::make_integer_sequence<int, kRows>{});
}

template <int V>
Gemm gemm_for(const GemmTile &tile) {
  if constexpr (kSplitsWideVectors) {
    if (tile.column_count - (V - 1) * kLanes <= kNarrowLanes) return gemm_of<V, NarrowFloats>(tile.row_count);
  }
  return gemm_of<V, Floats>(tile.row_count);
}

void gemm_tile(const GemmTile &tile) {
  const int64_t vectors = (tile.column_count + kLanes - 1) / kLanes;
  const Gemm compute = vectors == 1   ? gemm_for<1>(tile)
                          : vectors == 2 ? gemm_for<2>(tile)
                                         : gemm_for<kVectors>(tile);
  compute(tile);
}

}  // namespace

void fill_gemm(Kernels &table) {
  table.rows = kRows;
  table.columns = kColumns;
  table.gemm_tile = gemm_tile;
}

}  // namespace cpuacc::CPUACC_LEVEL
