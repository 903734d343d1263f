/* SPDX-License-Identifier: MIT */
/* What one level's translation units offer to each other: each fills its part of the table. */
#ifndef CPUACC_KERNELS_LEVEL_H_
#define CPUACC_KERNELS_LEVEL_H_

#include "kernels/kernels.h"

namespace cpuacc {
namespace CPUACC_LEVEL {

void fill_product(Kernels &table);
void fill_sliding(Kernels &table);
void fill_bfloat16(Kernels &table); /* only at levels that add it */
void fill_float16(Kernels &table); /* likewise */
void fill_depthwise(Kernels &table);
void fill_windows(Kernels &table);
void fill_winograd(Kernels &table);
void fill_winograd_lines(Kernels &table);
void fill_elementwise(Kernels &table);
void fill_lines(Kernels &table);
void fill_transposition(Kernels &table);
void fill_quantizing(Kernels &table);
void fill_halves(Kernels &table);
void fill_recurrent(Kernels &table);
void fill_dynamic(Kernels &table);
void fill_int8_product(Int8Kernels &table);
void fill_int8_sliding(Int8Kernels &table);
void fill_int8_depthwise(Int8Kernels &table);
void fill_int8_pooling(Int8Kernels &table);
void fill_int8_pairs(Int8Kernels &table);
void fill_int8_sums(Int8Kernels &table);
void fill_int8_table(Int8Kernels &table);

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
