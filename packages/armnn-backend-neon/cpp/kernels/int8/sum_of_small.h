/* SPDX-License-Identifier: MIT */
/* Sums of a gemm tile of unsigned bytes by an instruction that adds two products in 16 bits, and saturates there.
 *
 * Who packed the panel made sure that sums of two or four such pairs fit: fours of k whose weights are too large for
 * that are zeros in the panel, and multiplied apart, as shorts.
 */
#pragma once

#include "kernels/int8/dot_traits.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct SmallWeights {
  static constexpr bool kAreThere = ProductsOfBytes::kAreThere;

  /* Products of unsigned bytes with signed ones, two of which are added, and have to fit into 16 bits. */
  template <typename Products = ProductsOfBytes>
  static Shorts pairs(Ints unsigned_bytes, Ints signed_bytes) {
    return Products::pairs(unsigned_bytes, signed_bytes);
  }

  /* One to three bytes, and zeros. */
  static int32_t read_some(const uint8_t *p, int64_t n) {
    uint32_t bytes = 0;
    for (int64_t i = 0; i < n; ++i) bytes |= static_cast<uint32_t>(p[i]) << (8 * i);
    return static_cast<int32_t>(bytes);
  }

  /* The sums of the lanes are that of the n bytes. */
  template <typename Products = ProductsOfBytes>
  static Ints add_bytes(Ints sum, const uint8_t *p, int64_t n) {
    const Shorts ones = Shorts{} + 1;
    int64_t k = 0;
    for (; k + CPUACC_VECTOR_BYTES <= n; k += CPUACC_VECTOR_BYTES) {
      sum += pairs_of_products(Products::pairs(load_ints(p + k), splat_int(0x01010101)), ones);
    }
    int32_t rest = 0;
    for (; k < n; ++k) rest += p[k];
    sum[0] += rest;
    return sum;
  }

  template <int C, int R, int V, typename Products = ProductsOfBytes>
  static void add_fours(Ints (&sums)[R][V], const int32_t (&x)[R][C], const int8_t *b) {
    const Shorts ones = hidden(Shorts{} + 1);
    Ints weights[C][V];
    CPUACC_UNROLL for (int c = 0; c < C; ++c) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) weights[c][v] = in_order(load_ints(b + (c * kInt8Columns + v * kLanes) * 4));
    }
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      Ints four[C];
      CPUACC_UNROLL for (int c = 0; c < C; ++c) four[c] = in_order(splat_int(x[r][c]));
      CPUACC_UNROLL for (int v = 0; v < V; ++v) {
        Shorts pairs = Products::pairs(four[0], weights[0][v]);
        CPUACC_UNROLL for (int c = 1; c < C; ++c) pairs += Products::pairs(four[c], weights[c][v]);
        sums[r][v] = in_order(sums[r][v] + pairs_of_products(pairs, ones));
      }
    }
  }

  template <int C, int R, int V>
  static void add_tap(Ints (&sums)[R][V], const uint8_t *const (&a)[R], const int8_t *b, int64_t depth) {
    constexpr int64_t kFourBytes = kInt8Columns * 4;
    int64_t k = 0;
    for (; k + 4 * C <= depth; k += 4 * C, b += C * kFourBytes) {
      int32_t x[R][C];
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        CPUACC_UNROLL for (int c = 0; c < C; ++c) x[r][c] = read_four(a[r] + k + 4 * c);
      }
      add_fours<C, R, V>(sums, x, b);
    }
    for (; k < depth; k += 4, b += kFourBytes) {
      int32_t x[R][1];
      for (int r = 0; r < R; ++r) x[r][0] = k + 4 <= depth ? read_four(a[r] + k) : read_some(a[r] + k, depth - k);
      add_fours<1, R, V>(sums, x, b);
    }
  }

  /* Adds a four whose weights are too large. */
  template <int R, int V>
  static void add_large(Ints (&sums)[R][V], const int32_t (&x)[R], const int8_t *b) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      const Shorts weights = reinterpret_cast<Shorts>(load_ints(b + v * kLanes * 4));
      const Shorts even = (weights << 8) >> 8;
      const Shorts odd = weights >> 8;
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const Ints four = splat_int(x[r]);
        const Words high = reinterpret_cast<Words>(four) >> 8;
        sums[r][v] += pairs_of_products(reinterpret_cast<Shorts>(four & 0x00ff00ff), even) +
                      pairs_of_products(reinterpret_cast<Shorts>(high & 0x00ff00ff), odd);
      }
    }
  }

  /* total = bias + sum over taps and depth of A * B. */
  template <int R, int V>
  static void sum_products(const Int8GemmTile &tile, Ints (&total)[R][V]) {
    constexpr int64_t kFourBytes = kInt8Columns * 4;
    const int64_t fours = fours_of(tile.depth);
    Ints sums[R][V];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      const Ints bias = load_ints(tile.bias + v * kLanes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] = bias;
    }
    const int8_t *b = tile.b;
    for (int64_t t = 0; t < tile.taps; ++t, b += fours * kFourBytes) {
      const uint8_t *a[R];
      CPUACC_UNROLL for (int r = 0; r < R; ++r) a[r] = tile.rows[t * tile.rows_stride + r];
      if (tile.small_fours == kManySmallFours) {
        add_tap<kManySmallFours, R, V>(sums, a, b, tile.depth);
      } else {
        add_tap<kFewSmallFours, R, V>(sums, a, b, tile.depth);
      }
    }
    for (int32_t i = 0; i < tile.large_count; ++i) {
      const int64_t t = tile.large_fours[i] / fours;
      const int64_t k = tile.large_fours[i] % fours * 4;
      int32_t x[R];
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const uint8_t *a = tile.rows[t * tile.rows_stride + r] + k;
        x[r] = k + 4 <= tile.depth ? read_four(a) : read_some(a, tile.depth - k);
      }
      add_large<R, V>(sums, x, tile.large_weights + i * kFourBytes);
    }
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) total[r][v] = sums[r][v];
    }
  }
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
