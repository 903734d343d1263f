/* SPDX-License-Identifier: MIT */
/* Formats in which tensors store real numbers in 8 or 16 bits. */
#pragma once

#include "armnn/backend.h"
#include "kernels/kernels.h"

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

}  // namespace cpuacc
