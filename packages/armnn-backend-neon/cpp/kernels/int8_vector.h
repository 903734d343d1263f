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

#if defined(__AVX512VNNI__)

constexpr bool kReadsUnsigned = true;
typedef Ints Fours;

inline Fours fours(Ints bytes) { return bytes; }

inline Ints dot(Ints sum, Fours a, Fours b) {
  return reinterpret_cast<Ints>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                    reinterpret_cast<__m512i>(a),
                                                    reinterpret_cast<__m512i>(b)));
}

#elif defined(__aarch64__)

constexpr bool kReadsUnsigned = false;
typedef int8x16_t Fours;

inline Fours fours(Ints bytes) { return reinterpret_cast<int8x16_t>(bytes); }

inline Ints dot(Ints sum, Fours a, Fours b) {
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)));
  const int32x4_t high = vpaddlq_s16(vmull_high_s8(a, b));
  return sum + reinterpret_cast<Ints>(vpaddq_s32(low, high));
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

inline Fours fours(Ints bytes) {
  const Shorts pairs = reinterpret_cast<Shorts>(bytes);
  return {(pairs << 8) >> 8, pairs >> 8};
}

inline Ints pairs_of_products(Shorts a, Shorts b) {
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

inline Ints dot(Ints sum, Fours a, Fours b) {
  return sum + pairs_of_products(a.even, b.even) + pairs_of_products(a.odd, b.odd);
}

#endif

/* What turns the highest bit of each byte that this level does not read as it is stored. */
[[maybe_unused]] inline int32_t turned_bits(bool is_signed) {
  return is_signed == kReadsUnsigned ? static_cast<int32_t>(0x80808080u) : 0;
}

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
    return __builtin_convertvector(whole + zero_point, Bytes);
  }

  Bytes stored(Ints steps) const {
    const Ints shifted = steps + zero_point;
    const Ints above = shifted < lowest_stored ? lowest_stored : shifted;
    return __builtin_convertvector(above > highest_stored ? highest_stored : above, Bytes);
  }
};

/* As many bytes as there are lanes, or the first n of them and zeros, as numbers. */
template <typename T>
struct Stored {
  typedef T Vector __attribute__((vector_size(CPUACC_VECTOR_BYTES / 4)));
};

template <typename T>
inline Ints widened(const uint8_t *p) {
  typename Stored<T>::Vector bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return __builtin_convertvector(bytes, Ints);
}

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) {
  if (n >= kLanes) return widened<T>(p);
  typename Stored<T>::Vector bytes{};
  std::memcpy(&bytes, p, static_cast<size_t>(n));
  return __builtin_convertvector(bytes, Ints);
}

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
