/* SPDX-License-Identifier: MIT */
/* The sums of a gemm tile of bfloat16 numbers, in float32. Only for levels whose instructions multiply them: vdpbf16ps
 * of AVX-512 BF16, bfdot of Arm's BF16.
 */
#pragma once

#include "kernels/bfloat16.h"
#include "kernels/sums.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

inline Pairs load_pairs(const Bfloat16 *p) {
  Pairs x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

inline Pairs splat_pair(const Bfloat16 *p) {
  int32_t x;
  std::memcpy(&x, p, sizeof x);
  return splat_int(x);
}

/* Beside it stands a 0. */
inline Pairs splat_last(const Bfloat16 *p) { return splat_int(p->bits); }

template <int R, int V>
struct Bfloat16Sums {
  static constexpr int kSteps = 2; /* k's of an addition, of one row of B */
  static constexpr int64_t kRow = kColumns; /* numbers of B for each k */
  static constexpr int kLines = 1; /* cache lines that are prefetched beside a step */
  Floats sums[R][V];

  CPUACC_INLINE void clear() {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = Floats{};
    }
  }

  /* Adds elements k and k + 1 of each row of a times a row of b. */
  template <typename Rows>
  CPUACC_INLINE void add(const Rows &a, int64_t k, const Bfloat16 *b) {
    add_row(b, [&](int r) __attribute__((always_inline)) { return splat_pair(a.at(r) + k); });
  }

  /* Adds a last element, which has no partner, times a row of b. */
  template <typename Rows>
  CPUACC_INLINE void add_last(const Rows &a, int64_t k, const Bfloat16 *b) {
    add_row(b, [&](int r) __attribute__((always_inline)) { return splat_last(a.at(r) + k); });
  }

  CPUACC_INLINE void to_registers(Floats (&all)[R][V]) const {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) all[r][v] = sums[r][v];
    }
  }

 private:
  /* Args: pair_of: makes the lanes of a row. */
  template <typename PairOf>
  CPUACC_INLINE void add_row(const Bfloat16 *b, const PairOf &pair_of) {
    Pairs row[V];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) row[v] = load_pairs(b + v * 2 * kLanes);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const Pairs x = pair_of(r);
      CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = multiply_add(sums[r][v], x, row[v]);
    }
  }
};

template <>
struct SumsOfNumbers<Bfloat16> {
  template <typename Visit>
  static CPUACC_INLINE void visit(bool, int64_t, const Visit &visit) { visit(SumsKind<Bfloat16Sums>{}); }
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
