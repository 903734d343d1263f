/* SPDX-License-Identifier: MIT */
/* Pooling in float32 of images that are read and stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/pooling_rows.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

void pooling_row_of_bfloat16(const PoolingRowOf<Bfloat16> &row) { pool_row(row); }

}  // namespace

void fill_pooling_bfloat16(Kernels &table) { table.pooling_row_of_bfloat16 = pooling_row_of_bfloat16; }

}  // namespace cpuacc::CPUACC_LEVEL
