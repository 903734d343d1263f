/* SPDX-License-Identifier: MIT */
/* Direct convolution in float32 that may be stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/direct_rows.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_direct_bfloat16(Kernels &table) { table.direct_row = direct_row_of<true>; }

}  // namespace cpuacc::CPUACC_LEVEL
