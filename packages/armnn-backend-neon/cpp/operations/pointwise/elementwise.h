/* SPDX-License-Identifier: MIT */
/* Functions of float32 elements, and arithmetic of two operands with broadcasting. */
#pragma once

#include <memory>

#include "operations/pointwise/binary.h"

namespace cpuacc {

OperationPtr apply_function(TensorId from, TensorId to, const Elementwise &function);

OperationPtr combine(TensorId x, TensorId y, TensorId to, const Broadcast &broadcast, Arithmetic operation);

OperationPtr prelu(TensorId x, TensorId slope, TensorId to, const Broadcast &broadcast);

/* scale * x + shift, a number of each per channel; the channels are last. */
OperationPtr scale_shift(TensorId from, TensorId scale, TensorId shift, TensorId to);

}  // namespace cpuacc
