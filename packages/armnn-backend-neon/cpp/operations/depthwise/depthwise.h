/* SPDX-License-Identifier: MIT */
/* Depthwise convolution: one output channel per input channel. */
#pragma once

#include <memory>

#include "graph/ir.h"
#include "operations/windows.h"

namespace cpuacc {

/* Args: weights: [window_height, window_width, C]. */
OperationPtr depthwise_convolution(TensorId input, TensorId weights, TensorId bias, TensorId out,
                                   const Windows &windows);

}  // namespace cpuacc
