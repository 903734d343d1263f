/* SPDX-License-Identifier: MIT */
/* Products of unsigned bytes with signed ones as AVX-512 VNNI has them, for builds for tests on other processors. */
#pragma once

#include "kernels/int8/kernels.h"
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Columns of a tile are those of dot_avx512_vnni.h, so that panels are alike; fewer rows are compiled sooner. */
constexpr int kInt8Rows = 4;
constexpr int kInt8Vectors = 2;
constexpr int kInt8Group = 4;

constexpr Reads kReads = Reads::unsigned_bytes;
typedef Ints Fours;

[[maybe_unused]] inline Fours fours(Ints bytes) { return bytes; }

/* Sums wrap around. */
[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
  const Words left = reinterpret_cast<Words>(a), right = reinterpret_cast<Words>(b);
  Words made = reinterpret_cast<Words>(sum);
  CPUACC_UNROLL for (int bits = 0; bits < 32; bits += 8) {
    const Ints signed_byte = reinterpret_cast<Ints>(right << (24 - bits)) >> 24;
    made += (left >> bits & 255) * reinterpret_cast<Words>(signed_byte);
  }
  return reinterpret_cast<Ints>(made);
}

[[maybe_unused]] inline Ints multiply_add(Ints sum, Ints neighbors, Ints weights) {
  return dot(sum, neighbors, weights);
}

struct NarrowColumns {
  static constexpr bool kIsThere = false;
};

struct InterleavedLines {
  static constexpr bool kIsThere = false;
};

struct SmallWeights {
  static constexpr bool kAreThere = false;
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL

#include "kernels/int8/sum_by_dots.h"
#include "kernels/int8/sum_of_bytes.h"
#include "kernels/int8/windows_by_dots.h"
