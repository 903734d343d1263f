/* SPDX-License-Identifier: MIT */
/* Formats in which tensors store real numbers in 8 or 16 bits, and rows converted to them. */
#pragma once

#include <cstdint>

#include "graph/ir.h"

namespace cpuacc {

/* Float16 and BFloat16. */
bool is_half(armnn_data_type type);
HalfFormat half_format_of(armnn_data_type type);

/* The value of such a number. */
float float32_of(uint16_t bits, HalfFormat format);

/* Whether Float16 holds a number; NaN is none. */
bool is_float16(const Kernels &kernels, float number);

/* Whether elements of a type are scale * (stored - zero_point), in 8 or 16 bits. */
bool is_quantized(armnn_data_type type);
Integer integer_of(armnn_data_type type);

/* Conversions between stored numbers and float32. */
void dequantize(const Kernels &kernels, armnn_data_type type, const Quantization &by, const void *x, float *y,
                int64_t n);
void quantize(const Kernels &kernels, armnn_data_type type, const Quantization &by, const float *x, void *y,
              int64_t n);

/* Rows of numbers side by side, and of the same numbers rounded, maybe with a filler between. */
struct Bfloat16Rows {
  Bfloat16Rows() = default;
  Bfloat16Rows(int64_t count, int64_t length);

  int64_t count = 0;
  int64_t length = 0;
  int64_t stride = 0; /* of the rounded ones */

  size_t bytes() const;
  void round(const Frame &frame, const float *from, Bfloat16 *to) const;
};

/* Numbers that are whole steps in 8 bits, as weights are that were quantized and are floats again. */

/* A step of which each number is a whole one in 8 bits, to the last bit; 0 if there is none.
 *
 * Args: stride: from one number to the next one.
 */
float step_of(const float *numbers, int64_t count, int64_t stride);

/* Finds the steps of the columns of rows, side by side; false if a column has none. */
bool find_steps(const float *rows, int64_t count, int64_t columns, float *steps);

/* How many steps of its column each number of a row is. */
void put_in_steps(const float *row, const float *steps, int64_t columns, int8_t *made);

}  // namespace cpuacc
