/* SPDX-License-Identifier: MIT */
/* The sixteen lanes of AVX-512 as two registers of AVX2, for builds for tests on processors without it. */
#pragma once

#include <immintrin.h>

#include "kernels/isa/look_up_by_shuffles.h"
#include "kernels/vector_types.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Columns of a tile are those of vector_avx512.h; fewer rows are compiled sooner. */
constexpr int kRows = 4;
constexpr int kVectors = 2;
constexpr int kTall = 1;

/* The first n lanes, 0 <= n <= kLanes; the others are 0. */
[[maybe_unused]] inline Floats load_part(const float *p, int64_t n) {
  Floats x{};
  std::memcpy(&x, p, static_cast<size_t>(n) * sizeof(float));
  return x;
}

[[maybe_unused]] inline void store_part(float *p, Floats x, int64_t n) {
  std::memcpy(p, &x, static_cast<size_t>(n) * sizeof(float));
}

/* The lower half of a vector, or the upper one. */
template <typename Half, typename Whole>
CPUACC_INLINE Half half_of(Whole x, int number) {
  static_assert(2 * sizeof(Half) == sizeof x, "half of it");
  Half half;
  std::memcpy(&half, reinterpret_cast<const char *>(&x) + number * sizeof half, sizeof half);
  return half;
}

/* A vector whose halves are made by their number. */
template <typename Whole, typename F>
CPUACC_INLINE Whole by_halves(const F &made) {
  const decltype(made(0)) halves[2] = {made(0), made(1)};
  static_assert(sizeof halves == sizeof(Whole), "halves of it");
  Whole x;
  std::memcpy(&x, halves, sizeof x);
  return x;
}

/* NaN in y wins, NaN in x loses. */
[[maybe_unused]] inline Floats maximum(Floats x, Floats y) {
  return by_halves<Floats>([&](int i) { return _mm256_max_ps(half_of<__m256>(x, i), half_of<__m256>(y, i)); });
}
[[maybe_unused]] inline Floats minimum(Floats x, Floats y) {
  return by_halves<Floats>([&](int i) { return _mm256_min_ps(half_of<__m256>(x, i), half_of<__m256>(y, i)); });
}

[[maybe_unused]] inline Floats square_root(Floats x) {
  return by_halves<Floats>([&](int i) { return _mm256_sqrt_ps(half_of<__m256>(x, i)); });
}

/* To the nearest, ties to even. */
[[maybe_unused]] inline Floats round_even(Floats x) {
  constexpr int kEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return by_halves<Floats>([&](int i) { return _mm256_round_ps(half_of<__m256>(x, i), kEven); });
}

constexpr bool kConvertsFloat16 = true;

struct Float16 {
  static Floats to_float32(HalfBits x) {
    return by_halves<Floats>([&](int i) { return _mm256_cvtph_ps(half_of<__m128i>(x, i)); });
  }
  static HalfBits from_float32(Floats x) {
    return by_halves<HalfBits>(
        [&](int i) { return _mm256_cvtps_ph(half_of<__m256>(x, i), _MM_FROUND_TO_NEAREST_INT); });
  }
};

#define CPUACC_IN_REGISTER "+m" /* for asm, which has no two registers */

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) {
  typedef T Narrow __attribute__((vector_size(CPUACC_VECTOR_BYTES / 4)));
  Narrow bytes{};
  std::memcpy(&bytes, p, static_cast<size_t>(n < kLanes ? n : kLanes));
  return __builtin_convertvector(bytes, Ints);
}

[[maybe_unused]] inline Bytes narrowed(Ints x) { return __builtin_convertvector(x, Bytes); }

[[maybe_unused]] inline LookUp best_look_up() { return look_up_by_shuffles; }

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
