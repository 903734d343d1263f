/* SPDX-License-Identifier: MIT */
/* Functions of float32 and Float16 elements, and arithmetic of two operands with broadcasting. */
#pragma once

#include <memory>

#include "operations/pointwise/binary.h"

namespace cpuacc {

OperationPtr apply_function(Ends ends, const Elementwise &function);
OperationPtr combine(const BinaryOperands &operands, Arithmetic operation);

/* The same of Float16, at levels that compute in it; nullptr: computed so it has other bits than in float32. */
OperationPtr float16_function(const Kernels &kernels, Ends ends, const Elementwise &function);
OperationPtr float16_arithmetic(const BinaryOperands &operands, Arithmetic operation);

/* y is the slope. */
OperationPtr prelu(const BinaryOperands &operands);

/* scale * x + shift, a number of each per channel; the channels are last. */
OperationPtr scale_shift(Ends ends, TensorId scale, TensorId shift, int64_t channels);

}  // namespace cpuacc
