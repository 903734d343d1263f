/* SPDX-License-Identifier: MIT */
/* The sums of a float32 gemm tile: one register per vector of C. */
#pragma once

#include "kernels/tile_shape.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Where a wide register is computed in two parts, a narrow one takes half the time. */
constexpr bool kSplitsWideVectors = CPUACC_VECTOR_BYTES == 64;

inline Floats load_tail(const float *p, Floats) { return load(p); }
inline NarrowFloats load_tail(const float *p, NarrowFloats) { return load_narrow(p); }
inline Floats whole_of(Floats x) { return x; }

/* Rows of A, each behind a pointer of its own. */
template <int R, typename Number = float>
class PointedRows {
 public:
  CPUACC_INLINE explicit PointedRows(const Number *const *rows) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) rows_[r] = rows[r];
  }
  CPUACC_INLINE const Number *at(int r) const { return rows_[r]; }
  CPUACC_INLINE void advance(int64_t k) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) rows_[r] += k;
  }

 private:
  const Number *rows_[R];
};

/* Rows of A at equal distances. Three are reached from one pointer, at 0, 1 and 2 steps: registers suffice. */
template <int R, typename Number = float>
class RowsAtSteps {
 public:
  CPUACC_INLINE RowsAtSteps(const Number *first, int64_t step) : step_(step) {
    CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) groups_[g] = first + g * kGroup * step;
  }
  CPUACC_INLINE const Number *at(int r) const { return groups_[r / kGroup] + r % kGroup * step_; }
  CPUACC_INLINE void advance(int64_t k) {
    CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) groups_[g] += k;
  }

 private:
  static constexpr int kGroup = 3;
  static constexpr int kGroups = (R + kGroup - 1) / kGroup;
  const Number *groups_[kGroups];
  int64_t step_;
};

/* Rows of sums: whole vectors, then the last one. */
template <int R, int V, typename Tail>
struct Sums {
  static constexpr int kSteps = 1; /* k's of an addition, each of a row of B */
  static constexpr int64_t kRow = kPanelRow<V>; /* numbers of such a row */
  static constexpr int kLines = kSteps; /* cache lines that are prefetched beside a step */
  Floats whole[R][V > 1 ? V - 1 : 1];
  Tail tail[R];

  CPUACC_INLINE void clear() {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) whole[r][v] = Floats{};
      tail[r] = Tail{};
    }
  }

  /* Adds element k of each row of a times a row of b. */
  template <typename Rows>
  CPUACC_INLINE void add(const Rows &a, int64_t k, const float *b) {
    Floats row[V];
    CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) row[v] = load(b + v * kLanes);
    const Tail last = load_tail(b + (V - 1) * kLanes, Tail{});
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const float x = a.at(r)[k];
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) whole[r][v] += x * row[v];
      tail[r] += x * last;
    }
  }

  CPUACC_INLINE void add(const Sums &other) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) whole[r][v] += other.whole[r][v];
      tail[r] += other.tail[r];
    }
  }

  CPUACC_INLINE void to_registers(Floats (&all)[R][V]) const {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) all[r][v] = whole[r][v];
      all[r][V - 1] = whole_of(tail[r]);
    }
  }
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

/* Sums with a tail in pairs: a vector has twice its columns, and is multiplied once for two k's. */
template <int R, int V>
struct PairedSums {
  static constexpr int kSteps = 2;
  static constexpr int64_t kRow = V == 1 ? kNarrowLanes : kColumns; /* two make the vector of a tail that is alone */
  static constexpr int kLines = kSteps;
  Sums<R, V, Floats> sums;

  CPUACC_INLINE void clear() { sums.clear(); }

  template <typename Rows>
  CPUACC_INLINE void add(const Rows &a, int64_t k, const float *b) {
    CPUACC_UNROLL for (int i = 0; i < kSteps; ++i) {
      CPUACC_UNROLL for (int v = 0; v + 1 < V; ++v) {
        const Floats row = load(b + i * kRow + v * kLanes);
        CPUACC_UNROLL for (int r = 0; r < R; ++r) sums.whole[r][v] += a.at(r)[k + i] * row;
      }
    }
    const Floats last = load(b + (V - 1) * kLanes);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) sums.tail[r] += load_pairs(a.at(r) + k) * last;
  }

  CPUACC_INLINE void add(const PairedSums &other) { sums.add(other.sums); }

  CPUACC_INLINE void to_registers(Floats (&all)[R][V]) const {
    sums.to_registers(all);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) all[r][V - 1] = sums_of_pairs(all[r][V - 1]);
  }
};

template <int R, int V>
using WholeSums = Sums<R, V, Floats>;

template <int R, int V>
using NarrowSums = Sums<R, V, NarrowFloats>;

/* A template of sums as a type. */
template <template <int, int> typename SumsOf>
struct SumsKind {
  template <int R, int V>
  using Of = SumsOf<R, V>;
};

/* Which sums a tile has whose last vector has so many columns. */
template <typename Number>
struct SumsOfNumbers;

template <>
struct SumsOfNumbers<float> {
  /* Calls visit with a SumsKind. */
  template <typename Visit>
  static CPUACC_INLINE void visit(bool has_paired_tail, int64_t last_columns, const Visit &visit) {
    if constexpr (kHasNarrowVectors) {
      if (has_paired_tail) return visit(SumsKind<PairedSums>{});
    }
    if constexpr (kSplitsWideVectors) {
      if (last_columns <= kNarrowLanes) return visit(SumsKind<NarrowSums>{});
    }
    visit(SumsKind<WholeSums>{});
  }
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
