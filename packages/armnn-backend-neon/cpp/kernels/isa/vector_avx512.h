/* SPDX-License-Identifier: MIT */
/* AVX-512: sixteen floats in a register, thirty-two registers, masks. */
#pragma once

#include <immintrin.h>

#include "kernels/isa/look_up_by_shuffles.h"
#include "kernels/vector_types.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of float sums: rows, and vectors in each row. */
constexpr int kRows = 14;
constexpr int kVectors = 2;
/* Outputs of a depthwise convolution above each other that share their loads. */
constexpr int kTall = 2;

/* The first n lanes, 0 <= n <= kLanes; the others are 0. */
[[maybe_unused]] inline Floats load_part(const float *p, int64_t n) {
  return reinterpret_cast<Floats>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p));
}

[[maybe_unused]] inline void store_part(float *p, Floats x, int64_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m512>(x));
}

/* NaN in y wins, NaN in x loses. The compiler does not see the instruction in a choice with a constant. */
[[maybe_unused]] inline Floats maximum(Floats x, Floats y) { return _mm512_maskz_max_ps(0xffff, x, y); }
[[maybe_unused]] inline Floats minimum(Floats x, Floats y) { return _mm512_maskz_min_ps(0xffff, x, y); }

[[maybe_unused]] inline Floats square_root(Floats x) {
  return reinterpret_cast<Floats>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(x)));
}

/* To the nearest, ties to even. */
[[maybe_unused]] inline Floats round_even(Floats x) {
  return reinterpret_cast<Floats>(
      _mm512_maskz_roundscale_ps(0xffff, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
}

/* x 2^n, where n holds whole numbers. */
[[maybe_unused]] inline Floats times_power_of_two(Floats x, Floats n) {
  const auto wide = reinterpret_cast<__m512>(x);
  return reinterpret_cast<Floats>(_mm512_maskz_scalef_ps(0xffff, wide, reinterpret_cast<__m512>(n)));
}

/* A narrow vector in the lower lanes of a whole one. */
[[maybe_unused]] inline Floats whole_of(NarrowFloats x) {
  return reinterpret_cast<Floats>(
      _mm512_maskz_insertf32x8(0xffff, _mm512_setzero_ps(), reinterpret_cast<__m256>(x), 0));
}

/* Whether instructions of its own convert Float16. */
constexpr bool kConvertsFloat16 = true;

struct Float16 {
  static Floats to_float32(HalfBits x) {
    return reinterpret_cast<Floats>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(x)));
  }
  static HalfBits from_float32(Floats x) {
    return reinterpret_cast<HalfBits>(
        _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
  }
};

#define CPUACC_IN_REGISTER "+v" /* for asm */

template <typename T>
[[maybe_unused]] inline Ints widened_bytes(__m128i bytes) {
  constexpr bool kIsSigned = T(-1) < T(0);
  return reinterpret_cast<Ints>(kIsSigned ? _mm512_maskz_cvtepi8_epi32(0xffff, bytes)
                                          : _mm512_maskz_cvtepu8_epi32(0xffff, bytes));
}

[[maybe_unused]] inline __m128i some_bytes(const uint8_t *p, int64_t n) {
  if (n >= kLanes) return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  return _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1u), p);
}

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) { return widened_bytes<T>(some_bytes(p, n)); }

/* The lowest byte of each number, each of which fits into one, signed or unsigned. */
[[maybe_unused]] inline Bytes narrowed(Ints x) {
  return reinterpret_cast<Bytes>(_mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(x)));
}

[[maybe_unused]] inline void store_bytes(void *p, Bytes x, int64_t n) {
  _mm_mask_storeu_epi8(p, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m128i>(x));
}

/* Only some processors of this level have these instructions (AVX-512 VBMI). */
[[maybe_unused]] __attribute__((target("avx512vbmi"))) void look_up_by_permutations(
    const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  constexpr int64_t kBytes = 64;
  const __m512i first = _mm512_loadu_si512(table);
  const __m512i second = _mm512_loadu_si512(table + 64);
  const __m512i third = _mm512_loadu_si512(table + 128);
  const __m512i fourth = _mm512_loadu_si512(table + 192);
  for (int64_t i = 0; i < n; i += kBytes) {
    const __mmask64 some = n - i >= kBytes ? ~__mmask64{0} : (__mmask64{1} << (n - i)) - 1;
    const __m512i place = _mm512_maskz_loadu_epi8(some, x + i);
    const __m512i low = _mm512_permutex2var_epi8(first, place, second);
    const __m512i high = _mm512_permutex2var_epi8(third, place, fourth);
    _mm512_mask_storeu_epi8(y + i, some, _mm512_mask_blend_epi8(_mm512_movepi8_mask(place), low, high));
  }
}

/* The fastest way to look bytes up in a table of 256. */
[[maybe_unused]] inline LookUp best_look_up() {
  return __builtin_cpu_supports("avx512vbmi") ? look_up_by_permutations : look_up_by_shuffles;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
