/* SPDX-License-Identifier: MIT */
/* Products of unsigned bytes with signed ones by AVX-VNNI, in the short form of the same instruction. */
#pragma once

#include "kernels/int8/kernels.h"
#include "kernels/isa/interleaved_avx2.h"
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of sums: rows, and vectors in each row. */
constexpr int kInt8Rows = 6;
constexpr int kInt8Vectors = 2;
/* Neighbors that a lane of a depthwise convolution multiplies at once. */
constexpr int kInt8Group = 4;

constexpr Reads kReads = Reads::unsigned_bytes;
typedef Ints Fours;

[[maybe_unused]] inline Fours fours(Ints bytes) { return bytes; }

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
  return reinterpret_cast<Ints>(_mm256_dpbusd_epi32(reinterpret_cast<__m256i>(sum),
                                                    reinterpret_cast<__m256i>(a),
                                                    reinterpret_cast<__m256i>(b)));
}

/* Adds the products of the neighbors in each lane. */
[[maybe_unused]] inline Ints multiply_add(Ints sum, Ints neighbors, Ints weights) {
  return dot(sum, neighbors, weights);
}

/* No narrower registers are worth it. */
struct NarrowColumns {
  static constexpr bool kIsThere = false;
};

/* All weights are multiplied alike. */
struct SmallWeights {
  static constexpr bool kAreThere = false;
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL

#include "kernels/int8/sum_by_dots.h"
#include "kernels/int8/sum_of_bytes.h"
#include "kernels/int8/windows_by_dots.h"
