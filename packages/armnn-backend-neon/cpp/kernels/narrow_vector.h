/* SPDX-License-Identifier: MIT */
/* Vectors of half the width: the last columns of a matrix that would leave most lanes of a whole one empty. */
#ifndef CPUACC_KERNELS_NARROW_VECTOR_H_
#define CPUACC_KERNELS_NARROW_VECTOR_H_

#include <cstring>

#include "kernels/vector.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

constexpr bool kHasNarrowVectors = CPUACC_VECTOR_BYTES > 16;
constexpr int64_t kNarrowLanes = kLanes / 2;

typedef float NarrowFloats __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));
typedef float UnalignedNarrowFloats
    __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2), aligned(4), may_alias));

[[maybe_unused]] inline NarrowFloats load_narrow(const float *p) {
  return *reinterpret_cast<const UnalignedNarrowFloats *>(p);
}

/* A narrow vector in the lower lanes of a whole one. */
[[maybe_unused]] inline Floats whole_of(NarrowFloats x) {
#if CPUACC_VECTOR_BYTES == 64
  return reinterpret_cast<Floats>(
      _mm512_maskz_insertf32x8(0xffff, _mm512_setzero_ps(), reinterpret_cast<__m256>(x), 0));
#else
  Floats whole{};
  std::memcpy(&whole, &x, sizeof x);
  return whole;
#endif
}

}  // namespace
}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
