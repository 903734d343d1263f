/* SPDX-License-Identifier: MIT */
/* Gemm tiles of float32 rows at equal distances. */
#include "kernels/gemm_rows.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_gemm_rows(Kernels &table) { table.gemm_rows = gemm_rows_of<false>; }

}  // namespace cpuacc::CPUACC_LEVEL
