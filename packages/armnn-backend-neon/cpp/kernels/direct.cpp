/* SPDX-License-Identifier: MIT */
#include "kernels/direct_rows.h"

namespace cpuacc::CPUACC_LEVEL {

void fill_direct(Kernels &table) { table.direct_row = direct_row_of<false>; }

}  // namespace cpuacc::CPUACC_LEVEL
