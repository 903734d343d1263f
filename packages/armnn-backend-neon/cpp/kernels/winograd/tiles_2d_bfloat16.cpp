/* SPDX-License-Identifier: MIT */
/* Minimal filtering F(m x m, 3 x 3) in float32 of images that are read or stored in bfloat16. */
#include "kernels/bfloat16.h"
#include "kernels/winograd/tiles_2d.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_winograd_tiles_2d_bfloat16(Kernels &table) {
  table.winograd_2d_input_of_bfloat16[0] = winograd_2d_input<2, Bfloat16>;
  table.winograd_2d_input_of_bfloat16[1] = winograd_2d_input<4, Bfloat16>;
  table.winograd_2d_input_of_bfloat16[2] = winograd_2d_input<6, Bfloat16>;
  fill_winograd_2d_output<true>(table);
}

}  // namespace cpuacc::CPUACC_LEVEL
