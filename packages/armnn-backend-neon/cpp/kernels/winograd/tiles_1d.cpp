/* SPDX-License-Identifier: MIT */
/* Minimal filtering along one axis, of float32. */
#include "kernels/winograd/tiles_1d.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_winograd_tiles_1d(Kernels &table) {
  table.winograd_1d_input[0] = winograd_1d_input<6, float>;
  table.winograd_1d_input[1] = winograd_1d_input<8, float>;
  fill_winograd_1d_output<false>(table);
}

}  // namespace cpuacc::CPUACC_LEVEL
