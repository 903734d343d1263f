/* SPDX-License-Identifier: MIT */
/* Beside the int8 gemm: sums of rows for the zero point of weights, and accumulators dequantised. */
#include "kernels/int8/vector.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

#if CPUACC_VECTOR_BYTES == 64

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

#else

/* Eight bytes side by side in one number, added without their carries meeting. */
inline int32_t sum_of_eight(const uint8_t *p, uint64_t turned) {
  constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  bytes ^= turned;
  const uint64_t pairs = (bytes & kEven) + (bytes >> 8 & kEven);
  return static_cast<int32_t>(pairs * 0x0001000100010001 >> 48);
}

/* As above; the rest behind whole vectors goes by eights and then one by one, unsigned. */
inline Ints add_bytes(Ints sum, const uint8_t *p, int64_t n, Ints turned) {
  constexpr int64_t kBytes = CPUACC_VECTOR_BYTES;
  const Ints ones = splat_int(0x01010101);
  int64_t k = 0;
  for (; k + kBytes <= n; k += kBytes) sum = dot(sum, fours(load_ints(p + k) ^ turned), fours(ones));
  const bool is_signed = (turned[0] == 0) != kReadsUnsigned;
  const uint64_t sign = is_signed ? 0x8080808080808080 : 0;
  int32_t rest = kReadsUnsigned ? 0 : static_cast<int32_t>(-128 * (n - k));
  for (; k + 8 <= n; k += 8) rest += sum_of_eight(p + k, sign);
  for (; k < n; ++k) rest += static_cast<uint8_t>(p[k] ^ static_cast<uint8_t>(sign));
  sum[0] += rest;
  return sum;
}

#endif

void sum_rows(const Int8GemmTile &tile, int32_t *sums) {
  const Ints turned = splat_int(turned_bits(tile.is_signed));
  for (int32_t r = 0; r < tile.row_count; ++r) {
    Ints sum{};
    for (int64_t t = 0; t < tile.taps; ++t) {
      sum = add_bytes(sum, tile.rows[t * tile.rows_stride + r], tile.depth, turned);
    }
    int32_t total = 0;
    for (int64_t lane = 0; lane < kLanes; ++lane) total += sum[lane];
    sums[r] = total;
  }
}

inline Floats real_of(Ints sums, Ints whole, Floats scale, Floats shift) {
  return __builtin_convertvector(sums + whole, Floats) * scale + shift;
}

void dequantise_accumulators(const DequantisedAccumulators &as, void *sums, int64_t stride, int64_t rows,
                             int64_t columns) {
  const Floats scale = splat(as.scale);
  for (int64_t r = 0; r < rows; ++r) {
    auto *row = static_cast<int32_t *>(sums) + r * stride;
    int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      const Ints whole = as.whole == nullptr ? Ints{} : load_ints(as.whole + j);
      const Floats shift = as.shift == nullptr ? Floats{} : load(as.shift + j);
      const Floats made = real_of(load_ints(row + j), whole, scale, shift);
      std::memcpy(row + j, &made, sizeof made);
    }
    for (; j < columns; ++j) {
      const int32_t whole = as.whole == nullptr ? 0 : as.whole[j];
      const float shift = as.shift == nullptr ? 0.0f : as.shift[j];
      const float made = static_cast<float>(row[j] + whole) * as.scale + shift;
      std::memcpy(row + j, &made, sizeof made);
    }
  }
}

}  // namespace

void fill_int8_accumulators(Kernels &table) {
  table.int8.sum_rows = sum_rows;
  table.int8.dequantise_accumulators = dequantise_accumulators;
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
