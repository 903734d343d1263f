/* SPDX-License-Identifier: MIT */
/* Depthwise convolution: one output channel per input channel. */
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "operations/gemm/gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* How far apart in the weights those of neighboring channels are, and of a window's rows and columns. */
struct WindowSteps {
  int64_t channel, row, column;

  /* All that packing depends on but the kernel. */
  std::string recipe(const Windows &windows) const;
};

/* Args: steps: of constant weights, which are packed; computed ones are [window_height, window_width, C]. */
OperationPtr depthwise_convolution(const WeightedTensors &tensors, const Windows &windows, const WindowSteps &steps);

/* Calls compute(rows, thread) for bands of rows of the output, in pieces of so many columns, by threads; compute
 * gets shared rows with their place. Args: ns: what a piece of a band takes.
 */
template <typename Rows, typename In, typename To, typename Compute>
void for_each_band(const Frame &frame, const Windows &w, int64_t band, int64_t piece, double ns, const In *input,
                   const To &output, const Rows &shared, const Compute &compute) {
  const int64_t bands = ratio_up(w.output_height, band);
  const int64_t pieces = ratio_up(w.output_width, piece);
  frame.for_each(w.batch * bands * pieces, ns, [&](int64_t i, int32_t thread) {
    const int64_t image = i / pieces / bands;
    const int64_t first = i / pieces % bands * band;
    const int64_t x = i % pieces * piece;
    Rows rows = shared;
    static_cast<DepthwiseShape &>(rows) = {w.height,   w.width,    w.channels,   w.window_height, w.window_width,
                                           w.stride_y, w.stride_x, w.dilation_y, w.dilation_x};
    rows.count = std::min(band, w.output_height - first);
    rows.output_width = std::min(piece, w.output_width - x);
    rows.input = input + image * w.height * w.width * w.channels;
    rows.output = output + ((image * w.output_height + first) * w.output_width + x) * w.channels;
    rows.top = first * w.stride_y - w.pad_top;
    rows.left = x * w.stride_x - w.pad_left;
    compute(rows, thread);
  });
}

}  // namespace cpuacc
