/* SPDX-License-Identifier: MIT */
/* Convolutions with 3 x 3 windows by Winograd's minimal filtering. */
#ifndef CPUACC_OPERATIONS_WINOGRAD_WINOGRAD_2D_H_
#define CPUACC_OPERATIONS_WINOGRAD_WINOGRAD_2D_H_

#include "operations/gemm/gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* The side of the output tiles, 2, 4 or under fast math 6, by which a convolution takes the least time;
 * 0: it does by plain sums, or it is none that can be done so.
 *
 * Args: layout: of the weights, [9 taps, depth, columns].
 */
int64_t winograd_2d_side(const Windows &windows, const WeightLayout &layout, const FastMath &fast_math);

/* Adds the convolution; side is that of winograd_2d_side. */
void add_winograd_2d(Lowering &lowering, TensorId input, TensorId weights, TensorId bias, TensorId out,
                     const Windows &windows, const WeightLayout &layout, int64_t side);

}  // namespace cpuacc

#endif
