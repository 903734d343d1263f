/* SPDX-License-Identifier: MIT */
/* What one level's translation units offer to each other: each fills its part of the table. */
#ifndef CPUACC_KERNELS_LEVEL_H_
#define CPUACC_KERNELS_LEVEL_H_

#include "kernels/kernels.h"

namespace cpuacc {
namespace CPUACC_LEVEL {

void fill_gemm(Kernels &table);
void fill_direct(Kernels &table);
void fill_gemm_bfloat16(Kernels &table); /* only at levels that add it */
void fill_pointwise_float16(Kernels &table); /* likewise */
void fill_depthwise(Kernels &table);
void fill_pooling(Kernels &table);
void fill_winograd_2d(Kernels &table);
void fill_winograd_1d(Kernels &table);
void fill_pointwise(Kernels &table);
void fill_reduction(Kernels &table);
void fill_transpose(Kernels &table);
void fill_quantise(Kernels &table);
void fill_half_conversion(Kernels &table);
void fill_gemv(Kernels &table);
void fill_dynamic_quantise(Kernels &table);
void fill_int8_gemm(Int8Kernels &table);
void fill_int8_direct(Int8Kernels &table);
void fill_int8_depthwise(Int8Kernels &table);
void fill_int8_pooling(Int8Kernels &table);
void fill_int8_pointwise(Int8Kernels &table);
void fill_int8_accumulators(Int8Kernels &table);
void fill_int8_lookup(Int8Kernels &table);

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
