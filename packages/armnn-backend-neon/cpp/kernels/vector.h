/* SPDX-License-Identifier: MIT */
/* Vectors of floats as wide as the level's registers, in GCC's vector extensions.
 *
 * Everything is static: two levels must never share a function.
 */
#ifndef CPUACC_KERNELS_VECTOR_H_
#define CPUACC_KERNELS_VECTOR_H_

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "kernels/kernels.h"

#if !defined(CPUACC_LEVEL) || !defined(CPUACC_VECTOR_BYTES)
#error "compile this once per level, with CPUACC_LEVEL and CPUACC_VECTOR_BYTES"
#endif

#define CPUACC_UNROLL _Pragma("GCC unroll 64")
/* What would pass registers through memory if it were a function. */
#define CPUACC_INLINE inline __attribute__((always_inline))

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

constexpr int64_t kLanes = CPUACC_VECTOR_BYTES / 4;

typedef float Floats __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
typedef int32_t Ints __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
typedef uint32_t Words __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
typedef float UnalignedFloats __attribute__((vector_size(CPUACC_VECTOR_BYTES), aligned(4), may_alias));

[[maybe_unused]] inline Floats splat(float x) { return x - Floats{}; }
[[maybe_unused]] inline Ints splat_int(int32_t x) { return x - Ints{}; }
[[maybe_unused]] inline Floats load(const float *p) { return *reinterpret_cast<const UnalignedFloats *>(p); }
[[maybe_unused]] inline void store(float *p, Floats x) { *reinterpret_cast<UnalignedFloats *>(p) = x; }

#if CPUACC_VECTOR_BYTES == 32
/* All bits of the first n lanes. */
[[maybe_unused]] inline __m256i first_lanes(int64_t n) {
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)), numbers);
}
#endif

/* The first n lanes, 0 <= n <= kLanes; the others are 0. */
[[maybe_unused]] inline Floats load_part(const float *p, int64_t n) {
#if CPUACC_VECTOR_BYTES == 64
  return reinterpret_cast<Floats>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p));
#elif CPUACC_VECTOR_BYTES == 32
  return reinterpret_cast<Floats>(_mm256_maskload_ps(p, first_lanes(n)));
#else
  if (n >= kLanes) return load(p);
  Floats x{};
  if (n > 0) x[0] = p[0];
  if (n > 1) x[1] = p[1];
  if (n > 2) x[2] = p[2];
  return x;
#endif
}

[[maybe_unused]] inline void store_part(float *p, Floats x, int64_t n) {
#if CPUACC_VECTOR_BYTES == 64
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m512>(x));
#elif CPUACC_VECTOR_BYTES == 32
  _mm256_maskstore_ps(p, first_lanes(n), reinterpret_cast<__m256>(x));
#else
  if (n >= kLanes) return store(p, x);
  if (n > 0) p[0] = x[0];
  if (n > 1) p[1] = x[1];
  if (n > 2) p[2] = x[2];
#endif
}

/* NaN in y wins, NaN in x loses, as in the instruction. */
[[maybe_unused]] inline Floats maximum(Floats x, Floats y) { return x > y ? x : y; }
[[maybe_unused]] inline Floats minimum(Floats x, Floats y) { return x < y ? x : y; }

[[maybe_unused]] inline Floats absolute(Floats x) {
  return reinterpret_cast<Floats>(reinterpret_cast<Ints>(x) & 0x7fffffff);
}

[[maybe_unused]] inline Floats with_sign_of(Floats size, Floats sign) {
  return reinterpret_cast<Floats>((reinterpret_cast<Ints>(size) & 0x7fffffff) |
                                  (reinterpret_cast<Ints>(sign) & static_cast<int32_t>(0x80000000u)));
}

[[maybe_unused]] inline Floats square_root(Floats x) {
#if CPUACC_VECTOR_BYTES == 64
  return reinterpret_cast<Floats>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(x)));
#elif CPUACC_VECTOR_BYTES == 32
  return reinterpret_cast<Floats>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
#elif defined(__x86_64__)
  return reinterpret_cast<Floats>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
#elif defined(__aarch64__)
  return reinterpret_cast<Floats>(vsqrtq_f32(reinterpret_cast<float32x4_t>(x)));
#endif
}

/* To the nearest, ties to even. */
[[maybe_unused]] inline Floats round_even(Floats x) {
#if CPUACC_VECTOR_BYTES == 64
  return reinterpret_cast<Floats>(
      _mm512_maskz_roundscale_ps(0xffff, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
#elif CPUACC_VECTOR_BYTES == 32
  return reinterpret_cast<Floats>(
      _mm256_round_ps(reinterpret_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__aarch64__)
  return reinterpret_cast<Floats>(vrndnq_f32(reinterpret_cast<float32x4_t>(x)));
#else
  /* What is 2^23 or larger is whole already. */
  const Floats magic = with_sign_of(splat(8388608.0f), x);
  const Floats rounded = with_sign_of((x + magic) - magic, x);
  return absolute(x) < splat(8388608.0f) ? rounded : x;
#endif
}

[[maybe_unused]] inline Floats floor(Floats x) {
  const Floats rounded = round_even(x);
  return with_sign_of(rounded > x ? rounded - 1.0f : rounded, x);
}

[[maybe_unused]] inline Floats ceil(Floats x) {
  const Floats rounded = round_even(x);
  return with_sign_of(rounded < x ? rounded + 1.0f : rounded, x);
}

/* Lane i is lane i + Places of x, from the end on to the beginning. */
template <int Places>
[[maybe_unused]] inline Floats rotated(Floats x) {
  Ints lanes{};
  CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) lanes[i] = (i + Places) % static_cast<int>(kLanes);
  return __builtin_shuffle(x, lanes);
}

/* All lanes as one, by a function of two vectors. */
template <int Width = static_cast<int>(kLanes) / 2, typename F>
[[maybe_unused]] inline float folded(Floats x, const F &function) {
  x = function(x, rotated<Width>(x));
  if constexpr (Width > 1) {
    return folded<Width / 2>(x, function);
  } else {
    return x[0];
  }
}

[[maybe_unused]] inline float sum_of(Floats x) {
  return folded(x, [](Floats a, Floats b) { return a + b; });
}

/* Memory that a vector stands for: all lanes, or the first n. */
struct All {
  Floats get(const float *p) const { return load(p); }
  void put(float *p, Floats x) const { store(p, x); }
};

struct First {
  int64_t n;
  Floats get(const float *p) const { return load_part(p, n); }
  void put(float *p, Floats x) const { store_part(p, x, n); }
};

}  // namespace
}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
