/* SPDX-License-Identifier: MIT */
/* Functions of bytes by a table of all their values. */
#include "kernels/int8/vector.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

inline void look_up_each(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

#if defined(__AVX2__)

/* A shuffle looks up 16 values: with 16 taken off from row to row, just one row has each byte
 * between 0 and 15; the sum saturates where it is not, and a set highest bit selects zero.
 */
void look_up_by_shuffles(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
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

#endif

#if defined(__AVX512BW__)

/* Of the processors of this level only some can do this. */
__attribute__((target("avx512vbmi"))) void look_up_by_permutations(const uint8_t *table, const uint8_t *x,
                                                                   uint8_t *y, int64_t n) {
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

#elif defined(__aarch64__)

void look_up_by_quarters(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  constexpr int64_t kBytes = 16;
  const uint8x16_t quarter = vdupq_n_u8(64);
  uint8x16x4_t quarters[4];
  for (int q = 0; q < 4; ++q) quarters[q] = vld1q_u8_x4(table + 64 * q);
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) {
    uint8x16_t place = vld1q_u8(x + i);
    uint8x16_t found = vqtbl4q_u8(quarters[0], place);
    CPUACC_UNROLL for (int q = 1; q < 4; ++q) {
      place = vsubq_u8(place, quarter);
      found = vqtbx4q_u8(found, quarters[q], place);
    }
    vst1q_u8(y + i, found);
  }
  look_up_each(table, x + i, y + i, n - i);
}

#endif

}  // namespace

void fill_int8_lookup(Kernels &table) {
#if defined(__AVX512BW__)
  table.int8.look_up = __builtin_cpu_supports("avx512vbmi") ? look_up_by_permutations : look_up_by_shuffles;
#elif defined(__AVX2__)
  table.int8.look_up = look_up_by_shuffles;
#elif defined(__aarch64__)
  table.int8.look_up = look_up_by_quarters;
#else
  table.int8.look_up = look_up_each;
#endif
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
