/* SPDX-License-Identifier: MIT */
/* The bfloat16 gemm tile, summed in float32. Only for levels whose instructions multiply
 * them: vdpbf16ps of AVX-512 BF16, bfdot of Arm's BF16.
 */
#include "kernels/bfloat16.h"
#include "kernels/epilogue.h"
#include "kernels/tile_shape.h"

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

/* One pair of k's; pair_of makes the lanes of a row. */
template <int R, int V, typename PairOf>
inline void add_pair(Floats (&sums)[R][V], const Bfloat16 *b, const PairOf &pair_of) {
  Pairs row[V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) row[v] = load_pairs(b + v * 2 * kLanes);
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    const Pairs x = pair_of(r);
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = multiply_add(sums[r][v], x, row[v]);
  }
}

/* Args: Number: what is stored; kFetches: whether it fetches ahead. */
template <typename Number, int R, int V, bool kFetches = false>
void gemm(const GemmTileBfloat16 &tile) {
  Floats sums[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = Floats{};
  }
  prefetch_output<R, Number>(tile);
  Ahead ahead(tile.ahead);
  const Bfloat16 *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const Bfloat16 *const *rows = tile.rows + t * tile.rows_stride;
    const Bfloat16 *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) a[r] = rows[r];
    int64_t k = 0;
    for (; k + 1 < tile.depth; k += 2) {
      if constexpr (kFetches) ahead.fetch();
      add_pair<R, V>(sums, b, [&](int r) { return splat_pair(a[r] + k); });
      b += 2 * kColumns;
    }
    if (k < tile.depth) {
      add_pair<R, V>(sums, b, [&](int r) { return splat_last(a[r] + k); });
      b += 2 * kColumns;
    }
  }
  finish<R, V, Number, true>(tile, sums);
}

using Gemm = void (*)(const GemmTileBfloat16 &);

template <typename Number, int V, int... R>
Gemm gemm_of(int rows, std::integer_sequence<int, R...>) {
  static constexpr Gemm kOfRows[] = {gemm<Number, R + 1, V>...};
  return kOfRows[rows - 1];
}

template <typename Number, int V>
Gemm gemm_of(const GemmTileBfloat16 &tile) {
  if (tile.ahead != nullptr && tile.row_count == kRows) return gemm<Number, kRows, V, true>;
  return gemm_of<Number, V>(tile.row_count, std::make_integer_sequence<int, kRows>{});
}

template <typename Number>
Gemm gemm_for(const GemmTileBfloat16 &tile) {
  /* All of its vectors but the last one are whole. */
  const int64_t vectors = (tile.column_count + kLanes - 1) / kLanes;
  return vectors == 1   ? gemm_of<Number, 1>(tile)
         : vectors == 2 ? gemm_of<Number, 2>(tile)
                        : gemm_of<Number, kVectors>(tile);
}

void gemm_tile_bfloat16(const GemmTileBfloat16 &tile) {
  const Gemm compute = tile.rounded_c == nullptr ? gemm_for<float>(tile) : gemm_for<Bfloat16>(tile);
  compute(tile);
}

void round_to_bfloat16(const float *x, Bfloat16 *y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_rounded(y + i, load(x + i), kLanes);
  if (i < n) store_rounded(y + i, load_part(x + i, n - i), n - i);
}

}  // namespace

void fill_gemm_bfloat16(Kernels &table) {
  table.gemm_tile_bfloat16 = gemm_tile_bfloat16;
  table.rows_bfloat16 = kRows;
  table.round_to_bfloat16 = round_to_bfloat16;
}

}  // namespace cpuacc::CPUACC_LEVEL
