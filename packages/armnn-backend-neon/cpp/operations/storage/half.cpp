/* SPDX-License-Identifier: MIT */
#include "operations/storage/half.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace cpuacc {

bool is_half(armnn_data_type type) { return type == ARMNN_FLOAT16 || type == ARMNN_BFLOAT16; }

HalfFormat half_format_of(armnn_data_type type) {
  return type == ARMNN_FLOAT16 ? HalfFormat::float16 : HalfFormat::bfloat16;
}

float float32_of(uint16_t bits, HalfFormat format) {
  if (format == HalfFormat::bfloat16) {
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

void HalfToFloat32::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                                 int64_t n) const {
  kernels.half_to_float32[static_cast<int>(format_)](static_cast<const uint16_t *>(operands[0]),
                                                     static_cast<float *>(to), n);
}

void Float32ToHalf::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                                 int64_t n) const {
  kernels.float32_to_half[static_cast<int>(format_)](static_cast<const float *>(operands[0]),
                                                     static_cast<uint16_t *>(to), n);
}

}  // namespace cpuacc
