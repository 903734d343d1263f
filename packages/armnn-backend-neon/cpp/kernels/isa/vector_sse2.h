/* SPDX-License-Identifier: MIT */
/* SSE2, which every x86-64 processor has: four floats in a register. */
#pragma once

#include <emmintrin.h>

#include "kernels/look_up.h"
#include "kernels/vector_types.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of float sums: rows, and vectors in each row. */
constexpr int kRows = 4;
constexpr int kVectors = 2;
/* Outputs of a depthwise convolution above each other that share their loads. */
constexpr int kTall = 1;

/* The first n lanes, 0 <= n <= kLanes; the others are 0. */
[[maybe_unused]] inline Floats load_part(const float *p, int64_t n) {
  if (n >= kLanes) return load(p);
  Floats x{};
  if (n > 0) x[0] = p[0];
  if (n > 1) x[1] = p[1];
  if (n > 2) x[2] = p[2];
  return x;
}

[[maybe_unused]] inline void store_part(float *p, Floats x, int64_t n) {
  if (n >= kLanes) return store(p, x);
  if (n > 0) p[0] = x[0];
  if (n > 1) p[1] = x[1];
  if (n > 2) p[2] = x[2];
}

[[maybe_unused]] inline Floats square_root(Floats x) {
  return reinterpret_cast<Floats>(_mm_sqrt_ps(reinterpret_cast<__m128>(x)));
}

/* To the nearest, ties to even. */
[[maybe_unused]] inline Floats round_even(Floats x) {
  /* What is 2^23 or larger is whole already. */
  const Floats magic = with_sign_of(splat(8388608.0f), x);
  const Floats rounded = with_sign_of((x + magic) - magic, x);
  return absolute(x) < splat(8388608.0f) ? rounded : x;
}

/* A narrow vector in the lower lanes of a whole one. */
[[maybe_unused]] inline Floats whole_of(NarrowFloats x) {
  Floats whole{};
  std::memcpy(&whole, &x, sizeof x);
  return whole;
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

/* A vector of which the compiler no longer knows that its lanes are alike: else it turns the bits of
 * each element in a general register, and moves that to a vector.
 */
template <typename Vector>
inline Vector hidden(Vector x) {
  asm("" : "+x"(x));
  return x;
}

typedef int16_t Shorts __attribute__((vector_size(CPUACC_VECTOR_BYTES)));

/* Sums of the two products of shorts in each lane. */
[[maybe_unused]] inline Ints pairs_of_products(Shorts a, Shorts b) {
  return reinterpret_cast<Ints>(
      _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
}

template <typename T>
[[maybe_unused]] inline Ints widened_bytes(__m128i bytes) {
  constexpr bool kIsSigned = T(-1) < T(0);
  const __m128i twice = _mm_unpacklo_epi8(bytes, bytes);
  const __m128i high = _mm_unpacklo_epi16(twice, twice); /* each byte four times */
  return reinterpret_cast<Ints>(kIsSigned ? _mm_srai_epi32(high, 24) : _mm_srli_epi32(high, 24));
}

[[maybe_unused]] inline __m128i some_bytes(const uint8_t *p, int64_t n) {
  uint64_t bytes = 0; /* by way of a general register: vectors put together in memory stall */
  if (n >= kLanes) {
    std::memcpy(&bytes, p, kLanes);
  } else {
    std::memcpy(&bytes, p, static_cast<size_t>(n));
  }
  return _mm_cvtsi64_si128(static_cast<int64_t>(bytes));
}

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) { return widened_bytes<T>(some_bytes(p, n)); }

/* The lowest byte of each number, each of which fits into one, signed or unsigned. */
[[maybe_unused]] inline Bytes narrowed(Ints x) {
  const Ints low = x & 255;
  const __m128i shorts = _mm_packs_epi32(reinterpret_cast<__m128i>(low), _mm_setzero_si128());
  const __m128i bytes = _mm_packus_epi16(shorts, shorts);
  Bytes result;
  std::memcpy(&result, &bytes, sizeof result);
  return result;
}

[[maybe_unused]] inline void store_bytes(void *p, Bytes x, int64_t n) {
  std::memcpy(p, &x, static_cast<size_t>(n));
}

/* The fastest way to look bytes up in a table of 256. */
[[maybe_unused]] inline LookUp best_look_up() {
  return look_up_each;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
