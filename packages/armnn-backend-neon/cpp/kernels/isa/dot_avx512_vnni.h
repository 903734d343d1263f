/* SPDX-License-Identifier: MIT */
/* Products of unsigned bytes with signed ones by AVX-512 VNNI. */
#pragma once

#include "kernels/int8/kernels.h"
#include "kernels/isa/interleaved_avx512.h"
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of sums: rows, and vectors in each row. */
constexpr int kInt8Rows = 14;
constexpr int kInt8Vectors = 2;
/* Neighbors that a lane of a depthwise convolution multiplies at once. */
constexpr int kInt8Group = 4;

constexpr Reads kReads = Reads::unsigned_bytes;
typedef Ints Fours;

[[maybe_unused]] inline Fours fours(Ints bytes) { return bytes; }

[[maybe_unused]] inline Ints dot(Ints sum, Fours a, Fours b) {
  return reinterpret_cast<Ints>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum),
                                                    reinterpret_cast<__m512i>(a),
                                                    reinterpret_cast<__m512i>(b)));
}

/* Adds the products of the neighbors in each lane. */
[[maybe_unused]] inline Ints multiply_add(Ints sum, Ints neighbors, Ints weights) {
  return dot(sum, neighbors, weights);
}

/* Vectors of columns as half a register, where columns are few. */
typedef int32_t NarrowInts __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));

struct NarrowColumns {
  static constexpr bool kIsThere = true;
  typedef NarrowInts Sum;
  static NarrowInts loaded(const void *p) {
    return reinterpret_cast<NarrowInts>(_mm256_loadu_si256(static_cast<const __m256i *>(p)));
  }
  static NarrowInts bytes_of(int32_t four, NarrowInts turned) { return (four - NarrowInts{}) ^ turned; }
  static NarrowInts added(NarrowInts sum, NarrowInts x, NarrowInts weights) {
    return reinterpret_cast<NarrowInts>(_mm256_dpbusd_epi32(
        reinterpret_cast<__m256i>(sum), reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(weights)));
  }
  static Ints widened(NarrowInts sum) {
    return reinterpret_cast<Ints>(_mm512_maskz_inserti32x8(0xffff, _mm512_setzero_si512(),
                                                           reinterpret_cast<__m256i>(sum), 0));
  }
};

/* All weights are multiplied alike. */
struct SmallWeights {
  static constexpr bool kAreThere = false;
};

/* The sums of the lanes are that of the n bytes as they are read. */
inline Ints add_bytes(Ints sum, const uint8_t *p, int64_t n, Ints turned) {
  constexpr int64_t kBytes = CPUACC_VECTOR_BYTES;
  const Ints ones = splat_int(0x01010101);
  for (int64_t k = 0; k < n; k += kBytes) {
    const __mmask64 some = n - k >= kBytes ? ~__mmask64{0} : (__mmask64{1} << (n - k)) - 1;
    const __m512i bits = reinterpret_cast<__m512i>(turned);
    const __m512i read = _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, p + k), bits);
    sum = dot(sum, fours(reinterpret_cast<Ints>(_mm512_maskz_mov_epi8(some, read))), fours(ones));
  }
  return sum;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL

#include "kernels/int8/sum_by_dots.h"
#include "kernels/int8/windows_by_dots.h"
