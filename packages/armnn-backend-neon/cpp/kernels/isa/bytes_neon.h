/* SPDX-License-Identifier: MIT */
/* Tiles of signed bytes in registers of NEON, for all of its dot products. */
#pragma once

#include "kernels/int8/kernels.h"
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of sums: rows, and vectors in each row. */
constexpr int kInt8Rows = 8;
constexpr int kInt8Vectors = 2;
/* Neighbors that a lane of a depthwise convolution multiplies at once. */
constexpr int kInt8Group = 1;

constexpr Reads kReads = Reads::signed_bytes;
typedef int8x16_t Fours;

[[maybe_unused]] inline Fours fours(Ints bytes) { return reinterpret_cast<int8x16_t>(bytes); }

/* Adds the products of the neighbors in each lane. */
[[maybe_unused]] inline Ints multiply_add(Ints sum, Ints neighbors, Ints weights) {
  return sum + neighbors * weights;
}

/* No narrower registers are worth it. */
struct NarrowColumns {
  static constexpr bool kIsThere = false;
};

/* Neighbors are gathered instead. */
struct InterleavedLines {
  static constexpr bool kIsThere = false;
};

/* All weights are multiplied alike. */
struct SmallWeights {
  static constexpr bool kAreThere = false;
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
