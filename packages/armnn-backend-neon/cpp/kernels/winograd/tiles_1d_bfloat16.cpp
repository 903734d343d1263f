/* SPDX-License-Identifier: MIT */
/* Minimal filtering along one axis in float32 of images that are read or stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/winograd/tiles_1d.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_winograd_tiles_1d_bfloat16(Kernels &table) {
  table.winograd_1d_input_of_bfloat16[0] = winograd_1d_input<6, Bfloat16>;
  table.winograd_1d_input_of_bfloat16[1] = winograd_1d_input<8, Bfloat16>;
  fill_winograd_1d_output<true>(table);
}

}  // namespace cpuacc::CPUACC_LEVEL
