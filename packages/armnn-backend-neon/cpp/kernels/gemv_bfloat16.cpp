/* SPDX-License-Identifier: MIT */
/* gemv of a matrix in bfloat16, widened and summed in float32. */
#include "kernels/bfloat16.h"
#include "kernels/gemv_rows.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct Bfloat16Panel {
  using Number = Bfloat16;
  static constexpr bool kAreSteps = false;
  static Floats at(const Bfloat16 *p) { return load_bfloat16(p, kLanes); }
};

void gemv_of_bfloat16(const GemvRows &g) { gemv_of<Bfloat16Panel>(g, g.panel.bfloat16); }

}  // namespace

void fill_gemv_bfloat16(Kernels &table) { table.gemv_of_bfloat16 = gemv_of_bfloat16; }

}  // namespace cpuacc::CPUACC_LEVEL
