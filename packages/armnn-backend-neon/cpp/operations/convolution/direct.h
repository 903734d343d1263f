/* SPDX-License-Identifier: MIT */
/* Convolutions of images with few channels: a row of the window is one tap. */
#ifndef CPUACC_OPERATIONS_CONVOLUTION_DIRECT_H_
#define CPUACC_OPERATIONS_CONVOLUTION_DIRECT_H_

#include "layers/lowering.h"
#include "operations/gemm/gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* Whether these windows, of one group, are worth add_direct. */
bool suits_direct(const Windows &windows);

/* Weights [columns, window_height, window_width, channels], a tap per row of the window. */
WeightLayout direct_layout(const Windows &windows, int64_t columns);
/* Weights [window_height, window_width, columns] for an image of one channel. */
WeightLayout single_channel_layout(const Windows &windows, int64_t columns);

/* A convolution of one group. Args: layout: one of the two above. */
void add_direct(Lowering &lowering, TensorId input, TensorId weights, TensorId bias, TensorId out,
                const Windows &windows, const WeightLayout &layout);

}  // namespace cpuacc

#endif
