/* SPDX-License-Identifier: MIT */
/* Minimal filtering F(m x m, 3 x 3), of float32. */
#include "kernels/winograd/tiles_2d.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_winograd_tiles_2d(Kernels &table) {
  table.winograd_2d_input[0] = winograd_2d_input<2, float>;
  table.winograd_2d_input[1] = winograd_2d_input<4, float>;
  table.winograd_2d_input[2] = winograd_2d_input<6, float>;
  fill_winograd_2d_output<false>(table);
}

}  // namespace cpuacc::CPUACC_LEVEL
