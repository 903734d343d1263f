/* SPDX-License-Identifier: MIT */
/* gemv: rows times a packed matrix, and the fused multiply-add of recurrent cells. */
#include "kernels/gemv_rows.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct Plain {
  using Number = float;
  static constexpr bool kAreSteps = false;
  static Floats at(const float *p) { return load(p); }
};

struct Steps {
  using Number = int8_t;
  static constexpr bool kAreSteps = true;
  static Floats at(const int8_t *p) {
    return __builtin_convertvector(widened<int8_t>(reinterpret_cast<const uint8_t *>(p), kLanes), Floats);
  }
};

void gemv(const GemvRows &g) {
  g.panel.steps == nullptr ? gemv_of<Plain>(g, g.panel.numbers) : gemv_of<Steps>(g, g.panel.steps);
}

void multiply_add(const float *x, const float *y, float *z, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(z + i, load(x + i) * load(y + i) + load(z + i));
  if (i < n) {
    const int64_t rest = n - i;
    const Floats sum = load_part(x + i, rest) * load_part(y + i, rest) + load_part(z + i, rest);
    store_part(z + i, sum, rest);
  }
}

}  // namespace

void fill_gemv(Kernels &table) {
  table.lanes = static_cast<int32_t>(kLanes);
  table.gemv_columns = kSums * static_cast<int32_t>(kLanes);
  table.gemv = gemv;
  table.multiply_add = multiply_add;
}

}  // namespace cpuacc::CPUACC_LEVEL
