/* SPDX-License-Identifier: MIT */
/* Bytes looked up by the shuffle of AVX2. */
#pragma once

#include <immintrin.h>

#include "kernels/vector_types.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* A shuffle looks up 16 values: with 16 taken off from row to row, just one row has each byte
 * between 0 and 15; the sum saturates where it is not, and a set highest bit selects zero.
 */
[[maybe_unused]] void look_up_by_shuffles(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  constexpr int64_t kBytes = 32;
  const __m256i others = _mm256_set1_epi8(0x70);
  const __m256i line_size = _mm256_set1_epi8(16);
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) {
    __m256i place = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(x + i));
    __m256i found = _mm256_setzero_si256();
    CPUACC_UNROLL for (int line = 0; line < 16; ++line) {
      const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i *>(table + 16 * line));
      const __m256i index = _mm256_adds_epu8(place, others);
      found = _mm256_or_si256(found, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), index));
      place = _mm256_sub_epi8(place, line_size);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(y + i), found);
  }
  look_up_each(table, x + i, y + i, n - i);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
