/* SPDX-License-Identifier: MIT */
/* Products of bytes as shorts: those of SSSE3 and AVX2 on bytes saturate. */
#pragma once

#include "kernels/int8/kernels.h"
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of sums: rows, and vectors in each row. */
constexpr int kInt8Rows = 4;
constexpr int kInt8Vectors = 2;
/* Neighbours that a lane of a depthwise convolution multiplies at once. */
constexpr int kInt8Group = 2;

/* The bytes at even and at odd places, as 16 bits each: products of bytes with saturation are of no
 * use.
 */
constexpr bool kReadsUnsigned = false;

struct Fours {
  Shorts even;
  Shorts odd;
};

[[maybe_unused]] inline Fours fours(Ints bytes) {
  const Shorts pairs = reinterpret_cast<Shorts>(bytes);
  return {(pairs << 8) >> 8, pairs >> 8};
}

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
  return sum + pairs_of_products(a.even, b.even) + pairs_of_products(a.odd, b.odd);
}

/* Adds the products of the neighbours in each lane. */
[[maybe_unused]] inline Ints multiply_add(Ints sum, Ints neighbours, Ints weights) {
  return sum + pairs_of_products(reinterpret_cast<Shorts>(neighbours), reinterpret_cast<Shorts>(weights));
}

/* No narrower registers are worth it. */
struct NarrowColumns {
  static constexpr bool kIsThere = false;
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL

#include "kernels/int8/sum_by_dots.h"
#include "kernels/int8/sum_of_bytes.h"
