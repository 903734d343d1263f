/* SPDX-License-Identifier: MIT */
/* Convolutions by minimal filtering along one axis of their windows. */
#ifndef CPUACC_OPERATIONS_WINOGRAD_WINOGRAD_1D_H_
#define CPUACC_OPERATIONS_WINOGRAD_WINOGRAD_1D_H_

#include "operations/gemm/gemm.h"
#include "operations/windows.h"

namespace cpuacc {

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

/* Adds the convolution; filter is that of winograd_1d_filter. */
void add_winograd_1d(Lowering &lowering, TensorId input, TensorId weights, TensorId bias, TensorId out,
                     const Windows &windows, const WeightLayout &layout, const Winograd1dFilter &filter);

}  // namespace cpuacc

#endif
