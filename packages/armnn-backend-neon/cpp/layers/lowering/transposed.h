/* SPDX-License-Identifier: MIT */
/* Transposed convolutions of bytes. */
#pragma once

#include "layers/lowering/lowering.h"
#include "operations/convolution/convolution.h"
#include "operations/quantised/quantised.h"

namespace cpuacc {

/* Lowers a layer to ordinary convolutions: outputs whose places are alike within a stride see the same part of
 * the window. Refuses other than constant weights. Args: order: of the image, channels last.
 */
void lower_int8_phases(Lowering &lowering, const Order &order, const Windows &windows, const Window &window,
                       const Int8Params &params);

}  // namespace cpuacc
