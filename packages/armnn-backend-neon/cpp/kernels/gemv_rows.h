/* SPDX-License-Identifier: MIT */
/* gemv: rows times a panel of a packed matrix. How its numbers are read is a parameter:
 * Number, their type; at(), a vector of them; kAreSteps, whether sums are in steps of their columns.
 */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kSums = 8; /* sums that run side by side hide the time that one addition takes */
constexpr int kRowsTogether = 3; /* rows that share a loaded vector of the matrix */
constexpr int kSumsInRegisters = kRows * kVectors / kRowsTogether;
constexpr int kSumsOfRow = kSums < kSumsInRegisters ? kSums : kSumsInRegisters;

/* R rows from one on, V vectors of columns from one on. */
template <int R, int V, typename Weights>
void gemv_part(const GemvRows &g, const typename Weights::Number *panel, int64_t row, int64_t vector) {
  const int64_t stride = g.panel.step != 0 ? g.panel.step : (g.columns + kLanes - 1) / kLanes * kLanes;
  panel += vector * kLanes;
  const float *a[R];
  Floats sums[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    a[r] = g.rows[row + r];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = Floats{};
  }
  for (int64_t k = 0; k < g.depth; ++k, panel += stride) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      const Floats weights = Weights::at(panel + v * kLanes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] += a[r][k] * weights;
    }
  }
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const int64_t column = (vector + v) * kLanes;
    const int64_t left = g.columns - column;
    const int64_t n = left < kLanes ? left : kLanes;
    const int64_t offset = g.first + column;
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      if constexpr (Weights::kAreSteps) sums[r][v] *= load_part(g.panel.scales + column, n);
      if (g.x != nullptr) sums[r][v] += load_part(g.x[row + r] + offset, n);
      if (g.bias != nullptr) sums[r][v] += load_part(g.bias + offset, n);
      store_part(g.y[row + r] + offset, sums[r][v], n);
    }
  }
}

template <typename Weights>
using GemvPart = void (*)(const GemvRows &, const typename Weights::Number *, int64_t, int64_t);

template <int R, typename Weights, int... V>
GemvPart<Weights> part_of(int64_t vectors, std::integer_sequence<int, V...>) {
  static constexpr GemvPart<Weights> kOfVectors[] = {gemv_part<R, V + 1, Weights>...};
  return kOfVectors[vectors - 1];
}

template <int R, int kMost, typename Weights>
void gemv_of_rows(const GemvRows &g, const typename Weights::Number *panel, int64_t row) {
  const int64_t vectors = (g.columns + kLanes - 1) / kLanes;
  for (int64_t vector = 0; vector < vectors; vector += kMost) {
    const int64_t count = vectors - vector < kMost ? vectors - vector : kMost;
    part_of<R, Weights>(count, std::make_integer_sequence<int, kMost>{})(g, panel, row, vector);
  }
}

template <typename Weights>
void gemv_of(const GemvRows &g, const typename Weights::Number *panel) {
  int64_t row = 0;
  for (; row + kRowsTogether <= g.count; row += kRowsTogether) gemv_of_rows<kRowsTogether, kSumsOfRow, Weights>(g, panel, row);
  if (row + 2 == g.count) {
    gemv_of_rows<2, kSumsOfRow, Weights>(g, panel, row);
  } else if (row < g.count) {
    gemv_of_rows<1, kSums, Weights>(g, panel, row);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
