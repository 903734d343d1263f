/* SPDX-License-Identifier: MIT */
/* Products of rows of float32 that may be stored in bfloat16, and of rows of bfloat16. */
#include "kernels/bfloat16_sums.h"
#include "kernels/gemm_rows.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_gemm_rows_bfloat16(Kernels &table) {
  table.gemm_rows = gemm_rows_of<true>;
  table.gemm_rows_bfloat16 = all_columns_of<true>;
}

}  // namespace cpuacc::CPUACC_LEVEL
