/* SPDX-License-Identifier: MIT */
/* AVX2 with FMA and F16C: eight floats in a register. */
#pragma once

#include <immintrin.h>

#include "kernels/isa/look_up_by_shuffles.h"
#include "kernels/vector_types.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of float sums: rows, and vectors in each row. */
constexpr int kRows = 6;
constexpr int kVectors = 2;
/* Outputs of a depthwise convolution above each other that share their loads. */
constexpr int kTall = 1;

/* All bits of the first n lanes. */
[[maybe_unused]] inline __m256i first_lanes(int64_t n) {
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)), numbers);
}

/* The first n lanes, 0 <= n <= kLanes; the others are 0. */
[[maybe_unused]] inline Floats load_part(const float *p, int64_t n) {
  return reinterpret_cast<Floats>(_mm256_maskload_ps(p, first_lanes(n)));
}

[[maybe_unused]] inline void store_part(float *p, Floats x, int64_t n) {
  _mm256_maskstore_ps(p, first_lanes(n), reinterpret_cast<__m256>(x));
}

[[maybe_unused]] inline Floats square_root(Floats x) {
  return reinterpret_cast<Floats>(_mm256_sqrt_ps(reinterpret_cast<__m256>(x)));
}

/* NaN in y wins, NaN in x loses. The compiler does not see the instruction in a choice with a constant. */
[[maybe_unused]] inline Floats maximum(Floats x, Floats y) { return _mm256_max_ps(x, y); }
[[maybe_unused]] inline Floats minimum(Floats x, Floats y) { return _mm256_min_ps(x, y); }

/* To the nearest, ties to even. */
[[maybe_unused]] inline Floats round_even(Floats x) {
  return reinterpret_cast<Floats>(
      _mm256_round_ps(reinterpret_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* Whether instructions of its own convert Float16. */
constexpr bool kConvertsFloat16 = true;

struct Float16 {
  static Floats to_float32(HalfBits x) {
    return reinterpret_cast<Floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(x)));
  }
  static HalfBits from_float32(Floats x) {
    return reinterpret_cast<HalfBits>(_mm256_cvtps_ph(reinterpret_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT));
  }
};

#define CPUACC_IN_REGISTER "+x" /* for asm */

typedef int16_t Shorts __attribute__((vector_size(CPUACC_VECTOR_BYTES)));

/* Sums of the two products of shorts in each lane. */
[[maybe_unused]] inline Ints pairs_of_products(Shorts a, Shorts b) {
  return reinterpret_cast<Ints>(
      _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}

/* Sums of two products of unsigned bytes with signed ones in each short, which saturate. */
struct ProductsOfBytes {
  static constexpr bool kAreThere = true;
  static Shorts pairs(Ints a, Ints b) {
    return reinterpret_cast<Shorts>(_mm256_maddubs_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
  }
};

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) {
  constexpr bool kIsSigned = T(-1) < T(0);
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<int64_t>(first_bytes<uint64_t>(p, n)));
  return reinterpret_cast<Ints>(kIsSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
}

/* The lowest byte of each number, each of which fits into one, signed or unsigned. */
[[maybe_unused]] inline Bytes narrowed(Ints x) {
  const Ints low = x & 255;
  const __m256i whole = reinterpret_cast<__m256i>(low);
  const __m128i shorts = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
  const __m128i bytes = _mm_packus_epi16(shorts, shorts);
  Bytes result;
  std::memcpy(&result, &bytes, sizeof result);
  return result;
}

/* The fastest way to look bytes up in a table of 256. */
[[maybe_unused]] inline LookUp best_look_up() {
  return look_up_by_shuffles;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
