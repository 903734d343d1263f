/* SPDX-License-Identifier: MIT */
/* The table of one level. */
#include "kernels/level.h"

#define CPUACC_TEXT(x) #x
#define CPUACC_NAME(x) CPUACC_TEXT(x)

namespace cpuacc {
namespace CPUACC_LEVEL {

void fill(Kernels &table) {
  table.name = CPUACC_NAME(CPUACC_LEVEL);
  fill_product(table);
  fill_sliding(table);
  fill_depthwise(table);
  fill_windows(table);
  fill_winograd(table);
  fill_winograd_lines(table);
  fill_elementwise(table);
  fill_lines(table);
  fill_transposition(table);
  fill_quantizing(table);
  fill_halves(table);
  fill_recurrent(table);
  fill_dynamic(table);
  fill_int8_product(table.int8);
  fill_int8_sliding(table.int8);
  fill_int8_depthwise(table.int8);
  fill_int8_pooling(table.int8);
  fill_int8_pairs(table.int8);
  fill_int8_sums(table.int8);
  fill_int8_table(table.int8);
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
