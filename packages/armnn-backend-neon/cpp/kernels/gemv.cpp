/* SPDX-License-Identifier: MIT */
/* gemv: a row times a packed matrix, and the fused multiply-add of recurrent cells. */
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kSums = 8; /* sums that run side by side hide the time that one addition takes */

template <int V>
void gemv_panel(const float *row, int64_t depth, const float *panel, const float *x, const float *bias,
                float *y, int64_t columns) {
  Floats sums[V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[v] = Floats{};
  for (int64_t k = 0; k < depth; ++k) {
    const float factor = row[k];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[v] += factor * load(panel + v * kLanes);
    panel += V * kLanes;
  }
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const int64_t first = v * kLanes;
    const int64_t n = columns - first < kLanes ? columns - first : kLanes;
    if (x != nullptr) sums[v] += load_part(x + first, n);
    if (bias != nullptr) sums[v] += load_part(bias + first, n);
    store_part(y + first, sums[v], n);
  }
}

void gemv(const float *row, int64_t depth, const float *panel, const float *x,
                  const float *bias, float *y, int64_t columns) {
  const auto compute = [&](auto gemv_of) { gemv_of(row, depth, panel, x, bias, y, columns); };
  switch ((columns + kLanes - 1) / kLanes) {
    case 1: return compute(gemv_panel<1>);
    case 2: return compute(gemv_panel<2>);
    case 3: return compute(gemv_panel<3>);
    case 4: return compute(gemv_panel<4>);
    case 5: return compute(gemv_panel<5>);
    case 6: return compute(gemv_panel<6>);
    case 7: return compute(gemv_panel<7>);
    default: return compute(gemv_panel<kSums>);
  }
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
