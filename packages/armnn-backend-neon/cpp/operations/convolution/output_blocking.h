/* SPDX-License-Identifier: MIT */
/* Convolutions with few output channels: outputs side by side become the columns of one row, by weights
 * that are 0 where a window does not reach.
 */
#ifndef CPUACC_OPERATIONS_CONVOLUTION_OUTPUT_BLOCKING_H_
#define CPUACC_OPERATIONS_CONVOLUTION_OUTPUT_BLOCKING_H_

#include "operations/windows.h"

namespace cpuacc {

/* Of what a kernel computes at once in the widest vectors; narrower ones lose nothing by it. */
constexpr int64_t kGemmLanes = 16;
constexpr int64_t kDirectLanes = 8; /* it has vectors of half the width */

/* How many outputs side by side take the least time as one row; 1: each is a row of its own. */
int64_t outputs_per_block(const Windows &windows, int64_t columns, int64_t lanes);

/* The windows of rows of that many outputs. */
Windows blocked_windows(const Windows &windows, int64_t together);

/* The layer's second input, [O, KH, KW, I] or [O, I, KH, KW], as [together, O, KH, KW', I]. */
TensorId blocked_weights(Lowering &lowering, const Windows &windows, int64_t depth, bool is_depth_last,
                         int64_t together);

}  // namespace cpuacc

#endif
