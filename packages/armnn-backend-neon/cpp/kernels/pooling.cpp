/* SPDX-License-Identifier: MIT */
/* Pooling of float32. */
#include "kernels/pooling_rows.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

void pooling_row(const PoolingRow &row) { pool_row(row); }

}  // namespace

void fill_pooling(Kernels &table) { table.pooling_row = pooling_row; }

}  // namespace cpuacc::CPUACC_LEVEL
