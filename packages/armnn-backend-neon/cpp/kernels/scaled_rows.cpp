/* SPDX-License-Identifier: MIT */
/* Scaled rows of float32. */
#include "kernels/scaled_rows.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

void scale_rows(const ScaledRowsOf<float> &rows) { scale_rows_of<false>(rows); }

}  // namespace

void fill_scaled_rows(Kernels &table) { table.scale_rows = scale_rows; }

}  // namespace cpuacc::CPUACC_LEVEL
