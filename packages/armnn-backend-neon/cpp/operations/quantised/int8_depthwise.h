/* SPDX-License-Identifier: MIT */
/* The two ways of a depthwise convolution of bytes: neighbours of a channel are gathered, or lines interleaved. */
#pragma once

#include "operations/quantised/quantised.h"

namespace cpuacc {

/* Those of a depthwise convolution, as numbers without their zero point. */
struct Int8DepthwiseWeights {
  const uint8_t *stored;
  const Int8WeightSteps &steps;
  const Int8Params &params;

  int32_t at(int64_t c, int64_t row, int64_t column) const {
    const uint8_t byte = stored[c * steps.channel + row * steps.row + column * steps.column];
    const int32_t number = params.right_is_signed ? static_cast<int8_t>(byte) : byte;
    return number - params.right_zero_point;
  }
};

OperationPtr int8_depthwise_of_neighbours(const WeightedTensors &tensors, const Windows &windows,
                                          const Int8WeightSteps &steps, Int8Params params);

/* Where the level has depthwise_lines. */
OperationPtr int8_depthwise_of_lines(const WeightedTensors &tensors, const Windows &windows,
                                     const Int8WeightSteps &steps, Int8Params params);

}  // namespace cpuacc
