/* SPDX-License-Identifier: MIT */
/* Scaled rows in float32 that are read or stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/scaled_rows.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

template <typename In>
void scale_rows(const ScaledRowsOf<In> &rows) { scale_rows_of<true>(rows); }

}  // namespace

void fill_scaled_rows_bfloat16(Kernels &table) {
  table.scale_rows = scale_rows<float>;
  table.scale_rows_of_bfloat16 = scale_rows<Bfloat16>;
}

}  // namespace cpuacc::CPUACC_LEVEL
