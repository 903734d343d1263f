/* SPDX-License-Identifier: MIT */
/* Convolutions: indirect, direct and transposed, and when outputs are computed in blocks. */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/ir.h"
#include "operations/gemm/gemm.h"
#include "operations/windows.h"
#include "operations/winograd/winograd.h"

namespace cpuacc {

/* [N, H, W, C] * weights -> [N, H', W', groups * O]. Args: layout: of one group; group_stride: from one
 * group's weights to the next one's; use_bfloat16: whether it multiplies in bfloat16.
 */
OperationPtr indirect_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                                  bool use_bfloat16, int64_t groups = 1, int64_t group_stride = 0);

/* Whether windows that are multiplied in bfloat16 are computed over a raster, in tile registers. */
bool suits_raster(const Windows &windows, const Kernels &kernels);

/* The work of one group, without rounding its image. */
costs::Work raster_work(const Windows &windows, const WeightLayout &layout, const Kernels &kernels);

/* The numbers of one group's image that are rounded where it is stored in float32. */
double raster_numbers(const Windows &windows, const WeightLayout &layout);

/* indirect_convolution for windows that suit a raster. Args: layout: may have a tap for each row of the window. */
OperationPtr raster_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                                int64_t groups = 1, int64_t group_stride = 0);

/* Whether these windows, of one group, are worth a direct convolution. */
bool suits_direct(const Windows &windows);

/* Weights [columns, window_height, window_width, channels], a tap per row of the window. */
WeightLayout direct_layout(const Windows &windows, int64_t columns);

/* Weights [window_height, window_width, columns] for an image of one channel. */
WeightLayout single_channel_layout(const Windows &windows, int64_t columns);

/* The direct convolution of one group. Args: layout: one of the two above; given: that of the weights, which may have a tap per
 * element of the window, in the same order.
 */
OperationPtr direct_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                                const WeightLayout &given);

/* The weights of the layer, [O, KH, KW, I] or [O, I, KH, KW]. */
struct Window {
  int64_t height, width, depth, columns;
  bool is_depth_last;

  int64_t place(int64_t column, int64_t y, int64_t x, int64_t c) const {
    const int64_t tap = y * width + x;
    const int64_t taps = height * width;
    return column * taps * depth + (is_depth_last ? tap * depth + c : c * taps + tap);
  }
};

/* A phase of a transposed convolution along one axis: outputs first + i * stride. They are sums of inputs
 * lead + i - m, weighted by the window's elements offset + m * stride, for m = 0 .. taps - 1.
 */
struct Phase {
  int64_t first;
  int64_t count;
  int64_t lead;
  int64_t offset;
  int64_t taps;
};

/* The phases of an offset below the stride, of the output's rows and columns. */
Phase row_phase(const Windows &windows, int64_t offset);
Phase column_phase(const Windows &windows, int64_t offset);

/* Whether every block of outputs is as large as the window, and made from one input. */
bool blocks_tile(const Windows &windows);

/* [N, H, W, C] -> [N, H', W', O]. Args: bias: the channels' numbers, once for each element of the window. */
OperationPtr transposed_convolution(const WeightedTensors &tensors, const Windows &windows, const Window &window);

/* How many outputs side by side may be one row. */
int64_t most_outputs_per_block(const Windows &windows, int64_t columns);

/* The windows of rows of that many outputs. */
Windows blocked_windows(const Windows &windows, int64_t ow_block);

/* The windows on the image with its padding. */
Windows padded_windows(const Windows &windows);

/* By which kernel a convolution is computed. */

struct ConvolutionKernel {
  enum Kind { indirect, direct, raster, winograd_2d, winograd_1d };

  Kind kind = indirect;
  int64_t ow_block = 1; /* not of Winograd: outputs side by side that are computed as one row */
  bool use_bfloat16 = false; /* multiplies in bfloat16 */
  /* in bfloat16: a row of the window is one tap, in an image with its padding or in a raster */
  bool joins_taps = false;
  int64_t side = 0; /* winograd_2d: of its tiles */
  Winograd1dFilter filter{false, 0, 0}; /* winograd_1d */
  costs::Work work{};
  double numbers_to_round = 0.0; /* of the image, which are not in the work: the image's maker may round them */

  bool is_filtered() const { return kind == winograd_2d || kind == winograd_1d; }
  /* As ARMNN_CPUACC_KERNEL names it. */
  std::string name() const;
};

struct ConvolutionLayer {
  Windows windows;
  WeightLayout layout; /* of one group: a tap per element of the window */
  bool has_constant_weights; /* others are packed in each run: no kernel is worth more than that */
  int64_t constant_bytes; /* of the whole graph */
  FastMath fast_math;
  bool is_image_bfloat16 = false; /* its maker may store it in bfloat16, so that it is not rounded for this layer */

  int64_t groups() const { return layout.depth == 0 ? 1 : windows.channels / layout.depth; }
  bool is_ungrouped() const { return layout.depth == windows.channels; }
};

/* All that can compute it; the first one is indirect or direct, in float32. */
std::vector<ConvolutionKernel> convolution_kernels(const ConvolutionLayer &layer, const Kernels &kernels);

/* The kernel that tests and measurements ask for by ARMNN_CPUACC_KERNEL, or null. */
const char *wanted_kernel();

/* The one that takes the least time, or the wanted one where it is among them. */
ConvolutionKernel choose_convolution(const ConvolutionLayer &layer, const Kernels &kernels);

}  // namespace cpuacc
