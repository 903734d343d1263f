/* SPDX-License-Identifier: MIT */
/* SSE2, which every x86-64 processor has: four floats in a register. */
#pragma once

#include <emmintrin.h>

#include "kernels/isa/part_of_four.h"
#include "kernels/vector_types.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of float sums: rows, and vectors in each row. */
constexpr int kRows = 4;
constexpr int kVectors = 2;
/* Outputs of a depthwise convolution above each other that share their loads. */
constexpr int kTall = 1;

[[maybe_unused]] inline Floats square_root(Floats x) {
  return reinterpret_cast<Floats>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
}

/* NaN in y wins, NaN in x loses. The compiler does not see the instruction in a choice with a constant. */
[[maybe_unused]] inline Floats maximum(Floats x, Floats y) { return _mm_max_ps(x, y); }
[[maybe_unused]] inline Floats minimum(Floats x, Floats y) { return _mm_min_ps(x, y); }

/* To the nearest, ties to even. */
[[maybe_unused]] inline Floats round_even(Floats x) {
  /* A number of 2^23 or more is whole already. */
  const Floats magic = with_sign_of(splat(8388608.0f), x);
  const Floats rounded = with_sign_of((x + magic) - magic, x);
  return absolute(x) < splat(8388608.0f) ? rounded : x;
}

/* Whether instructions of its own convert Float16. */
constexpr bool kConvertsFloat16 = false;

inline Words bits_of(Floats x) { return reinterpret_cast<Words>(x); }

inline Words chosen(Words mask, Words yes, Words no) { return (mask & yes) | (~mask & no); }

/* The exponent's bias is moved by a product with 2^112, which subnormal numbers survive; to encode
 * them, a sum with 0.5 puts their last place where that of a float is.
 */
struct Float16 {
  static Floats to_float32(HalfBits x) {
    const Words bits = __builtin_convertvector(x, Words);
    const Words size = (bits & 0x7fff) << 13;
    const Words scaled = bits_of(reinterpret_cast<Floats>(size) * 5.192296858534828e33f);
    const Words is_finite = reinterpret_cast<Words>(size < 0x0f800000);
    return reinterpret_cast<Floats>(chosen(is_finite, scaled, size | 0x7f800000) | ((bits & 0x8000) << 16));
  }
  static HalfBits from_float32(Floats x) {
    const Words sign = (bits_of(x) >> 16) & 0x8000;
    const Words size = bits_of(x) & 0x7fffffff;
    const Words normal = (size - (112u << 23) + 0xfff + ((size >> 13) & 1)) >> 13;
    const Words subnormal = bits_of(reinterpret_cast<Floats>(size) + 0.5f) - 0x3f000000;
    const Words finite = chosen(reinterpret_cast<Words>(size < 0x38800000), subnormal, normal);
    const Words above = reinterpret_cast<Words>(size >= 0x47800000);
    const Words no_number = reinterpret_cast<Words>(size > 0x7f800000) & (0x200 | ((size >> 13) & 0x3ff));
    return __builtin_convertvector(sign | chosen(above, 0x7c00 | no_number, finite), HalfBits);
  }
};

#define CPUACC_IN_REGISTER "+x" /* for asm */

typedef int16_t Shorts __attribute__((vector_size(CPUACC_VECTOR_BYTES)));

/* Sums of the two products of shorts in each lane. */
[[maybe_unused]] inline Ints pairs_of_products(Shorts a, Shorts b) {
  return reinterpret_cast<Ints>(
      _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
}

/* Products of bytes come with SSSE3. */
struct ProductsOfBytes {
  static constexpr bool kAreThere = false;
};

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) {
  constexpr bool kIsSigned = T(-1) < T(0);
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<int64_t>(first_bytes<uint64_t>(p, n)));
  const __m128i twice = _mm_unpacklo_epi8(bytes, bytes);
  const __m128i high = _mm_unpacklo_epi16(twice, twice); /* each byte four times */
  return reinterpret_cast<Ints>(kIsSigned ? _mm_srai_epi32(high, 24) : _mm_srli_epi32(high, 24));
}

/* The lowest byte of each number, each of which fits into one, signed or unsigned. */
[[maybe_unused]] inline Bytes narrowed(Ints x) {
  const Ints low = x & 255;
  const __m128i shorts = _mm_packs_epi32(reinterpret_cast<__m128i>(low), _mm_setzero_si128());
  const __m128i bytes = _mm_packus_epi16(shorts, shorts);
  Bytes result;
  std::memcpy(&result, &bytes, sizeof result);
  return result;
}

/* The fastest way to look bytes up in a table of 256. */
[[maybe_unused]] inline LookUp best_look_up() {
  return look_up_each;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
