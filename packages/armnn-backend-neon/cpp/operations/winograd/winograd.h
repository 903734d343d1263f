/* SPDX-License-Identifier: MIT */
/* Convolutions by Winograd's minimal filtering: of 3 x 3 windows, and along one axis. */
#pragma once

#include <memory>
#include <vector>

#include "graph/ir.h"
#include "operations/gemm/gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* Into how many groups the panels of transformed weights are shared out among threads. A thread reads the tiles of its
 * blocks and the weights of its groups: both are kept about equal, as a few tiles with all weights would be read
 * from the caches that threads share. One: blocks alone are shared out.
 */
int64_t panel_groups(int64_t tiles, int64_t columns, int32_t threads, const Kernels &kernels);

/* Panels side by side. */
struct Panels {
  int64_t first, last;
};

Panels panels_of_group(int64_t group, int64_t groups, int64_t columns, const Kernels &kernels);

/* Whether a convolution can be done with tiles of 2 x 2, 4 x 4 and, under fast math, 6 x 6 outputs.
 *
 * Args: layout: of the weights, [9 taps, depth, columns].
 */
bool suits_winograd_2d(const Windows &windows, const WeightLayout &layout);

costs::Work winograd_2d_work(const Windows &windows, const WeightLayout &layout, int64_t side,
                             const Kernels &kernels);

/* Args: side: 2, 4 or 6. */
OperationPtr winograd_2d_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, int64_t side);

/* F(outputs, window) along one axis of the image; the other axis of the window is summed up. */
struct Winograd1dFilter {
  bool is_along_y;
  int64_t outputs;
  int64_t window;

  int64_t points() const { return outputs + window - 1; }
};

/* The filters by which a convolution can be computed. */
std::vector<Winograd1dFilter> winograd_1d_filters(const Windows &windows);

/* Args: layout: of the weights, a tap per element of the window. */
costs::Work winograd_1d_work(const Windows &windows, const WeightLayout &layout, const Winograd1dFilter &filter,
                             const Kernels &kernels);

/* Args: filter: one of winograd_1d_filters. */
OperationPtr winograd_1d_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, const Winograd1dFilter &filter);

}  // namespace cpuacc
