/* SPDX-License-Identifier: MIT */
/* Functions and arithmetic on Float16, at levels that compute in it. */
#ifndef CPUACC_OPERATIONS_POINTWISE_FLOAT16_H_
#define CPUACC_OPERATIONS_POINTWISE_FLOAT16_H_

#include "operations/pointwise/binary.h"

namespace cpuacc {

/* Whether a number is a half; NaN is none. */
bool is_float16(const Kernels &kernels, float number);

/* What computes a function of halves; nullptr: computed in halves it has other bits than in float32. */
std::unique_ptr<Operation> float16_function(const Kernels &kernels, TensorId from, TensorId to,
                                            const Elementwise &function);
std::unique_ptr<Operation> float16_arithmetic(const std::vector<TensorId> &from, TensorId to,
                                              const Broadcast &broadcast, Arithmetic operation);

}  // namespace cpuacc

#endif
