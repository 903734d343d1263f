/* SPDX-License-Identifier: MIT */
/* Vectors as wide as the level's registers, and operations on them by GCC's vector extensions. */
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/kernels.h"

#if !defined(CPUACC_LEVEL) || !defined(CPUACC_VECTOR_BYTES)
#error "compile this once per level of levels.toml"
#endif

#define CPUACC_UNROLL _Pragma("GCC unroll 64")
/* For functions that would pass registers through memory if they were not inlined. */
#define CPUACC_INLINE inline __attribute__((always_inline))

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int64_t kLanes = CPUACC_VECTOR_BYTES / 4;

typedef float Floats __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
typedef int32_t Ints __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
typedef uint32_t Words __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
typedef uint16_t HalfBits __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));
typedef float NarrowFloats __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));
typedef int8_t Bytes __attribute__((vector_size(CPUACC_VECTOR_BYTES / 4)));
typedef int32_t UnalignedInts
    __attribute__((vector_size(CPUACC_VECTOR_BYTES), aligned(1), may_alias));
typedef float UnalignedFloats __attribute__((vector_size(CPUACC_VECTOR_BYTES), aligned(4), may_alias));

[[maybe_unused]] inline Floats splat(float x) { return x - Floats{}; }
[[maybe_unused]] inline Ints splat_int(int32_t x) { return x - Ints{}; }
[[maybe_unused]] inline Floats load(const float *p) { return *reinterpret_cast<const UnalignedFloats *>(p); }
[[maybe_unused]] inline void store(float *p, Floats x) { *reinterpret_cast<UnalignedFloats *>(p) = x; }
[[maybe_unused]] inline Ints load_ints(const void *p) { return *static_cast<const UnalignedInts *>(p); }

[[maybe_unused]] inline Floats absolute(Floats x) {
  return reinterpret_cast<Floats>(reinterpret_cast<Ints>(x) & 0x7fffffff);
}

[[maybe_unused]] inline Floats with_sign_of(Floats size, Floats sign) {
  return reinterpret_cast<Floats>((reinterpret_cast<Ints>(size) & 0x7fffffff) |
                                  (reinterpret_cast<Ints>(sign) & static_cast<int32_t>(0x80000000u)));
}

/* x 2^n, where n holds whole numbers, at most 150 in size; a level may have an instruction for it. The factor comes
 * in two halves, so that it overflows only when it must.
 */
template <typename Vector>
[[maybe_unused]] inline Vector times_power_of_two(Vector x, Vector n) {
  const Ints whole = __builtin_convertvector(n == n ? n : Vector{}, Ints);
  const Ints half = whole >> 1;
  const auto factor = [](Ints exponent) { return reinterpret_cast<Vector>((exponent + 127) << 23); };
  return x * factor(half) * factor(whole - half);
}

/* A narrow vector in the lower lanes of a whole one; a level may have an instruction for it. */
template <typename Narrow>
[[maybe_unused]] inline Floats whole_of(Narrow x) {
  Floats whole{};
  std::memcpy(&whole, &x, sizeof x);
  return whole;
}

/* The first n bytes, likewise. */
template <typename Vector>
[[maybe_unused]] inline void store_bytes(void *p, Vector x, int64_t n) {
  std::memcpy(p, &x, static_cast<size_t>(n));
}

/* n bytes and zeros, kLanes at the most, in a general register: vectors put together in memory stall. */
template <typename Bits>
[[maybe_unused]] inline Bits first_bytes(const uint8_t *p, int64_t n) {
  Bits bytes = 0;
  if (n >= kLanes) {
    std::memcpy(&bytes, p, kLanes);
  } else {
    std::memcpy(&bytes, p, static_cast<size_t>(n));
  }
  return bytes;
}

/* Looks bytes up in a table of all their values; here one by one. */
using LookUp = void (*)(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n);

[[maybe_unused]] inline void look_up_each(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}


}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
