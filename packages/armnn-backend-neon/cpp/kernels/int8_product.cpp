/* SPDX-License-Identifier: MIT */
/* Tiles of products of 8-bit matrices and of convolutions: one register per vector of sums. */
#include "kernels/int8_vector.h"
#include "kernels/level.h"

#if defined(__ARM_FEATURE_MATMUL_INT8)
#include "kernels/int8_blocks.h"
#endif

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

#if CPUACC_VECTOR_BYTES == 64
constexpr int kRows = 14;
#elif defined(__aarch64__)
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 2;
constexpr int kColumns = kVectors * static_cast<int>(kLanes);

#if !defined(__ARM_FEATURE_MATMUL_INT8)

/* The last one to three bytes of a row; weights are zeros where there are none. */
inline int32_t read_rest(const uint8_t *p, int64_t n) {
  uint32_t bytes = p[0];
  if (n > 1) bytes |= static_cast<uint32_t>(p[1]) << 8;
  if (n > 2) bytes |= static_cast<uint32_t>(p[2]) << 16;
  return static_cast<int32_t>(bytes);
}

/* Adds C steps of four k to sums of their own: few rows alone would wait for each other. */
template <int R, int V, int C>
inline void add_steps(Ints (&sums)[C][R][V], const uint8_t *const (&a)[R], const int8_t *b, int64_t k,
                      Ints turned) {
  CPUACC_UNROLL for (int c = 0; c < C; ++c) {
    Fours line[V];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      line[v] = fours(load_ints(b + (c * kColumns + v * kLanes) * 4));
    }
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const Fours x = fours(splat_int(read_four(a[r] + k + 4 * c)) ^ turned);
      CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[c][r][v] = dot(sums[c][r][v], x, line[v]);
    }
  }
}

template <int R, int V>
inline void add_rest(Ints (&sums)[R][V], const uint8_t *const (&a)[R], const int8_t *b, int64_t k,
                     int64_t n, Ints turned) {
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    const Fours x = fours(splat_int(read_rest(a[r] + k, n)) ^ turned);
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      sums[r][v] = dot(sums[r][v], x, fours(load_ints(b + v * kLanes * 4)));
    }
  }
}

/* total = bias + sum over taps and depth of A * B; a line of B has four k of all columns. */
template <int R, int V>
inline void sum_products(const Int8Tile &tile, int64_t line, Ints (&total)[R][V]) {
  constexpr int C = R * V <= 4 ? 4 : 1;
  Ints sums[C][R][V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Ints bias = load_ints(tile.bias + v * kLanes);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      sums[0][r][v] = bias;
      CPUACC_UNROLL for (int c = 1; c < C; ++c) sums[c][r][v] = Ints{};
    }
  }
  const Ints turned = hidden(splat_int(turned_bits(tile.is_signed)));
  const int8_t *b = tile.b;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const uint8_t *const *rows = tile.rows + t * tile.rows_stride;
    const uint8_t *a[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) a[r] = rows[r];
    int64_t k = 0;
    for (; k + 4 * C <= tile.depth; k += 4 * C, b += C * line) add_steps<R, V, C>(sums, a, b, k, turned);
    if constexpr (C > 1) {
      auto &first = reinterpret_cast<Ints(&)[1][R][V]>(sums[0]);
      for (; k + 4 <= tile.depth; k += 4, b += line) add_steps<R, V, 1>(first, a, b, k, turned);
    }
    if (k < tile.depth) {
      add_rest<R, V>(sums[0], a, b, k, tile.depth - k, turned);
      b += line;
    }
  }
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      total[r][v] = sums[0][r][v];
      CPUACC_UNROLL for (int c = 1; c < C; ++c) total[r][v] += sums[c][r][v];
    }
  }
}

#endif

/* The sum of a row as it is read. */
inline int32_t sum_of_row(const Int8Tile &tile, int r) {
  const auto turned = static_cast<uint8_t>(turned_bits(tile.is_signed));
  int32_t sum = 0;
  for (int64_t t = 0; t < tile.taps; ++t) {
    const uint8_t *row = tile.rows[t * tile.rows_stride + r];
    for (int64_t k = 0; k < tile.depth; ++k) {
      const auto read = static_cast<uint8_t>(row[k] ^ turned);
      sum += kReadsUnsigned ? read : static_cast<int8_t>(read);
    }
  }
  return sum;
}

inline void store_some(const Int8Tile &tile, int r, int v, int64_t n, Ints sum) {
  const int64_t place = r * tile.c_stride + v * kLanes;
  const Requantization &requantization = tile.requantization;
  if (requantization.scales == nullptr) {
    std::memcpy(static_cast<int32_t *>(tile.c) + place, &sum, static_cast<size_t>(n) * 4);
    return;
  }
  const Requantizer requantize(requantization);
  store_bytes(static_cast<uint8_t *>(tile.c) + place,
              requantize(sum, load(requantization.scales + v * kLanes)), n);
}

/* Sums in memory: zero points of B, sums that are stored as they are. */
template <int R, int V>
__attribute__((noinline)) void finish_any(const Int8Tile &tile, const Ints (&sums)[R][V]) {
  for (int r = 0; r < R; ++r) {
    const int32_t off = tile.b_zero_point == 0 ? 0 : tile.b_zero_point * sum_of_row(tile, r);
    for (int v = 0; v < V; ++v) {
      const int64_t left = tile.column_count - v * kLanes;
      if (left > 0) store_some(tile, r, v, left < kLanes ? left : kLanes, sums[r][v] - off);
    }
  }
}

template <int R, int V>
inline void finish(const Int8Tile &tile, const Ints (&sums)[R][V]) {
  if (tile.b_zero_point != 0 || tile.requantization.scales == nullptr) {
    Ints spilled[R][V];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) spilled[r][v] = sums[r][v];
    }
    return finish_any<R, V>(tile, spilled);
  }
  const Requantizer requantize(tile.requantization);
  uint8_t *c = static_cast<uint8_t *>(tile.c);
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Floats scale = load(tile.requantization.scales + v * kLanes);
    const int64_t left = tile.column_count - v * kLanes;
    if (left >= kLanes) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        store_bytes(c + r * tile.c_stride + v * kLanes, requantize(sums[r][v], scale));
      }
    } else if (left > 0) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        store_bytes(c + r * tile.c_stride + v * kLanes, requantize(sums[r][v], scale), left);
      }
    }
  }
}

template <int R, int V>
void product(const Int8Tile &tile) {
  Ints sums[R][V];
  sum_products<R, V>(tile, kColumns * 4, sums);
  finish<R, V>(tile, sums);
}

using Product = void (*)(const Int8Tile &);

template <int V>
Product product_of(int rows) {
  static_assert(kRows <= 14, "a case for each number of rows");
  switch (rows) {
    case 1: return product<1, V>;
    case 2: return product<2, V>;
    case 3: return product<3, V>;
    case 4: return product<4, V>;
#if CPUACC_VECTOR_BYTES == 64 || defined(__aarch64__)
    case 5: return product<5, V>;
    case 6: return product<6, V>;
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
    default: return nullptr;
  }
}

void product_tile(const Int8Tile &tile) {
  const bool is_narrow = tile.column_count <= kLanes;
  const Product compute =
      is_narrow ? product_of<1>(tile.row_count) : product_of<kVectors>(tile.row_count);
  compute(tile);
}

}  // namespace

void fill_int8_product(Int8Kernels &table) {
  table.rows = kRows;
  table.columns = kColumns;
  table.lanes = static_cast<int32_t>(kLanes);
  table.read_offset[0] = kReadsUnsigned ? 0 : -128;
  table.read_offset[1] = kReadsUnsigned ? 128 : 0;
  table.product_tile = product_tile;
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
