/* SPDX-License-Identifier: MIT */
/* Depthwise convolution of float32. */
#include "kernels/depthwise/rows.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

void depthwise_rows(const DepthwiseRows &rows) { depthwise_rows_of<false>(rows); }

}  // namespace

void fill_depthwise_rows(Kernels &table) { table.depthwise_rows = depthwise_rows; }

}  // namespace cpuacc::CPUACC_LEVEL
