/* SPDX-License-Identifier: MIT */
/* Decoding stored formats, and rows rounded to bfloat16. */
#include "operations/storage/formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

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

void dequantize(const Kernels &kernels, armnn_data_type type, const Quantization &by, const void *x, float *y,
                int64_t n) {
  kernels.dequantize[static_cast<int>(integer_of(type))](x, y, n, by.scales[0], by.zero_points[0]);
}

void quantize(const Kernels &kernels, armnn_data_type type, const Quantization &by, const float *x, void *y,
              int64_t n) {
  kernels.quantize[static_cast<int>(integer_of(type))](x, y, n, by.scales[0], by.zero_points[0]);
}

Bfloat16Rows::Bfloat16Rows(int64_t count, int64_t length)
    : count(count),
      length(length),
      stride(length % costs::kCrowdedFloats == 0 ? length + costs::kBfloat16RowFiller : length) {}

size_t Bfloat16Rows::bytes() const {
  return aligned_bytes(static_cast<size_t>(count * stride) * sizeof(Bfloat16));
}

void Bfloat16Rows::round(const Frame &frame, const float *from, Bfloat16 *to) const {
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

namespace {

constexpr float kLeastStep = -128.0f;
constexpr float kMostStep = 127.0f;
/* A sum with it is a whole number: the nearest one, or the even one of two. */
constexpr float kRounds = 12582912.0f;

/* The nearest whole number, for those that fit into 8 bits; a larger one for larger ones. */
float nearest(float number) { return (number + kRounds) - kRounds; }

/* Without branches, so that a loop of it is one of vectors. The product with what a step goes into once is a quotient
 * but for its last bits, which change no whole number of 8 bits.
 */
bool is_whole(float number, float step, float inverse) {
  const float steps = nearest(number * inverse);
  return (steps >= kLeastStep) & (steps <= kMostStep) & (steps * step == number);
}

/* A step that is none is found out by the first few numbers; beyond them whole blocks are looked at. */
bool are_whole(const float *numbers, int64_t count, int64_t stride, float step) {
  constexpr int64_t kFew = 4;
  constexpr int64_t kBlock = 64;
  const float inverse = 1.0f / step;
  int64_t i = 0;
  for (; i < std::min(kFew, count); ++i) {
    if (!is_whole(numbers[i * stride], step, inverse)) return false;
  }
  for (; stride == 1 && i + kBlock <= count; i += kBlock) {
    int32_t whole = 1;
    for (int64_t j = 0; j < kBlock; ++j) whole &= static_cast<int32_t>(is_whole(numbers[i + j], step, inverse));
    if (whole == 0) return false;
  }
  for (; i < count; ++i) {
    if (!is_whole(numbers[i * stride], step, inverse)) return false;
  }
  return true;
}

constexpr int32_t kInfinity = 0x7f800000;

/* The bits of a size but 0, which are ordered as sizes are: of comparing them compilers make vectors. */
int32_t bits_of(float number) {
  int32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  bits &= INT32_MAX;
  return bits == 0 ? kInfinity : bits;
}

/* 0 if no size was finite. */
float size_of(int32_t bits) {
  if (bits == kInfinity) return 0.0f;
  float size;
  std::memcpy(&size, &bits, sizeof size);
  return size;
}

/* The smallest finite size but 0; 0 if there is none. Of numbers side by side vectors are looked at. */
float smallest_of(const float *numbers, int64_t count, int64_t stride) {
  constexpr int64_t kLanes = 16;
  int32_t least[kLanes];
  std::fill_n(least, kLanes, kInfinity);
  int64_t i = 0;
  for (; stride == 1 && i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) least[j] = std::min(least[j], bits_of(numbers[i + j]));
  }
  for (; i < count; ++i) least[0] = std::min(least[0], bits_of(numbers[i * stride]));
  return size_of(*std::min_element(least, least + kLanes));
}

bool is_step(float step) { return step >= std::numeric_limits<float>::min(); }

}  // namespace

float step_of(const float *numbers, int64_t count, int64_t stride) {
  const float smallest = smallest_of(numbers, count, stride);
  if (smallest == 0.0f) return are_whole(numbers, count, stride, 1.0f) ? 1.0f : 0.0f; /* as of zeros alone */
  for (float steps = 1.0f; steps <= -kLeastStep; steps += 1.0f) {
    const float near = smallest / steps;
    for (const float step : {near, std::nextafter(near, 0.0f), std::nextafter(near, smallest)}) {
      if (is_step(step) && are_whole(numbers, count, stride, step)) return step;
    }
  }
  return 0.0f;
}

/* Nearly each column has a number of one step, the smallest one. All columns are tried with theirs row by row, which
 * takes a few instructions per number; the few others are searched one by one.
 */
bool find_steps(const float *rows, int64_t count, int64_t columns, float *steps) {
  std::vector<int32_t> least(static_cast<size_t>(columns), kInfinity);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      least[static_cast<size_t>(j)] = std::min(least[static_cast<size_t>(j)], bits_of(rows[i * columns + j]));
    }
  }
  std::vector<int32_t> are_steps(static_cast<size_t>(columns));
  std::vector<float> inverses(static_cast<size_t>(columns));
  for (int64_t j = 0; j < columns; ++j) {
    steps[j] = size_of(least[static_cast<size_t>(j)]);
    if (steps[j] == 0.0f) steps[j] = 1.0f;
    inverses[static_cast<size_t>(j)] = 1.0f / steps[j];
    are_steps[static_cast<size_t>(j)] = is_step(steps[j]);
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const auto column = static_cast<size_t>(j);
      are_steps[column] &= is_whole(rows[i * columns + j], steps[j], inverses[column]);
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    if (are_steps[static_cast<size_t>(j)] == 0) steps[j] = step_of(rows + j, count, columns);
    if (steps[j] == 0.0f) return false;
  }
  return true;
}

void put_in_steps(const float *row, const float *steps, int64_t columns, int8_t *made) {
  for (int64_t j = 0; j < columns; ++j) {
    made[j] = static_cast<int8_t>(static_cast<int32_t>(nearest(row[j] / steps[j])));
  }
}

}  // namespace cpuacc
