/* SPDX-License-Identifier: MIT */
/* Depthwise convolution in float32 of images that are read or stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/depthwise_rows.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

template <typename In>
void depthwise_rows(const DepthwiseRowsOf<In> &rows) { depthwise_rows_of<true>(rows); }

}  // namespace

void fill_depthwise_bfloat16(Kernels &table) {
  table.depthwise_rows = depthwise_rows<float>;
  table.depthwise_rows_of_bfloat16 = depthwise_rows<Bfloat16>;
}

}  // namespace cpuacc::CPUACC_LEVEL
