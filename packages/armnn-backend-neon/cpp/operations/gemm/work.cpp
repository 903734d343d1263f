/* SPDX-License-Identifier: MIT */
#include "operations/gemm/work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* Whether all tiles have about as many rows, else the last one has what is left. */
bool are_shared_out(const Products &p) {
  return p.has_even_rows && static_cast<double>(p.rows) > costs::kPairedRegisters;
}

/* Rows of a tile over such panels. */
int64_t tile_rows(const Products &p, const PanelWidth &panel, const Kernels &kernels) {
  const bool is_taller = are_shared_out(p) && panel.registers <= 1.0 && kernels.rows < costs::kInFlight;
  return is_taller ? kernels.rows * kernels.columns / kernels.lanes : kernels.rows;
}

/* Tiles of so many rows, over panels of one width, of which half a register is paired or not. */
void add_tiles(costs::Work &work, const Products &p, double tiles, int64_t rows, const PanelWidth &panel,
               const Kernels &kernels) {
  if (rows == 0 || tiles == 0.0) return;
  const double whole = std::floor(panel.registers);
  const double half = std::ceil(panel.registers) - whole;
  const double sums = static_cast<double>(rows) * (whole + half);
  const bool has_two_sums = sums <= costs::kPairedRegisters && !are_shared_out(p);
  const double all = tiles * panel.count;
  const double row_steps = all * static_cast<double>(p.taps * p.depth * rows);
  const double missing = std::max(0.0, (has_two_sums ? 0.5 : 1.0) * costs::kInFlight - sums);
  /* A pair of k's is one step of a tail; whole registers beside it have their own. */
  const double steps = half == 0.0 ? 1.0 : whole == 0.0 ? 0.5 : 1.5;
  const double waits = all * static_cast<double>(p.taps * p.depth) * std::min(steps, 1.0) * missing;
  const double registers = row_steps * (panel.registers + costs::kRowStep * steps) + costs::kMissingSum * waits;
  work.add(costs::multiply_add, registers * kernels.lanes).add(costs::tile, all);
}

void add_panels(costs::Work &work, const Products &p, const PanelWidth &panel, const Kernels &kernels) {
  const auto count = static_cast<double>(p.count);
  if (p.rows == 0) return;
  const int64_t most = tile_rows(p, panel, kernels);
  const int64_t tiles = ratio_up(p.rows, most);
  const int64_t rows = are_shared_out(p) ? p.rows / tiles : most;
  const int64_t left = p.rows - tiles * rows; /* negative: the last tile has so many fewer */
  if (left >= 0) {
    add_tiles(work, p, count * static_cast<double>(left), rows + 1, panel, kernels);
    add_tiles(work, p, count * static_cast<double>(tiles - left), rows, panel, kernels);
  } else {
    add_tiles(work, p, count * static_cast<double>(tiles - 1), rows, panel, kernels);
    add_tiles(work, p, count, rows + left, panel, kernels);
  }
  if (!p.are_weights_cold) return;
  /* Two rows of pairs that are alone are side by side. Those of one register have half as many lines to wait for. */
  const double rows_together = panel.registers < 1.0 ? 2.0 : 1.0;
  const double lines = panel.registers > 1.0 ? 1.0 : 0.5;
  const double seen = std::max(0.0, 1.0 - static_cast<double>(p.rows) / costs::kHidingRows);
  const double weight_rows = count * panel.count * static_cast<double>(p.taps * p.depth) / rows_together;
  work.add(costs::weight_row, weight_rows * (1.0 + costs::kAwaitedRows * lines * seen));
}

}  // namespace

PanelWidths panel_widths(int64_t columns, const Kernels &kernels, bool has_paired_tail) {
  const int64_t least = has_paired_tail ? kernels.lanes / 2 : kernels.lanes;
  const auto lanes = static_cast<double>(kernels.lanes);
  const int64_t rest = columns % kernels.columns;
  const PanelWidth full{static_cast<double>(kernels.columns) / lanes, static_cast<double>(columns / kernels.columns)};
  const int64_t whole = rest / kernels.lanes * kernels.lanes;
  const int64_t end = rest - whole;
  const double last = end == 0 ? 0.0 : end <= least ? static_cast<double>(least) : lanes;
  return {full, {(static_cast<double>(whole) + last) / lanes, rest == 0 ? 0.0 : 1.0}};
}

costs::Work product_work(const Products &products, const Kernels &kernels) {
  const PanelWidths panels = panel_widths(products.columns, kernels, products.has_paired_tail);
  costs::Work work;
  add_panels(work, products, panels.full, kernels);
  if (panels.last.count > 0.0) add_panels(work, products, panels.last, kernels);
  return work;
}

costs::Work gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, const Kernels &kernels) {
  const Products products{rows, layout.taps, layout.depth, layout.columns, 1, has_even_rows, true, layout.has_paired_tail};
  return product_work(products, kernels).add(costs::operation, 1.0);
}

costs::Work tile_register_work(int64_t rows, const WeightLayout &layout, int64_t number_bytes) {
  const auto tiles = static_cast<double>(ratio_up(rows, costs::kTileRegisterRows) *
                                         ratio_up(layout.columns, costs::kTileRegisterColumns));
  const int64_t steps = layout.taps * ratio_up(layout.depth * number_bytes, costs::kTileRegisterBytes);
  return costs::Work().add(costs::tile_register_product, tiles * (static_cast<double>(steps) + costs::kTileRegisterStored));
}

costs::Work rounded_gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, const Kernels &kernels) {
  costs::Work work = gemm_work(rows, layout, has_even_rows, kernels);
  const double products = std::exchange(work.counts[costs::multiply_add], 0.0);
  work.counts[costs::weight_row] *= 0.5; /* of two numbers in the place of one */
  if (kernels.begin_tiles_bfloat16 == nullptr || rows < costs::kTileRegisterRows) {
    return work.add(costs::bfloat16_multiply_add, products);
  }
  work.counts[costs::tile] = 0.0;
  return work.add(tile_register_work(rows, layout, sizeof(Bfloat16)));
}

costs::Work scaled(costs::Work work, double times) {
  for (double &count : work.counts) count *= times;
  return work;
}

}  // namespace cpuacc
