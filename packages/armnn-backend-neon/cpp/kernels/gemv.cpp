/* SPDX-License-Identifier: MIT */
/* gemv: rows times a packed matrix, and the fused multiply-add of recurrent cells. */
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kSums = 8; /* sums that run side by side hide the time that one addition takes */
constexpr int kRowsTogether = 3; /* what is loaded of the matrix serves that many rows */
constexpr int kSumsInRegisters = kRows * kVectors / kRowsTogether;
constexpr int kSumsOfRow = kSums < kSumsInRegisters ? kSums : kSumsInRegisters;

inline Floats weights_at(const float *p) { return load(p); }

inline Floats weights_at(const int8_t *p) {
  return __builtin_convertvector(widened<int8_t>(reinterpret_cast<const uint8_t *>(p), kLanes), Floats);
}

/* R rows from one on, V vectors of columns from one on. */
template <int R, int V, typename Number>
void gemv_part(const GemvRows &g, const Number *panel, int64_t row, int64_t vector) {
  const int64_t stride = (g.columns + kLanes - 1) / kLanes * kLanes;
  panel += vector * kLanes;
  const float *a[R];
  Floats sums[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    a[r] = g.rows[row + r];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = Floats{};
  }
  for (int64_t k = 0; k < g.depth; ++k, panel += stride) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      const Floats weights = weights_at(panel + v * kLanes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] += a[r][k] * weights;
    }
  }
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const int64_t column = (vector + v) * kLanes;
    const int64_t left = g.columns - column;
    const int64_t n = left < kLanes ? left : kLanes;
    const int64_t place = g.first + column;
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      if constexpr (sizeof(Number) == 1) sums[r][v] *= load_part(g.panel.scales + column, n);
      if (g.x != nullptr) sums[r][v] += load_part(g.x[row + r] + place, n);
      if (g.bias != nullptr) sums[r][v] += load_part(g.bias + place, n);
      store_part(g.y[row + r] + place, sums[r][v], n);
    }
  }
}

template <typename Number>
using GemvPart = void (*)(const GemvRows &, const Number *, int64_t, int64_t);

template <int R, typename Number, int... V>
GemvPart<Number> part_of(int64_t vectors, std::integer_sequence<int, V...>) {
  static constexpr GemvPart<Number> kOfVectors[] = {gemv_part<R, V + 1, Number>...};
  return kOfVectors[vectors - 1];
}

template <int R, int kMost, typename Number>
void gemv_of_rows(const GemvRows &g, const Number *panel, int64_t row) {
  const int64_t vectors = (g.columns + kLanes - 1) / kLanes;
  for (int64_t vector = 0; vector < vectors; vector += kMost) {
    const int64_t count = vectors - vector < kMost ? vectors - vector : kMost;
    part_of<R, Number>(count, std::make_integer_sequence<int, kMost>{})(g, panel, row, vector);
  }
}

template <typename Number>
void gemv_of(const GemvRows &g, const Number *panel) {
  int64_t row = 0;
  for (; row + kRowsTogether <= g.count; row += kRowsTogether) gemv_of_rows<kRowsTogether, kSumsOfRow>(g, panel, row);
  if (row + 2 == g.count) {
    gemv_of_rows<2, kSumsOfRow>(g, panel, row);
  } else if (row < g.count) {
    gemv_of_rows<1, kSums>(g, panel, row);
  }
}

void gemv(const GemvRows &g) {
  g.panel.steps == nullptr ? gemv_of(g, g.panel.numbers) : gemv_of(g, g.panel.steps);
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
