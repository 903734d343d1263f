/* SPDX-License-Identifier: MIT */
/* The sum of a row of bytes, as they are read. */
#pragma once

#include "kernels/int8/dot_traits.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Eight bytes side by side in one number, added without their carries meeting. */
inline int32_t sum_of_eight(const uint8_t *p, uint64_t turned) {
  constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  bytes ^= turned;
  const uint64_t pairs = (bytes & kEven) + (bytes >> 8 & kEven);
  return static_cast<int32_t>(pairs * 0x0001000100010001 >> 48);
}

/* The sums of the lanes are that of the n bytes as they are read; the rest behind whole vectors goes by eights and
 * then one by one, unsigned.
 */
inline Ints add_bytes(Ints sum, const uint8_t *p, int64_t n, Ints turned) {
  constexpr int64_t kBytes = CPUACC_VECTOR_BYTES;
  const Ints ones = splat_int(0x01010101);
  int64_t k = 0;
  for (; k + kBytes <= n; k += kBytes) sum = dot(sum, fours(load_ints(p + k) ^ turned), fours(ones));
  const bool is_signed = (turned[0] == 0) == (kReads == Reads::signed_bytes);
  const uint64_t sign = is_signed ? 0x8080808080808080 : 0;
  int32_t rest = kReads == Reads::unsigned_bytes ? 0 : static_cast<int32_t>(-128 * (n - k));
  for (; k + 8 <= n; k += 8) rest += sum_of_eight(p + k, sign);
  for (; k < n; ++k) rest += static_cast<uint8_t>(p[k] ^ static_cast<uint8_t>(sign));
  sum[0] += rest;
  return sum;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
