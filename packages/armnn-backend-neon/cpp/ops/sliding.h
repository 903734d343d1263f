/* SPDX-License-Identifier: MIT */
/* Convolutions of images with few channels: a row of the window is one tap. */
#ifndef CPUACC_OPS_SLIDING_H_
#define CPUACC_OPS_SLIDING_H_

#include "graph/lowering.h"
#include "ops/windows.h"

namespace cpuacc {

/* Whether these windows, of one group, are worth add_sliding. */
bool slides(const Windows &windows);

/* A convolution of one group; weights are [columns, window_height, window_width, channels]. */
void add_sliding(Lowering &lowering, TensorId input, TensorId weights, TensorId bias, TensorId out,
                 const Windows &windows, int64_t columns);

}  // namespace cpuacc

#endif
