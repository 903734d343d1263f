/* SPDX-License-Identifier: MIT */
/* Depthwise convolution in float32 of images in float32; results may be stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/depthwise/rows.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_depthwise_rows_to_bfloat16(Kernels &table) { table.depthwise_rows = depthwise_rows_of<true>; }

}  // namespace cpuacc::CPUACC_LEVEL
