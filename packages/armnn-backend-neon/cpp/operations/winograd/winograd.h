/* SPDX-License-Identifier: MIT */
/* Convolutions by Winograd's minimal filtering: of 3 x 3 windows, and along one axis. */
#pragma once

#include <memory>

#include "graph/ir.h"
#include "operations/gemm/gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* The side of the output tiles, 2, 4 or under fast math 6, by which a convolution takes the least time;
 * 0: it does by plain sums, or it is none that can be done so.
 *
 * Args: layout: of the weights, [9 taps, depth, columns].
 */
int64_t winograd_2d_side(const Windows &windows, const WeightLayout &layout, const FastMath &fast_math);

/* Args: side: that of winograd_2d_side. */
OperationPtr winograd_2d_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, int64_t side);

/* F(outputs, window) along one axis of the image; the other axis of the window is summed up. */
struct Winograd1dFilter {
  bool is_along_y;
  int64_t outputs; /* 0: none, plain sums take less */
  int64_t window;

  int64_t points() const { return outputs + window - 1; }
};

/* What takes the least time.
 *
 * Args: layout: of the weights, a tap per element of the window.
 */
Winograd1dFilter winograd_1d_filter(const Windows &windows, const WeightLayout &layout);

/* Args: filter: that of winograd_1d_filter. */
OperationPtr winograd_1d_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, const Winograd1dFilter &filter);

}  // namespace cpuacc
