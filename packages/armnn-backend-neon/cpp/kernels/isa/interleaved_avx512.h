/* SPDX-License-Identifier: MIT */
/* The bytes of four lines side by side, in registers of 64 bytes. */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct InterleavedLines {
  static constexpr bool kIsThere = true;
  static constexpr int32_t kLeastChannels = 1;

  static Ints load(const uint8_t *p, int64_t n) {
    const bool is_whole = n >= CPUACC_VECTOR_BYTES;
    return reinterpret_cast<Ints>(is_whole ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(first(n), p));
  }
  static void store(uint8_t *p, Ints x, int64_t n) {
    if (n >= CPUACC_VECTOR_BYTES) return _mm512_storeu_si512(p, reinterpret_cast<__m512i>(x));
    _mm512_mask_storeu_epi8(p, first(n), reinterpret_cast<__m512i>(x));
  }
  static void interleave(const Ints (&lines)[4], Ints *to) {
    const __m512i a = reinterpret_cast<__m512i>(lines[0]), b = reinterpret_cast<__m512i>(lines[1]);
    const __m512i c = reinterpret_cast<__m512i>(lines[2]), d = reinterpret_cast<__m512i>(lines[3]);
    const __m512i low_ab = _mm512_unpacklo_epi8(a, b), high_ab = _mm512_unpackhi_epi8(a, b);
    const __m512i low_cd = _mm512_unpacklo_epi8(c, d), high_cd = _mm512_unpackhi_epi8(c, d);
    to[0] = reinterpret_cast<Ints>(_mm512_unpacklo_epi16(low_ab, low_cd));
    to[1] = reinterpret_cast<Ints>(_mm512_unpackhi_epi16(low_ab, low_cd));
    to[2] = reinterpret_cast<Ints>(_mm512_unpacklo_epi16(high_ab, high_cd));
    to[3] = reinterpret_cast<Ints>(_mm512_unpackhi_epi16(high_ab, high_cd));
  }
  static Ints joined(const Ints (&numbers)[4]) {
    const auto pair = [&](int i) {
      return _mm512_packs_epi32(reinterpret_cast<__m512i>(numbers[i]), reinterpret_cast<__m512i>(numbers[i + 1]));
    };
    const __m512i low = pair(0), high = pair(2);
    const __m512i bytes = _mm512_set1_epi16(0xff);
    return reinterpret_cast<Ints>(_mm512_packus_epi16(_mm512_and_si512(low, bytes), _mm512_and_si512(high, bytes)));
  }

 private:
  static __mmask64 first(int64_t n) { return (__mmask64{1} << n) - 1; }
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
