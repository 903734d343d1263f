/* SPDX-License-Identifier: MIT */
/* Vectors of 8-bit integers: sums of four products per lane, and the way back to bytes.
 *
 * A Fours has four bytes per lane, ready to be multiplied. Sums are exact: no level saturates on the
 * way.
 */
#ifndef CPUACC_KERNELS_INT8_VECTOR_H_
#define CPUACC_KERNELS_INT8_VECTOR_H_

#include "kernels/vector.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

typedef int32_t UnalignedInts
    __attribute__((vector_size(CPUACC_VECTOR_BYTES), aligned(1), may_alias));
typedef int8_t Bytes __attribute__((vector_size(CPUACC_VECTOR_BYTES / 4)));

[[maybe_unused]] inline Ints load_ints(const void *p) { return *static_cast<const UnalignedInts *>(p); }

/* Products of unsigned bytes with signed ones. The same intrinsic is the instruction of AVX-VNNI and
 * that of AVX-512 in its short form, whichever the compiler may use.
 */
#if (CPUACC_VECTOR_BYTES == 64 && defined(__AVX512VNNI__)) || \
    (CPUACC_VECTOR_BYTES == 32 && (defined(__AVXVNNI__) || defined(__AVX512VNNI__)))
#define CPUACC_VNNI
#endif

#if defined(CPUACC_VNNI)

constexpr bool kReadsUnsigned = true;
typedef Ints Fours;

[[maybe_unused]] inline Fours fours(Ints bytes) { return bytes; }

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
#if CPUACC_VECTOR_BYTES == 64
  return reinterpret_cast<Ints>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                    reinterpret_cast<__m512i>(a),
                                                    reinterpret_cast<__m512i>(b)));
#else
  return reinterpret_cast<Ints>(_mm256_dpbusd_epi32(reinterpret_cast<__m256i>(sum),
                                                    reinterpret_cast<__m256i>(a),
                                                    reinterpret_cast<__m256i>(b)));
#endif
}

#elif defined(__aarch64__)

constexpr bool kReadsUnsigned = false;
typedef int8x16_t Fours;

[[maybe_unused]] inline Fours fours(Ints bytes) { return reinterpret_cast<int8x16_t>(bytes); }

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
#if defined(__ARM_FEATURE_DOTPROD)
  return reinterpret_cast<Ints>(vdotq_s32(reinterpret_cast<int32x4_t>(sum), a, b));
#else
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
  const int32x4_t high = vpaddlq_s16(vmull_high_s8(a, b));
  return sum + reinterpret_cast<Ints>(vpaddq_s32(low, high));
#endif
}

#else

/* The bytes at even and at odd places, as 16 bits each: products of bytes with saturation are of no
 * use.
 */
constexpr bool kReadsUnsigned = false;
typedef int16_t Shorts __attribute__((vector_size(CPUACC_VECTOR_BYTES)));

struct Fours {
  Shorts even;
  Shorts odd;
};

[[maybe_unused]] inline Fours fours(Ints bytes) {
  const Shorts pairs = reinterpret_cast<Shorts>(bytes);
  return {(pairs << 8) >> 8, pairs >> 8};
}

[[maybe_unused]] inline Ints pairs_of_products(Shorts a, Shorts b) {
#if CPUACC_VECTOR_BYTES == 64
  return reinterpret_cast<Ints>(
      _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif CPUACC_VECTOR_BYTES == 32
  return reinterpret_cast<Ints>(
      _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return reinterpret_cast<Ints>(
      _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#endif
}

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
  return sum + pairs_of_products(a.even, b.even) + pairs_of_products(a.odd, b.odd);
}

#endif

/* What turns the highest bit of each byte that this level does not read as it is stored. */
[[maybe_unused]] inline int32_t turned_bits(bool is_signed) {
  return is_signed == kReadsUnsigned ? static_cast<int32_t>(0x80808080u) : 0;
}

/* A vector of which the compiler no longer knows that its lanes are alike: else it turns the bits of
 * each element in a general register, and moves that to a vector.
 */
template <typename Vector>
inline Vector hidden(Vector x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__x86_64__)
  asm("" : "+x"(x));
#else
  asm("" : "+w"(x));
#endif
  return x;
}

[[maybe_unused]] inline int32_t read_four(const uint8_t *p) {
  int32_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return bytes;
}

/* Between numbers and bytes. The compiler's own conversions take the vectors apart. */
template <typename T>
struct Stored {
  typedef T Vector __attribute__((vector_size(CPUACC_VECTOR_BYTES / 4)));
};

#if defined(__x86_64__)

template <typename T>
[[maybe_unused]] inline Ints widened_bytes(__m128i bytes) {
  constexpr bool kIsSigned = T(-1) < T(0);
#if CPUACC_VECTOR_BYTES == 64
  return reinterpret_cast<Ints>(kIsSigned ? _mm512_maskz_cvtepi8_epi32(0xffff, bytes)
                                          : _mm512_maskz_cvtepu8_epi32(0xffff, bytes));
#elif CPUACC_VECTOR_BYTES == 32
  return reinterpret_cast<Ints>(kIsSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
#else
  const __m128i twice = _mm_unpacklo_epi8(bytes, bytes);
  const __m128i high = _mm_unpacklo_epi16(twice, twice); /* each byte four times */
  return reinterpret_cast<Ints>(kIsSigned ? _mm_srai_epi32(high, 24) : _mm_srli_epi32(high, 24));
#endif
}

[[maybe_unused]] inline __m128i some_bytes(const uint8_t *p, int64_t n) {
#if CPUACC_VECTOR_BYTES == 64
  if (n >= kLanes) return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  return _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << n) - 1u), p);
#else
  uint64_t bytes = 0; /* by way of a general register: vectors put together in memory stall */
  if (n >= kLanes) {
    std::memcpy(&bytes, p, kLanes);
  } else {
    std::memcpy(&bytes, p, static_cast<size_t>(n));
  }
  return _mm_cvtsi64_si128(static_cast<int64_t>(bytes));
#endif
}

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) { return widened_bytes<T>(some_bytes(p, n)); }

/* The lowest byte of each number, each of which fits into one, signed or unsigned. */
[[maybe_unused]] inline Bytes narrowed(Ints x) {
#if CPUACC_VECTOR_BYTES == 64
  return reinterpret_cast<Bytes>(_mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(x)));
#else
  const Ints low = x & 255;
#if CPUACC_VECTOR_BYTES == 32
  const __m256i whole = reinterpret_cast<__m256i>(low);
  const __m128i shorts = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
#else
  const __m128i shorts = _mm_packs_epi32(reinterpret_cast<__m128i>(low), _mm_setzero_si128());
#endif
  const __m128i bytes = _mm_packus_epi16(shorts, shorts);
  Bytes result;
  std::memcpy(&result, &bytes, sizeof result);
  return result;
#endif
}

#else

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) {
  uint32_t four = 0;
  if (n >= kLanes) {
    std::memcpy(&four, p, sizeof four);
  } else {
    std::memcpy(&four, p, static_cast<size_t>(n));
  }
  const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(four));
  if constexpr (T(-1) < T(0)) {
    return reinterpret_cast<Ints>(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(bytes)))));
  } else {
    return reinterpret_cast<Ints>(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
  }
}

[[maybe_unused]] inline Bytes narrowed(Ints x) {
  const int16x4_t halves = vmovn_s32(reinterpret_cast<int32x4_t>(x));
  const int8x8_t bytes = vmovn_s16(vcombine_s16(halves, halves));
  const int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
  Bytes result;
  std::memcpy(&result, &four, sizeof result);
  return result;
}

#endif

/* As many bytes as there are lanes, as numbers. With a count: the first n of them and zeros. */
template <typename T>
inline Ints widened(const uint8_t *p) { return widened<T>(p, kLanes); }

/* A Requantization as this level computes it. */
struct Requantizer {
  /* A float from here on holds whole numbers only: adding it rounds, and the number stands in the
   * lowest bits.
   */
  static constexpr float kWhole = 12582912.0f;
  static constexpr int32_t kWholeBits = 0x4b400000;

  Floats lowest, highest; /* before the zero point is added */
  Ints zero_point;
  Ints lowest_stored, highest_stored;

  explicit Requantizer(const Requantization &r)
      : lowest(splat(static_cast<float>(r.lowest - r.zero_point))),
        highest(splat(static_cast<float>(r.highest - r.zero_point))),
        zero_point(splat_int(r.zero_point)),
        lowest_stored(splat_int(r.lowest)),
        highest_stored(splat_int(r.highest)) {}

  Bytes operator()(Ints sum, Floats scale) const { return stored(__builtin_convertvector(sum, Floats) * scale); }

  Bytes stored(Floats real) const {
    const Floats inside = maximum(lowest, minimum(highest, real));
    const Ints whole = reinterpret_cast<Ints>(inside + kWhole) - kWholeBits;
    return narrowed(whole + zero_point);
  }

  Bytes stored(Ints steps) const {
    const Ints shifted = steps + zero_point;
    const Ints above = shifted < lowest_stored ? lowest_stored : shifted;
    return narrowed(above > highest_stored ? highest_stored : above);
  }
};

[[maybe_unused]] inline void store_bytes(void *p, Bytes x) { std::memcpy(p, &x, sizeof x); }

[[maybe_unused]] inline void store_bytes(void *p, Bytes x, int64_t n) {
#if CPUACC_VECTOR_BYTES == 64
  _mm_mask_storeu_epi8(p, static_cast<__mmask16>((1u << n) - 1u), reinterpret_cast<__m128i>(x));
#else
  std::memcpy(p, &x, static_cast<size_t>(n));
#endif
}

}  // namespace
}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
