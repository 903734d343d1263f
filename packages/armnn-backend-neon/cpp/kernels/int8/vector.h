/* SPDX-License-Identifier: MIT */
/* Vectors of 8-bit integers: sums of four products per lane, and the way back to bytes.
 *
 * A Fours has four bytes per lane, ready to be multiplied. Sums are exact: no level saturates on the
 * way.
 */
#pragma once

#include CPUACC_DOT_HEADER /* isa/dot_<instruction set>.h, by levels.toml */

#include "kernels/int8/dot_traits.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Between numbers and bytes. The compiler's own conversions take the vectors apart. */
template <typename T>
struct BytesOf {
  typedef T Vector __attribute__((vector_size(CPUACC_VECTOR_BYTES / 4)));
};

/* As many bytes as there are lanes, as numbers. With a count: the first n of them and zeros. */
template <typename T>
inline Ints widened(const uint8_t *p) { return widened<T>(p, kLanes); }

/* A Requantization as this level computes it. */
struct Requantizer {
  /* A float from here on holds whole numbers only: adding it rounds, and the number stands in the
   * lowest bits.
   */
  static constexpr float kWhole = 12582912.0f;
  static constexpr int32_t kWholeBits = 0x4b400000;

  Floats lowest, highest; /* before the zero point is added */
  Ints zero_point;
  Ints lowest_stored, highest_stored;

  explicit Requantizer(const Requantization &r)
      : lowest(splat(static_cast<float>(r.lowest - r.zero_point))),
        highest(splat(static_cast<float>(r.highest - r.zero_point))),
        zero_point(splat_int(r.zero_point)),
        lowest_stored(splat_int(r.lowest)),
        highest_stored(splat_int(r.highest)) {}

  Bytes operator()(Ints sum, Floats scale) const { return stored(__builtin_convertvector(sum, Floats) * scale); }

  /* The integers to store, before they are narrowed. */
  Ints number(Floats real) const {
    const Floats inside = maximum(lowest, minimum(highest, real));
    const Ints whole = reinterpret_cast<Ints>(inside + kWhole) - kWholeBits;
    return whole + zero_point;
  }

  Bytes stored(Floats real) const { return narrowed(number(real)); }

  Bytes stored(Ints steps) const {
    const Ints shifted = steps + zero_point;
    const Ints above = shifted < lowest_stored ? lowest_stored : shifted;
    return narrowed(above > highest_stored ? highest_stored : above);
  }
};

[[maybe_unused]] inline void store_bytes(void *p, Bytes x) { std::memcpy(p, &x, sizeof x); }

/* Stores the sums of R rows as bytes, the rows so far apart; columns: how many of them are there. */
template <int R, int V>
inline void store_rows(uint8_t *c, int64_t stride, int32_t columns, const Requantization &requantization,
                       const Ints (&sums)[R][V]) {
  const Requantizer requantize(requantization);
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Floats scale = load(requantization.scales + v * kLanes);
    const int64_t left = columns - v * kLanes;
    if (left >= kLanes) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        store_bytes(c + r * stride + v * kLanes, requantize(sums[r][v], scale));
      }
    } else if (left > 0) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        store_bytes(c + r * stride + v * kLanes, requantize(sums[r][v], scale), left);
      }
    }
  }
}


}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
