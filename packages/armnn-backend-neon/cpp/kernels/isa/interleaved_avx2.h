/* SPDX-License-Identifier: MIT */
/* The bytes of four lines side by side, in registers of 32 bytes. */
#pragma once

#include <cstring>

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct InterleavedLines {
  static constexpr bool kIsThere = true;
  /* A part of a register takes longer than neighbors that are gathered. */
  static constexpr int32_t kLeastChannels = CPUACC_VECTOR_BYTES;

  static Ints load(const uint8_t *p, int64_t) { return load_ints(p); }
  static void store(uint8_t *p, Ints x, int64_t) { std::memcpy(p, &x, sizeof x); }
  static void interleave(const Ints (&lines)[4], Ints *to) {
    const __m256i a = reinterpret_cast<__m256i>(lines[0]), b = reinterpret_cast<__m256i>(lines[1]);
    const __m256i c = reinterpret_cast<__m256i>(lines[2]), d = reinterpret_cast<__m256i>(lines[3]);
    const __m256i low_ab = _mm256_unpacklo_epi8(a, b), high_ab = _mm256_unpackhi_epi8(a, b);
    const __m256i low_cd = _mm256_unpacklo_epi8(c, d), high_cd = _mm256_unpackhi_epi8(c, d);
    to[0] = reinterpret_cast<Ints>(_mm256_unpacklo_epi16(low_ab, low_cd));
    to[1] = reinterpret_cast<Ints>(_mm256_unpackhi_epi16(low_ab, low_cd));
    to[2] = reinterpret_cast<Ints>(_mm256_unpacklo_epi16(high_ab, high_cd));
    to[3] = reinterpret_cast<Ints>(_mm256_unpackhi_epi16(high_ab, high_cd));
  }
  static Ints joined(const Ints (&numbers)[4]) {
    const auto pair = [&](int i) {
      return _mm256_packs_epi32(reinterpret_cast<__m256i>(numbers[i]), reinterpret_cast<__m256i>(numbers[i + 1]));
    };
    const __m256i low = pair(0), high = pair(2);
    const __m256i bytes = _mm256_set1_epi16(0xff);
    return reinterpret_cast<Ints>(_mm256_packus_epi16(_mm256_and_si256(low, bytes), _mm256_and_si256(high, bytes)));
  }
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
