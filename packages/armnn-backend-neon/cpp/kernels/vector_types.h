/* SPDX-License-Identifier: MIT */
/* Vectors as wide as the level's registers, and what GCC's vector extensions do with them. */
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/kernels.h"

#if !defined(CPUACC_LEVEL) || !defined(CPUACC_VECTOR_BYTES)
#error "compile this once per level of levels.toml"
#endif

#define CPUACC_UNROLL _Pragma("GCC unroll 64")
/* What would pass registers through memory if it were a function. */
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

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
