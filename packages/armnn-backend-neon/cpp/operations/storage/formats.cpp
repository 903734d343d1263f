/* SPDX-License-Identifier: MIT */
#include "operations/storage/formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "costs/costs.h"

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

void dequantise(const Kernels &kernels, armnn_data_type type, const Quantization &by, const void *x, float *y,
                int64_t n) {
  kernels.dequantize[static_cast<int>(integer_of(type))](x, y, n, by.scales[0], by.zero_points[0]);
}

void quantise(const Kernels &kernels, armnn_data_type type, const Quantization &by, const float *x, void *y,
              int64_t n) {
  kernels.quantize[static_cast<int>(integer_of(type))](x, y, n, by.scales[0], by.zero_points[0]);
}

RoundedRows::RoundedRows(int64_t count, int64_t length)
    : count(count),
      length(length),
      stride(length % costs::kCrowdedFloats == 0 ? length + costs::kBfloat16RowFiller : length) {}

size_t RoundedRows::bytes() const {
  return aligned_bytes(static_cast<size_t>(count * stride) * sizeof(Bfloat16));
}

void RoundedRows::round(const Frame &frame, const float *from, Bfloat16 *to) const {
  if (count == 0 || length == 0) return;
  const int64_t rows = std::max<int64_t>(1, costs::kChunkElements / length); /* of a piece */
  const double piece_ns = static_cast<double>(rows * length) * frame.element_ns();
  frame.pool.run(ratio_up(count, rows), piece_ns, [&](int64_t begin, int64_t end, int32_t) {
    const int64_t last = std::min(end * rows, count);
    const int64_t at = begin * rows;
    if (stride == length) {
      return frame.kernels.round_to_bfloat16(from + at * length, to + at * length, (last - at) * length);
    }
    for (int64_t i = at; i < last; ++i) {
      frame.kernels.round_to_bfloat16(from + i * length, to + i * stride, length);
    }
  });
}

}  // namespace cpuacc
