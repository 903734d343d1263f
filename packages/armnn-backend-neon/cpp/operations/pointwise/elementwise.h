/* SPDX-License-Identifier: MIT */
/* Functions of float32 elements, and arithmetic of two operands with broadcasting. */
#pragma once

#include <memory>

#include "operations/pointwise/binary.h"

namespace cpuacc {

std::unique_ptr<Operation> apply_function(TensorId from, TensorId to, const Elementwise &function);

std::unique_ptr<Operation> combine(TensorId x, TensorId y, TensorId to, const Broadcast &broadcast,
                                   Arithmetic operation);

std::unique_ptr<Operation> prelu(TensorId x, TensorId slope, TensorId to, const Broadcast &broadcast);

/* scale * x + shift, a number of each per channel; the channels are last. */
std::unique_ptr<Operation> scale_shift(TensorId from, TensorId scale, TensorId shift, TensorId to);

}  // namespace cpuacc
