/* SPDX-License-Identifier: MIT */
/* Products of bytes as shorts: those of SSSE3 and AVX2 on bytes saturate. */
#pragma once

#include "kernels/int8/kernels.h"
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of sums: rows, and vectors in each row. */
constexpr int kInt8Rows = 6;
constexpr int kInt8Vectors = 2;
/* Neighbors that a lane of a depthwise convolution multiplies at once. */
constexpr int kInt8Group = 2;

constexpr Reads kReads = Reads::shorts;

/* Adds the products of the neighbors in each lane. */
[[maybe_unused]] inline Ints multiply_add(Ints sum, Ints neighbors, Ints weights) {
  return sum + pairs_of_products(reinterpret_cast<Shorts>(neighbors), reinterpret_cast<Shorts>(weights));
}

/* No narrower registers are worth it. */
struct NarrowColumns {
  static constexpr bool kIsThere = false;
};

/* Neighbors are gathered instead. */
struct InterleavedLines {
  static constexpr bool kIsThere = false;
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL

#include "kernels/int8/sum_by_pairs.h"
#include "kernels/int8/sum_of_small.h"
