/* SPDX-License-Identifier: MIT */
/* Reductions in float32 of columns that are read in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/column_reduction.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

void reduce_columns(Reduction reduction, const Bfloat16 *x, int64_t count, int64_t stride, float *y, int64_t n) {
  reduce_columns_of(reduction, x, count, stride, y, n);
}

}  // namespace

void fill_reduction_bfloat16(Kernels &table) { table.reduce_columns_of_bfloat16 = reduce_columns; }

}  // namespace cpuacc::CPUACC_LEVEL
