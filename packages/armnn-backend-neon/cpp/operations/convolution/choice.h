/* SPDX-License-Identifier: MIT */
/* By which kernel a convolution is computed. */
#pragma once

#include <string>
#include <vector>

#include "operations/winograd/winograd.h"

namespace cpuacc {

struct ConvolutionKernel {
  enum Kind { indirect, direct, raster, winograd_2d, winograd_1d };

  Kind kind = indirect;
  int64_t together = 1; /* not of Winograd: outputs side by side that are computed as one row */
  bool is_rounded = false; /* multiplies in bfloat16 */
  bool joins_taps = false; /* in bfloat16: a row of the window is one tap, in an image with its padding or in a raster */
  int64_t side = 0; /* winograd_2d: of its tiles */
  Winograd1dFilter filter{false, 0, 0}; /* winograd_1d */
  costs::Work work{};
  double rounded_numbers = 0.0; /* of the image, which are not in the work: what makes it may round them */

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
  bool is_image_rounded = false; /* its maker may store it in bfloat16, so that it is not rounded for this layer */

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
