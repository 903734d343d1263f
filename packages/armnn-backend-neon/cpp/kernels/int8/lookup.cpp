/* SPDX-License-Identifier: MIT */
/* Functions of bytes by a table of all their values: the instruction set has the loop. */
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_int8_lookup(Kernels &table) { table.int8.look_up = best_look_up(); }

}  // namespace cpuacc::CPUACC_LEVEL
