/* SPDX-License-Identifier: MIT */
#include "operations/storage/formats.h"

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

bool is_float16(const Kernels &kernels, float number) {
  uint16_t bits;
  kernels.float32_to_half[static_cast<int>(HalfFormat::float16)](&number, &bits, 1);
  return float32_of(bits, HalfFormat::float16) == number;
}

bool is_quantized(armnn_data_type type) {
  return type == ARMNN_QASYMM_U8 || type == ARMNN_QASYMM_S8 || type == ARMNN_QSYMM_S8 || type == ARMNN_QSYMM_S16;
}

Integer integer_of(armnn_data_type type) {
  if (type == ARMNN_QASYMM_U8) return Integer::unsigned8;
  return type == ARMNN_QSYMM_S16 ? Integer::signed16 : Integer::signed8;
}

}  // namespace cpuacc
