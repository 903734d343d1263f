/* SPDX-License-Identifier: MIT */
/* Products of float32 that may be stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/gemm_rows.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_gemm_rows_bfloat16(Kernels &table) { table.gemm_rows = gemm_rows_of<true>; }

}  // namespace cpuacc::CPUACC_LEVEL
