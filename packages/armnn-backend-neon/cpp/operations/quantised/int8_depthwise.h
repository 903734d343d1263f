/* SPDX-License-Identifier: MIT */
/* Depthwise convolutions of bytes: one output channel per input channel. */
#ifndef CPUACC_OPERATIONS_QUANTISED_INT8_DEPTHWISE_H_
#define CPUACC_OPERATIONS_QUANTISED_INT8_DEPTHWISE_H_

#include "operations/quantised/int8_gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* How far apart in the weights those of neighbouring channels are, and of a window's rows and columns. */
struct Int8WeightSteps {
  int64_t channel, row, column;
};

void add_int8_depthwise(Lowering &lowering, TensorId input, TensorId weights, TensorId out,
                        const Windows &windows, const Int8WeightSteps &steps, Int8Params params);

}  // namespace cpuacc

#endif
