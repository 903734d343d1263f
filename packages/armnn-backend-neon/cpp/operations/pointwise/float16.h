/* SPDX-License-Identifier: MIT */
/* Functions and arithmetic on Float16, at levels that compute in it. */
#pragma once

#include "operations/pointwise/binary.h"

namespace cpuacc {

/* What computes a function of halves; nullptr: computed in halves it has other bits than in float32. */
OperationPtr float16_function(const Kernels &kernels, TensorId from, TensorId to, const Elementwise &function);
OperationPtr float16_arithmetic(const std::vector<TensorId> &from, TensorId to, const Broadcast &broadcast,
                                Arithmetic operation);

}  // namespace cpuacc
