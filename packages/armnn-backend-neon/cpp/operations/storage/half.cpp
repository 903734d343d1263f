/* SPDX-License-Identifier: MIT */
#include "operations/storage/half.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace cpuacc {

bool is_half(armnn_data_type type) { return type == ARMNN_FLOAT16 || type == ARMNN_BFLOAT16; }

Half half_of(armnn_data_type type) {
  return type == ARMNN_FLOAT16 ? Half::float16 : Half::bfloat16;
}

float widened(uint16_t bits, Half half) {
  if (half == Half::bfloat16) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float result;
    std::memcpy(&result, &wide, sizeof result);
    return result;
  }
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float size = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 1024),
                          exponent == 0 ? -24 : exponent - 25);
  if (exponent == 31) {
    using Limits = std::numeric_limits<float>;
    size = fraction == 0 ? Limits::infinity() : Limits::quiet_NaN();
  }
  return (bits >> 15) != 0 ? -size : size;
}

void Widen::compute_line(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                         int64_t n) const {
  kernels.widen[static_cast<int>(half_)](static_cast<const uint16_t *>(operands[0]),
                                         static_cast<float *>(to), n);
}

void Narrow::compute_line(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                          int64_t n) const {
  kernels.narrow[static_cast<int>(half_)](static_cast<const float *>(operands[0]),
                                          static_cast<uint16_t *>(to), n);
}

}  // namespace cpuacc
