/* SPDX-License-Identifier: MIT */
/* Products of matrices: their work, packed weights, tiles, and plain loops for other types. */
#include "operations/gemm/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "costs/costs.h"
#include "graph/data_types.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

/* Whether all tiles have about as many rows, else the last one has the rest. */
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

costs::Work bfloat16_gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, const Kernels &kernels) {
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

namespace {

constexpr int kFloat16 = static_cast<int>(HalfFormat::float16);

/* The numbers of the first panel. */
int64_t numbers_of_panel(const WeightLayout &layout, const Kernels &kernels) {
  return layout.taps * layout.depth * panel_row(layout, 0, kernels, static_cast<const float *>(nullptr));
}

/* Calls visit(panel, its row) for each panel of a matrix, packed in float32 in the same memory, until one returns
 * false.
 */
template <typename Visit>
bool visit_panels(const float *weights, const WeightLayout &layout, const Kernels &kernels, const Visit &visit) {
  std::vector<float> panel(static_cast<size_t>(numbers_of_panel(layout, kernels)));
  WeightLayout some = layout;
  for (int64_t first = 0; first < layout.columns; first += kernels.columns) {
    some.columns = std::min<int64_t>(kernels.columns, layout.columns - first);
    pack_weights(weights + first * layout.column_stride, some, kernels, panel.data());
    if (!visit(panel.data(), panel_row(some, 0, kernels, panel.data()))) return false;
  }
  return true;
}

bool fit_steps(const float *weights, const WeightMatrices &matrices, const Kernels &kernels) {
  const int64_t rows = matrices.layout.taps * matrices.layout.depth;
  std::vector<float> steps(static_cast<size_t>(kernels.columns));
  for (int64_t i = 0; i < matrices.count && matrices.layout.columns != 0; ++i) {
    const float *matrix = weights + i * matrices.stride;
    /* Part of a column rules out nearly all weights that never were steps, before a panel is packed to look at it. */
    if (step_of(matrix, matrices.layout.depth, matrices.layout.depth_stride) == 0.0f) return false;
    const bool fits = visit_panels(matrix, matrices.layout, kernels, [&](const float *panel, int64_t row) {
      const int64_t line = step_line(row, kernels);
      return find_steps(panel, rows * row / line, line, steps.data());
    });
    if (!fits) return false;
  }
  return true;
}

/* To the last bit, NaN and the sign of zeros included. */
bool fit_float16(const float *numbers, int64_t count, const Kernels &kernels) {
  constexpr int64_t kPiece = 1024;
  uint16_t halves[kPiece];
  float again[kPiece];
  for (int64_t i = 0; i < count; i += kPiece) {
    const int64_t n = std::min(kPiece, count - i);
    kernels.float32_to_half[kFloat16](numbers + i, halves, n);
    kernels.half_to_float32[kFloat16](halves, again, n);
    if (std::memcmp(numbers + i, again, static_cast<size_t>(n) * sizeof(float)) != 0) return false;
  }
  return true;
}

/* Tasks of enough rows, and of fewer columns for that, unless threads would have too few of them. */
Tiling tiling_for_conversion(const Tiling &tiling, const Setup &setup, int64_t most_rows) {
  const int64_t row_tasks = std::max<int64_t>(1, tiling.rows / costs::kLeastFloat16Rows);
  const int64_t height = setup.kernels.rows;
  const int64_t tiles = ratio_up(ratio_up(tiling.rows, row_tasks), height);
  Tiling wide = tiling;
  wide.rows_per_task = std::min(std::max(tiles * height, tiling.rows_per_task), most_rows);
  if (setup.threads == 1) return wide;
  const int64_t panels = ratio_up(tiling.columns, setup.kernels.columns);
  const int64_t least_tasks = costs::kLeastFloat16Tasks * setup.threads;
  const int64_t column_tasks = std::clamp<int64_t>(ratio_up(least_tasks, row_tasks), 1,
                                                   std::max<int64_t>(1, panels));
  wide.columns_per_task = std::max<int64_t>(1, ratio_up(panels, column_tasks)) *
                          setup.kernels.columns;
  return wide.tasks() < least_tasks ? tiling : wide;
}

void pack_float16(const float *weights, const WeightLayout &layout, const Kernels &kernels,
                  uint16_t *packed) {
  visit_panels(weights, layout, kernels, [&](const float *panel, int64_t row) {
    const int64_t numbers = layout.taps * layout.depth * row;
    kernels.float32_to_half[kFloat16](panel, packed, numbers);
    packed += numbers;
    return true;
  });
}

void pack_steps(const float *weights, const WeightLayout &layout, const Kernels &kernels, std::byte *packed) {
  const int64_t rows = layout.taps * layout.depth;
  visit_panels(weights, layout, kernels, [&](const float *panel, int64_t row) {
    const int64_t line = step_line(row, kernels);
    const int64_t lines = rows * row / line;
    auto *steps = reinterpret_cast<float *>(packed);
    find_steps(panel, lines, line, steps);
    auto *bytes = reinterpret_cast<int8_t *>(steps + line);
    for (int64_t i = 0; i < lines; ++i) put_in_steps(panel + i * line, steps, line, bytes + i * line);
    packed += panel_step_bytes(rows, row, kernels);
    return true;
  });
}

}  // namespace

bool gains_by_bfloat16(const costs::Machine &machine, const Kernels &kernels, const WeightLayout &layout,
                       bool is_left_bfloat16, int64_t rows) {
  if (layout.depth < costs::kLeastBfloat16Depth || layout.columns < costs::kLeastBfloat16Columns) return false;
  if (kernels.begin_tiles_bfloat16 != nullptr) {
    /* A level that was not measured is used only if it was asked for: then its instructions are wanted, too. */
    if (!costs::knows_tile_registers()) return true;
    costs::Work in_tiles = bfloat16_gemm_work(rows, layout, true, kernels);
    if (!is_left_bfloat16) in_tiles.add(costs::element, static_cast<double>(rows * layout.depth));
    return machine.ns_of(in_tiles) < machine.ns_of(gemm_work(rows, with_paired_tail(layout, kernels), true, kernels));
  }
  const double rounding_ns = is_left_bfloat16 ? 0.0 : machine.ns[costs::element];
  const double saved = machine.ns[costs::multiply_add] - machine.ns[costs::bfloat16_multiply_add];
  const auto panels = static_cast<double>(ratio_up(layout.columns, kernels.columns));
  /* The time that bfloat16 saves for each number of a row. */
  const double of_tap = saved * (static_cast<double>(layout.columns) + costs::kRowStep * panels * kernels.lanes);
  return static_cast<double>(layout.taps) * of_tap > rounding_ns;
}

size_t packed_bfloat16_bytes(const WeightLayout &layout, const Kernels &kernels) {
  const int64_t depth = packed_depth(layout.depth, static_cast<const Bfloat16 *>(nullptr));
  const int64_t columns = ratio_up(layout.columns, kernels.columns) * kernels.columns;
  return static_cast<size_t>(columns * layout.taps * depth) * sizeof(Bfloat16);
}

/* Some k's of a tap at a time are packed as floats, from which pairs are made while these are in the nearest cache. */
void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels, Bfloat16 *packed) {
  constexpr int64_t kNumbers = 4096;
  alignas(64) float rows[kNumbers];
  const int64_t panel_width = kernels.columns;
  const int64_t most = kNumbers / panel_width / 2 * 2;
  auto *pairs = reinterpret_cast<uint32_t *>(packed); /* one for each column */
  for (int64_t first = 0; first < layout.columns; first += panel_width) {
    const int64_t width = std::min<int64_t>(panel_width, layout.columns - first);
    for (int64_t t = 0; t < layout.taps; ++t) {
      for (int64_t k = 0; k < layout.depth; k += most) {
        const int64_t depth = std::min(most, layout.depth - k);
        const WeightLayout piece{1, 0, depth, layout.depth_stride, width, layout.column_stride};
        pack_weights(weights + t * layout.tap_stride + k * layout.depth_stride + first * layout.column_stride, piece,
                     kernels, rows);
        const int64_t row = panel_row(piece, 0, kernels, rows);
        if (depth % 2 != 0) std::fill_n(rows + depth * row, row, 0.0f);
        for (int64_t i = 0; i < depth; i += 2, pairs += panel_width) {
          kernels.pair_bfloat16(rows + i * row, rows + (i + 1) * row, pairs, row);
          std::fill(pairs + row, pairs + panel_width, 0);
        }
      }
    }
  }
}

PanelStorage bfloat16_panels(const Setup &setup, Tiling &tiling) {
  tiling.rows_per_task = ratio_up(tiling.rows_per_task, setup.kernels.rows_bfloat16) * setup.kernels.rows_bfloat16;
  return PanelStorage::bfloat16;
}

PanelStorage panel_storage(const Setup &setup, const Tensor &weights, const WeightMatrices &matrices,
                           const std::string &recipe, int64_t most_rows, Tiling &tiling) {
  if (weights.constant == nullptr) return PanelStorage::float32;
  const Tiling wide = tiling_for_conversion(tiling, setup, most_rows);
  const int64_t rows = std::min(wide.rows_per_task, tiling.rows);
  const auto are_packed_as = [&](PanelStorage panels, bool gains, const auto &fit) {
    /* Stored weights may have been packed for another number of threads. */
    const std::string full = weights.recipe(recipe + recipe_of(panels));
    if (!setup.packed.is_packed_as(weights.source(), full, gains, fit)) return false;
    if (gains) tiling = wide;
    return true;
  };
  const bool has_depth = matrices.layout.taps * matrices.layout.depth >= costs::kLeastStepsDepth;
  if (are_packed_as(PanelStorage::steps, has_depth && rows >= costs::kLeastStepsRows,
                    [&] { return fit_steps(weights.read<float>(), matrices, setup.kernels); })) {
    return PanelStorage::steps;
  }
  if (are_packed_as(PanelStorage::float16, setup.kernels.converts_float16 && rows >= costs::kLeastFloat16Rows,
                    [&] { return fit_float16(weights.read<float>(), weights.count(), setup.kernels); })) {
    return PanelStorage::float16;
  }
  return PanelStorage::float32;
}

std::string recipe_of(PanelStorage panels) {
  switch (panels) {
    case PanelStorage::float16: return " float16";
    case PanelStorage::steps: return " steps";
    case PanelStorage::bfloat16: return " bfloat16";
    default: return "";
  }
}

namespace {

size_t step_bytes(const WeightLayout &layout, const Kernels &kernels) {
  const int64_t rows = layout.taps * layout.depth;
  const int64_t whole = layout.columns / kernels.columns;
  const int64_t row = panel_row(layout, whole * kernels.columns, kernels, static_cast<const float *>(nullptr));
  const int64_t last = layout.columns % kernels.columns == 0 ? 0 : panel_step_bytes(rows, row, kernels);
  return static_cast<size_t>(whole * panel_step_bytes(rows, kernels.columns, kernels) + last);
}

size_t exact_bytes(PanelStorage panels, const WeightLayout &layout, const Kernels &kernels) {
  switch (panels) {
    case PanelStorage::float16: return packed_bytes(layout, kernels) / sizeof(float) * sizeof(uint16_t);
    case PanelStorage::steps: return step_bytes(layout, kernels);
    case PanelStorage::bfloat16: return packed_bfloat16_bytes(layout, kernels);
    default: return packed_bytes(layout, kernels);
  }
}

}  // namespace

size_t packed_bytes(PanelStorage panels, const WeightLayout &layout, const Kernels &kernels) {
  return aligned_bytes(exact_bytes(panels, layout, kernels));
}

void pack_weights(PanelStorage panels, const float *weights, const WeightLayout &layout, const Kernels &kernels,
                  std::byte *packed) {
  switch (panels) {
    case PanelStorage::float16:
      return pack_float16(weights, layout, kernels, reinterpret_cast<uint16_t *>(packed));
    case PanelStorage::steps: return pack_steps(weights, layout, kernels, packed);
    case PanelStorage::bfloat16:
      return pack_weights(weights, layout, kernels, reinterpret_cast<Bfloat16 *>(packed));
    default: return pack_weights(weights, layout, kernels, reinterpret_cast<float *>(packed));
  }
}

size_t PackedMatrices::prepare(const Setup &setup, TensorId &weights, PanelStorage panels, const WeightLayout &layout,
                               int64_t count, int64_t stride, const std::string &recipe,
                               const ItemOffsets &offsets) {
  panels_ = panels;
  layout_ = layout;
  count_ = count;
  stride_ = stride;
  offsets_ = offsets;
  bytes_ = packed_bytes(panels, layout, setup.kernels);
  const size_t all_bytes = bytes_ * static_cast<size_t>(count);
  const Tensor &source = setup[weights];
  ahead_ = nullptr;
  if (source.constant == nullptr) return all_bytes;
  weights = kNone;
  const std::string full = source.recipe(recipe + recipe_of(panels));
  ahead_ = setup.packed.get(source.source(), full, all_bytes, [&](void *memory) {
    pack_ahead(source.read<float>(), setup, static_cast<std::byte *>(memory));
  });
  return 0;
}

/* A panel of a matrix is an item, so that threads share a large matrix. */
void PackedMatrices::pack_ahead(const float *weights, const Setup &setup, std::byte *memory) const {
  const int64_t width = setup.kernels.columns;
  const int64_t panels = ratio_up(layout_.columns, width);
  WeightLayout one = layout_;
  one.columns = std::min(width, layout_.columns);
  const size_t panel_bytes = exact_bytes(panels_, one, setup.kernels);
  const double panel_ns = static_cast<double>(numbers_of_panel(layout_, setup.kernels)) * setup.element_ns();
  setup.pool.run(count_ * panels, panel_ns, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t matrix = i / panels, panel = i % panels;
      WeightLayout some = layout_;
      some.columns = std::min(width, layout_.columns - panel * width);
      pack_weights(panels_, weights + matrix * stride_ + panel * width * layout_.column_stride, some,
                   setup.kernels,
                   memory + static_cast<size_t>(matrix) * bytes_ + static_cast<size_t>(panel) * panel_bytes);
    }
  });
}

void PackedMatrices::pack(const float *weights, int64_t i, const Kernels &kernels, std::byte *memory) const {
  const int64_t offset = offsets_.counts.empty() ? i * stride_ : offsets_.of(i);
  pack_weights(panels_, weights + offset, layout_, kernels, memory + static_cast<size_t>(i) * bytes_);
}

const std::byte *PackedMatrices::packed(const Frame &frame, TensorId weights, std::byte *memory) const {
  if (ahead_) return static_cast<const std::byte *>(ahead_.get());
  const auto *source = frame.in<float>(weights);
  const int64_t numbers = layout_.taps * layout_.depth * layout_.columns;
  frame.for_each(count_, static_cast<double>(numbers) * frame.element_ns(),
                 [&](int64_t i, int32_t) { pack(source, i, frame.kernels, memory); });
  return memory;
}

size_t float32_panel_bytes(PanelStorage panels, const WeightLayout &layout, const Kernels &kernels) {
  if (panels != PanelStorage::float16 && panels != PanelStorage::steps) return 0;
  return aligned_bytes(static_cast<size_t>(numbers_of_panel(layout, kernels)) * sizeof(float));
}

std::string WeightLayout::recipe() const {
  std::string text = "gemm";
  for (const int64_t number : {taps, tap_stride, depth, depth_stride, columns, column_stride}) {
    text += " " + std::to_string(number);
  }
  return text + (has_paired_tail ? " pairs" : "");
}

namespace {

/* Columns behind the last whole register. */
int64_t tail_columns(int64_t columns, const Kernels &kernels) { return columns % kernels.columns % kernels.lanes; }

}  // namespace

WeightLayout with_paired_tail(const WeightLayout &layout, const Kernels &kernels) {
  const int64_t tail = tail_columns(layout.columns, kernels);
  WeightLayout paired = layout;
  paired.has_paired_tail = tail > 0 && tail <= kernels.paired_columns && layout.depth % 2 == 0;
  return paired;
}

WeightLayout matrix_layout(int64_t depth, int64_t columns, bool is_transposed) {
  return is_transposed ? WeightLayout{1, 0, depth, 1, columns, depth}
                       : WeightLayout{1, 0, depth, columns, columns, 1};
}

size_t packed_bytes(const WeightLayout &layout, const Kernels &kernels) {
  const int64_t rest = layout.columns % kernels.columns;
  const int64_t whole = layout.columns - rest;
  const int64_t row = whole + (rest == 0 ? 0 : panel_row(layout, whole, kernels, static_cast<const float *>(nullptr)));
  return static_cast<size_t>(row * layout.taps * layout.depth) * sizeof(float);
}

namespace {

constexpr int64_t kMostNumbers = 4096; /* numbers that are transposed at one time: they stay in the nearest cache */

/* Packs a panel of weights whose taps are side by side, those of the next k behind them: both are read in
 * one go, rather than each tap through all of the memory.
 */
void pack_side_by_side(const float *weights, const WeightLayout &layout, const Kernels &kernels, int64_t width,
                       int64_t row, float *packed) {
  alignas(64) float turned[kMostNumbers] = {};
  const int64_t most = kMostNumbers / (layout.taps * row);
  const size_t row_bytes = static_cast<size_t>(row) * sizeof(float);
  for (int64_t k = 0; k < layout.depth; k += most) {
    const int64_t depths = std::min(most, layout.depth - k);
    kernels.transpose(weights + k * layout.taps, layout.column_stride, turned, row, width,
                      depths * layout.taps);
    for (int64_t t = 0; t < layout.taps; ++t) {
      float *to = packed + (t * layout.depth + k) * row;
      for (int64_t d = 0; d < depths; ++d) {
        std::memcpy(to + d * row, turned + (d * layout.taps + t) * row, row_bytes);
      }
    }
  }
}

/* Puts the numbers of a tail side by side, in a panel that is packed otherwise. Args: width: of the panel; row: its
 * rows.
 */
void pair_tail(const WeightLayout &layout, int64_t width, int64_t row, const Kernels &kernels, float *packed) {
  const int64_t tail = tail_columns(width, kernels);
  float *to = packed + (width - tail);
  float pairs[costs::kWidestLanes];
  for (int64_t k = 0; k < layout.taps * layout.depth; k += 2, to += 2 * row) {
    float *next = to + row;
    for (int64_t j = 0; j < tail; ++j) {
      pairs[2 * j] = to[j];
      pairs[2 * j + 1] = next[j];
    }
    std::fill_n(next, tail, 0.0f);
    std::copy_n(pairs, 2 * tail, to); /* over next, if it is in the same register */
  }
}

void pack_panels(const float *weights, const WeightLayout &layout, const Kernels &kernels, float *packed) {
  const int64_t panel_width = kernels.columns;
  const bool is_side_by_side = layout.taps > 1 && layout.tap_stride == 1 && layout.depth_stride == layout.taps &&
                               layout.taps * panel_width <= kMostNumbers;
  for (int64_t first = 0; first < layout.columns; first += panel_width) {
    const int64_t width = std::min<int64_t>(panel_width, layout.columns - first);
    const int64_t row = panel_row(layout, first, kernels, packed);
    if (is_side_by_side) {
      pack_side_by_side(weights + first * layout.column_stride, layout, kernels, width, row, packed);
      packed += layout.taps * layout.depth * row;
      continue;
    }
    if (width < row) std::fill(packed, packed + layout.taps * layout.depth * row, 0.0f);
    for (int64_t t = 0; t < layout.taps; ++t, packed += layout.depth * row) {
      const float *source = weights + t * layout.tap_stride + first * layout.column_stride;
      if (layout.depth_stride == 1) {
        kernels.transpose(source, layout.column_stride, packed, row, width, layout.depth);
        continue;
      }
      for (int64_t k = 0; k < layout.depth; ++k, source += layout.depth_stride) {
        float *to = packed + k * row;
        if (layout.column_stride == 1) {
          std::copy(source, source + width, to);
        } else {
          for (int64_t j = 0; j < width; ++j) to[j] = source[j * layout.column_stride];
        }
      }
    }
  }
}

}  // namespace

void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels, float *packed) {
  pack_panels(weights, layout, kernels, packed);
  const int64_t rest = layout.columns % kernels.columns;
  if (!layout.has_paired_tail || rest == 0) return; /* another thread packs the last panel */
  const int64_t whole = layout.columns - rest;
  pair_tail(layout, rest, panel_row(layout, whole, kernels, packed), kernels, packed + whole * layout.taps * layout.depth);
}

/* As many tasks as keep the threads busy to the end, but tasks of several tiles, which share a panel
 * of weights while it is in the nearest cache.
 */
Tiling gemm_tiling(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup) {
  const Kernels &kernels = setup.kernels;
  const int64_t columns = layout.columns;
  const double one_ns = setup.machine().ns_of(gemm_work(rows, layout, true, kernels));
  const int32_t threads = setup.threads_for(one_ns * static_cast<double>(repeats));
  const int64_t tiles = ratio_up(rows, kernels.rows);
  const int64_t panels = ratio_up(columns, kernels.columns);
  const int64_t wanted = threads == 1 ? 1 : 8 * threads;
  const int64_t most_tiles = std::max(costs::kTilesPerTask, ratio_up(costs::kRowsPerTask, int64_t{kernels.rows}));
  int64_t tiles_per_task = std::clamp<int64_t>(tiles, 1, most_tiles);
  while (tiles_per_task > 2 && ratio_up(tiles, tiles_per_task) * repeats < wanted) {
    tiles_per_task = (tiles_per_task + 1) / 2;
  }
  const int64_t row_tasks = std::max<int64_t>(1, ratio_up(tiles, tiles_per_task) * repeats);
  const int64_t column_tasks =
      std::clamp<int64_t>(ratio_up(wanted, row_tasks), 1, std::max<int64_t>(1, panels));
  const int64_t panels_per_task = std::max<int64_t>(1, ratio_up(panels, column_tasks));
  return {rows, columns, std::max<int64_t>(1, tiles_per_task) * kernels.rows,
          panels_per_task * kernels.columns, one_ns, threads};
}

size_t pointer_bytes(const Tiling &tiling, const WeightLayout &layout) {
  const size_t bytes = static_cast<size_t>(tiling.rows_per_task * layout.taps) * sizeof(float *);
  return aligned_bytes(bytes);
}

EpilogueSlots WithEpilogue::epilogue_slots() {
  EpilogueSlots slots;
  slots.function = &function_;
  slots.scales = true;
  if (bias_count() == kNone || function_.function != Function::identity) return slots;
  slots.columns = bias_count();
  if (inputs[2] == kNone) slots.bias = &inputs[2];
  if (!has_residual_) slots.adds_residual = &has_residual_;
  return slots;
}

Epilogue WithEpilogue::epilogue(const Frame &frame, int64_t column, int64_t offset) const {
  Epilogue epilogue{inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]) + column, nullptr, function_};
  if (is_residual_bfloat16_) {
    epilogue.bfloat16_residual = frame.in<Bfloat16>(inputs.back()) + offset;
  } else if (has_residual_) {
    epilogue.residual = frame.in<float>(inputs.back()) + offset;
  }
  return epilogue;
}

void WithEpilogue::note_storage(const Setup &setup) {
  is_residual_bfloat16_ = has_residual_ && setup.is_bfloat16(inputs.back());
  is_output_bfloat16_ = setup.is_bfloat16(outputs[0]);
}

FloatOutput WithEpilogue::stored(const Frame &frame) const {
  if (is_output_bfloat16_) return {nullptr, frame.out<Bfloat16>(outputs[0])};
  return {frame.out<float>(outputs[0]), nullptr};
}

namespace {

/* The right side may be packed ahead. */
class Gemm final : public WithEpilogue {
 public:
  Gemm(const WeightedTensors &tensors, GemmShape shape) : WithEpilogue(tensors), shape_(std::move(shape)) {
    const int64_t columns = shape_.layout.columns;
    out_ = {{shape_.batch, strides_of(shape_.batch)}, shape_.rows, columns, columns};
    for (int64_t &step : out_.offsets.steps) step *= shape_.rows * columns;
  }

  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots = WithEpilogue::epilogue_slots();
    if (!has_residual()) slots.matrices = &out_;
    return slots;
  }

  int64_t bias_count() const override { return shape_.layout.columns; }

  bool can_read_bfloat16(const Kernels &kernels, size_t input) const override {
    return gains(kernels) && (input == 0 || is_residual(input));
  }
  bool can_store_bfloat16(const Kernels &kernels) const override { return gains(kernels); }

  size_t prepare(const Setup &setup) override {
    note_storage(setup);
    const bool use_bfloat16 = setup.multiplies_bfloat16 && gains(setup.kernels);
    if (!use_bfloat16) shape_.layout = with_paired_tail(shape_.layout, setup.kernels);
    const WeightLayout &layout = shape_.layout;
    const Tensor &right = setup[inputs[1]];
    tiling_ = gemm_tiling(shape_.rows, layout, elements(shape_.batch), setup);
    const int64_t numbers = layout.depth * layout.columns;
    const int64_t matrices = right.count() / std::max<int64_t>(1, numbers);
    const std::string recipe = layout.recipe() + " " + setup.kernels.name;
    panels_ = use_bfloat16 ? bfloat16_panels(setup, tiling_)
                         : panel_storage(setup, right, {layout, matrices, numbers}, recipe,
                                         shape_.rows + setup.kernels.rows, tiling_);
    thread_bytes_ = pointer_bytes(tiling_, layout) + float32_panel_bytes(panels_, layout, setup.kernels);
    is_left_bfloat16_ = setup.is_bfloat16(inputs[0]);
    work = scaled(use_bfloat16 ? bfloat16_gemm_work(shape_.rows, layout, true, setup.kernels)
                             : gemm_work(shape_.rows, layout, true, setup.kernels),
                  static_cast<double>(elements(shape_.batch)));
    if (use_bfloat16 && !is_left_bfloat16_) {
      const int64_t left = setup[inputs[0]].count();
      work.add(costs::element, static_cast<double>(left));
      rounded_ = Bfloat16Rows(left / layout.depth, layout.depth);
    }
    kernel = "gemm" + recipe_of(panels_);
    packed_bytes_ = packed_.prepare(setup, inputs[1], panels_, layout, matrices, numbers, recipe, shape_.right_offsets);
    return thread_bytes_ * static_cast<size_t>(setup.threads) + packed_bytes_ + rounded_.bytes();
  }

  void run(const Frame &frame) const override {
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), thread_bytes_);
    const std::byte *packed = packed_.packed(frame, inputs[1], memory);
    const int64_t depth = shape_.layout.depth;
    if (is_left_bfloat16_) return run_all(frame, frame.in<Bfloat16>(inputs[0]), depth, packed);
    const float *left = frame.in<float>(inputs[0]);
    if (panels_ != PanelStorage::bfloat16) return run_all(frame, left, depth, packed);
    auto *rows = reinterpret_cast<Bfloat16 *>(memory + packed_bytes_);
    rounded_.round(frame, left, rows);
    run_all(frame, rows, rounded_.stride, packed);
  }

 private:
  bool gains(const Kernels &kernels) const {
    return gains_by_bfloat16(costs::machine(kernels.lanes), kernels, shape_.layout);
  }

  /* Args: stride: from one row of the left side to the next one. */
  template <typename Number>
  void run_all(const Frame &frame, const Number *left, int64_t stride, const std::byte *packed) const {
    const WeightLayout &layout = shape_.layout;
    const int64_t tasks = tiling_.tasks();
    frame.for_each(elements(shape_.batch) * tasks, tiling_.task_ns(), [&](int64_t i, int32_t thread) {
      const int64_t item = i / tasks;
      auto *table = frame.scratch_of<const Number *>(thread, thread_bytes_);
      const EvenRows<Number> rows{left + shape_.left_of(item) * stride, shape_.left_step * stride};
      const int64_t offset = out_.offsets.of(item);
      const GemmTask<Number> gemm =
          panel_task<Number>(panels_, layout, packed + static_cast<size_t>(shape_.right_of(item)) * packed_.bytes(),
                             reinterpret_cast<std::byte *>(table) + pointer_bytes(tiling_, layout),
                             stored(frame) + offset, out_.row_step, epilogue(frame, 0, offset));
      run_gemm_task(gemm, tiling_, i % tasks, frame.kernels, table, EvenRows<Number>(rows));
    });
  }

  GemmShape shape_;
  OutputMatrices out_{};
  Tiling tiling_{};
  PanelStorage panels_ = PanelStorage::float32;
  Bfloat16Rows rounded_; /* the left side, in bfloat16 */
  bool is_left_bfloat16_ = false;
  size_t thread_bytes_ = 0; /* of the pointers and the panel of a thread */
  size_t packed_bytes_ = 0; /* of a right side that is packed while running */
  PackedMatrices packed_;
};

}  // namespace

OperationPtr gemm(const WeightedTensors &tensors, GemmShape shape) {
  return std::make_unique<Gemm>(tensors, std::move(shape));
}

OperationPtr gemm_of_matrices(TensorId left, TensorId right, TensorId to, const WeightLayout &layout, int64_t rows,
                              int64_t matrices, bool is_left_shared) {
  return gemm({left, right, kNone, to}, {layout, rows, {matrices}, {is_left_shared ? 0 : rows}, {1}});
}

namespace {

/* Where products of a type do not overflow but wrap around. */
template <typename T>
using Product = std::conditional_t<std::is_floating_point_v<T>, T,
                                   std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>>;

/* A row of the left matrix times the right one. */
template <typename T>
void multiply_row(const T *row, const T *right, const WeightLayout &layout, T *to) {
  const auto wide = [](T number) { return static_cast<Product<T>>(number); };
  if (layout.column_stride == 1) {
    std::fill_n(to, layout.columns, T{});
    for (int64_t k = 0; k < layout.depth; ++k, right += layout.depth_stride) {
      for (int64_t j = 0; j < layout.columns; ++j) {
        to[j] = static_cast<T>(wide(to[j]) + wide(row[k]) * wide(right[j]));
      }
    }
    return;
  }
  for (int64_t j = 0; j < layout.columns; ++j, right += layout.column_stride) {
    Product<T> sum{};
    for (int64_t k = 0; k < layout.depth; ++k) sum += wide(row[k]) * wide(right[k * layout.depth_stride]);
    to[j] = static_cast<T>(sum);
  }
}

template <typename T>
class PlainGemm final : public Operation {
 public:
  PlainGemm(TensorId left, TensorId right, TensorId out, GemmShape shape)
      : Operation({left, right}, {out}), shape_(std::move(shape)) {}

  void run(const Frame &frame) const override {
    const WeightLayout &layout = shape_.layout;
    const int64_t size = layout.depth * layout.columns;
    const double ns = static_cast<double>(std::max(size, layout.columns)) * frame.element_ns();
    frame.for_each(elements(shape_.batch) * shape_.rows, ns, [&](int64_t i, int32_t) {
      const int64_t item = i / shape_.rows;
      const int64_t left_row = shape_.left_of(item) + i % shape_.rows;
      multiply_row(frame.in<T>(inputs[0]) + left_row * layout.depth,
                   frame.in<T>(inputs[1]) + shape_.right_of(item) * size, layout,
                   frame.out<T>(outputs[0]) + i * layout.columns);
    });
  }

 private:
  GemmShape shape_;
};

}  // namespace

OperationPtr plain_gemm(TensorId left, TensorId right, TensorId out, armnn_data_type type, GemmShape shape) {
  return visit_number(type, [&](auto tag) -> OperationPtr {
    return std::make_unique<PlainGemm<typename decltype(tag)::Type>>(left, right, out, std::move(shape));
  });
}

}  // namespace cpuacc
