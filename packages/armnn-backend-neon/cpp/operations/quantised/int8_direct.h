/* SPDX-License-Identifier: MIT */
/* Convolutions of images of bytes with few channels: a row of the window is one tap. */
#ifndef CPUACC_OPERATIONS_QUANTISED_INT8_DIRECT_H_
#define CPUACC_OPERATIONS_QUANTISED_INT8_DIRECT_H_

#include "operations/convolution/direct.h"
#include "operations/quantised/int8_gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* Whether these windows, of one group, are worth add_int8_direct, and it takes these weights. */
bool suits_int8_direct(const Windows &windows, const Int8Params &params);

/* A convolution of one group. Args: layout: as add_direct takes it. */
void add_int8_direct(Lowering &lowering, TensorId input, TensorId weights, TensorId out, const Windows &windows,
                     const WeightLayout &layout, Int8Params params);

}  // namespace cpuacc

#endif
