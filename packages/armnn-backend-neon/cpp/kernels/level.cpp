/* SPDX-License-Identifier: MIT */
/* The table of one level. */
#include "kernels/level.h"

#define CPUACC_TEXT(x) #x
#define CPUACC_NAME(x) CPUACC_TEXT(x)

namespace cpuacc {
namespace CPUACC_LEVEL {

void fill(Kernels &table) {
  table.name = CPUACC_NAME(CPUACC_LEVEL);
  fill_gemm(table);
  fill_direct(table);
  fill_depthwise(table);
  fill_pooling(table);
  fill_winograd_2d(table);
  fill_winograd_1d(table);
  fill_pointwise(table);
  fill_reduction(table);
  fill_transpose(table);
  fill_quantise(table);
  fill_half_conversion(table);
  fill_gemv(table);
  fill_dynamic_quantise(table);
  fill_int8_gemm(table.int8);
  fill_int8_direct(table.int8);
  fill_int8_depthwise(table.int8);
  fill_int8_pooling(table.int8);
  fill_int8_pointwise(table.int8);
  fill_int8_accumulators(table.int8);
  fill_int8_lookup(table.int8);
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
