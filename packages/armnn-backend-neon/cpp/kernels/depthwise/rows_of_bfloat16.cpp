/* SPDX-License-Identifier: MIT */
/* Depthwise convolution in float32 of images in bfloat16; results may be stored so. */
#include "kernels/bfloat16.h"
#include "kernels/depthwise/rows.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_depthwise_rows_of_bfloat16(Kernels &table) { table.depthwise_rows_of_bfloat16 = depthwise_rows_of<true>; }

}  // namespace cpuacc::CPUACC_LEVEL
