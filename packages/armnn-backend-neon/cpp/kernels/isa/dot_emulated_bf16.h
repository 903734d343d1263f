/* SPDX-License-Identifier: MIT */
/* Pairs of bfloat16 numbers as AVX-512 BF16 has them, for builds for tests on other processors. */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Two bfloat16 numbers in each lane. */
typedef Ints Pairs;

/* The upper number of each lane first. Subnormal numbers stay, which the instruction takes as zeros. */
inline Floats multiply_add(Floats sum, Pairs x, Pairs y) {
  const auto upper = [](Pairs z) { return reinterpret_cast<Floats>(z & static_cast<int32_t>(0xffff0000u)); };
  const auto lower = [](Pairs z) { return reinterpret_cast<Floats>(reinterpret_cast<Words>(z) << 16); };
  sum += upper(x) * upper(y);
  return sum + lower(x) * lower(y);
}

/* A vector of numbers, rounded to the nearest, ties to even; NaN stays NaN. */
inline void store_bfloat16(Bfloat16 *y, Floats x, int64_t n) {
  const Words bits = reinterpret_cast<Words>(x);
  const Words nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const Words no_number = bits >> 16 | 0x40;
  const HalfBits rounded = __builtin_convertvector(x != x ? no_number : nearest, HalfBits);
  std::memcpy(static_cast<void *>(y), &rounded, static_cast<size_t>(n < kLanes ? n : kLanes) * sizeof(Bfloat16));
}

/* The first n lanes; the others are 0. */
inline Floats load_bfloat16(const Bfloat16 *p, int64_t n) {
  HalfBits halves{};
  std::memcpy(&halves, p, static_cast<size_t>(n < kLanes ? n : kLanes) * sizeof(Bfloat16));
  return reinterpret_cast<Floats>(__builtin_convertvector(halves, Words) << 16);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
