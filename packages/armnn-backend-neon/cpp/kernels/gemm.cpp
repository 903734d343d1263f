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
  static constexpr int kSteps = 1; /* k's of an addition */
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

  __attribute__((always_inline)) Floats whole_at(int r, int v) const { return whole[r][v]; }
  __attribute__((always_inline)) Floats last(int r) const { return whole_of(tail[r]); }
};

/* The two numbers at p, again and again. */
inline Floats load_pairs(const float *p) {
  typedef int64_t Pairs __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
  typedef int64_t UnalignedPair __attribute__((aligned(4), may_alias));
  return reinterpret_cast<Floats>(Pairs{} + *reinterpret_cast<const UnalignedPair *>(p));
}

/* Lane i is the sum of lanes 2 i and 2 i + 1; those of the second half mean nothing. */
inline Floats sums_of_pairs(Floats x) {
  Ints even{};
  CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) even[i] = 2 * i % static_cast<int>(kLanes);
  return __builtin_shuffle(x, even) + __builtin_shuffle(x, even + 1);
}

/* The same with a tail in pairs: a vector has twice its columns, and is multiplied once for two k's. */
template <int R, int V>
struct PairedSums {
  static constexpr int kSteps = 2;
  Sums<R, V, Floats> sums;

  __attribute__((always_inline)) void clear() { sums.clear(); }

  __attribute__((always_inline)) void add(const float *const (&a)[R], int64_t k, const float *b) {
    CPUACC_UNROLL for (int i = 0; i < kSteps; ++i) {
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) {
        const Floats row = load(b + i * kColumns + v * kLanes);
        CPUACC_UNROLL for (int r = 0; r < R; ++r) sums.whole[r][v] += a[r][k + i] * row;
      }
    }
    const Floats last = load(b + (V - 1) * kLanes);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) sums.tail[r] += load_pairs(a[r] + k) * last;
  }

  __attribute__((always_inline)) void add(const PairedSums &other) { sums.add(other.sums); }

  __attribute__((always_inline)) Floats whole_at(int r, int v) const { return sums.whole_at(r, v); }
  __attribute__((always_inline)) Floats last(int r) const { return sums_of_pairs(sums.tail[r]); }
};

constexpr int kTwoSums = 4; /* registers of sums, up to which they have a second one */

/* A sum waits for the one before it: with few of them in a row, every other addition may have its own. What fetches
 * is a function of its own: with both in one, the other one takes longer.
 */
template <int R, int V, typename AllSums, bool kHasTwo, bool kFetches = false>
void sum_up(const GemmTile &tile) {
  constexpr int64_t kSteps = AllSums::kSteps;
  AllSums sums, others;
  sums.clear();
  if constexpr (kHasTwo) others.clear();
  prefetch_output<R>(tile);
  Ahead ahead(tile.ahead);
  const float *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const float *const *rows = tile.rows + t * tile.rows_stride;
    const float *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) a[r] = rows[r];
    int64_t k = 0;
    if constexpr (kHasTwo) {
      for (; k + 2 * kSteps <= tile.depth; k += 2 * kSteps, b += 2 * kSteps * kColumns) {
        sums.add(a, k, b);
        others.add(a, k + kSteps, b + kSteps * kColumns);
      }
    }
    for (; k < tile.depth; k += kSteps, b += kSteps * kColumns) {
      if constexpr (kFetches) {
        CPUACC_UNROLL for (int i = 0; i < kSteps; ++i) ahead.fetch();
      }
      sums.add(a, k, b);
    }
  }
  if constexpr (kHasTwo) sums.add(others);
  Floats all[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) all[r][v] = sums.whole_at(r, v);
    all[r][V - 1] = sums.last(r);
  }
  finish<R, V>(tile, all);
}

template <int R, int V, typename AllSums>
void gemm(const GemmTile &tile) {
  if constexpr (R * V <= kTwoSums) {
    if (!tile.is_in_order) return sum_up<R, V, AllSums, true>(tile);
  }
  sum_up<R, V, AllSums, false>(tile);
}

using Gemm = void (*)(const GemmTile &);

/* By the number of rows. */
template <int V, template <int, int> typename SumsOf, int... R>
Gemm gemm_of(int rows, std::integer_sequence<int, R...>) {
  static constexpr Gemm kOfRows[] = {gemm<R + 1, V, SumsOf<R + 1, V>>...};
  return kOfRows[rows - 1];
}

template <int V, template <int, int> typename SumsOf>
Gemm gemm_of(const GemmTile &tile) {
  if constexpr (kRows * V > kTwoSums) {
    if (tile.ahead != nullptr && tile.row_count == kRows) return sum_up<kRows, V, SumsOf<kRows, V>, false, true>;
  }
  return gemm_of<V, SumsOf>(tile.row_count, std::make_integer_sequence<int, kRows>{});
}

template <int R, int V>
using WholeSums = Sums<R, V, Floats>;

template <int R, int V>
using NarrowSums = Sums<R, V, NarrowFloats>;

template <int V>
Gemm gemm_for(const GemmTile &tile) {
  if constexpr (kHasNarrowVectors) {
    if (tile.has_paired_tail) return gemm_of<V, PairedSums>(tile);
  }
  if constexpr (kSplitsWideVectors) {
    if (tile.column_count - (V - 1) * kLanes <= kNarrowLanes) return gemm_of<V, NarrowSums>(tile);
  }
  return gemm_of<V, WholeSums>(tile);
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
  table.paired_columns = kHasNarrowVectors ? kNarrowLanes : 0;
  table.gemm_tile = gemm_tile;
}

}  // namespace cpuacc::CPUACC_LEVEL
