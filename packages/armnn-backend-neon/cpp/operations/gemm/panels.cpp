/* SPDX-License-Identifier: MIT */
#include "operations/gemm/panels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "costs/costs.h"
#include "operations/gemm/work.h"
#include "operations/storage/formats.h"
#include "operations/storage/steps.h"

namespace cpuacc {
namespace {

constexpr int kFloat16 = static_cast<int>(HalfFormat::float16);

/* Of the first one. */
int64_t numbers_of_panel(const WeightLayout &layout, const Kernels &kernels) {
  return layout.taps * layout.depth * panel_row(layout, 0, kernels, static_cast<const float *>(nullptr));
}

/* Calls visit(panel, its row) for each panel of a matrix, packed in float32 in the same memory, until one returns false. */
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
                       bool is_left_rounded, int64_t rows) {
  if (layout.depth < costs::kLeastBfloat16Depth || layout.columns < costs::kLeastBfloat16Columns) return false;
  if (kernels.begin_tiles_bfloat16 != nullptr) {
    /* Who named a level that was not measured wants it. */
    if (!costs::knows_tile_registers()) return true;
    costs::Work in_tiles = rounded_gemm_work(rows, layout, true, kernels);
    if (!is_left_rounded) in_tiles.add(costs::element, static_cast<double>(rows * layout.depth));
    return machine.ns_of(in_tiles) < machine.ns_of(gemm_work(rows, with_paired_tail(layout, kernels), true, kernels));
  }
  const double rounded_ns = is_left_rounded ? 0.0 : machine.ns[costs::element];
  const double saved = machine.ns[costs::multiply_add] - machine.ns[costs::bfloat16_multiply_add];
  const auto panels = static_cast<double>(ratio_up(layout.columns, kernels.columns));
  /* Of each number of a row. */
  const double of_tap = saved * (static_cast<double>(layout.columns) + costs::kRowStep * panels * kernels.lanes);
  return static_cast<double>(layout.taps) * of_tap > rounded_ns;
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

PanelStorage rounded_panels(const Setup &setup, Tiling &tiling) {
  tiling.rows_per_task = ratio_up(tiling.rows_per_task, setup.kernels.rows_bfloat16) * setup.kernels.rows_bfloat16;
  return PanelStorage::bfloat16;
}

PanelStorage panel_storage(const Setup &setup, const Tensor &weights, const WeightMatrices &matrices,
                           const std::string &recipe, int64_t most_rows, Tiling &tiling) {
  if (weights.constant == nullptr) return PanelStorage::float32;
  const Tiling wide = tiling_for_conversion(tiling, setup, most_rows);
  const int64_t rows = std::min(wide.rows_per_task, tiling.rows);
  const auto are_packed_as = [&](PanelStorage panels, bool gains, const auto &fit) {
    /* What was stored may be for another number of threads. */
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
                               const Places &places) {
  panels_ = panels;
  layout_ = layout;
  count_ = count;
  stride_ = stride;
  places_ = places;
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
  const int64_t place = places_.counts.empty() ? i * stride_ : places_.of(i);
  pack_weights(panels_, weights + place, layout_, kernels, memory + static_cast<size_t>(i) * bytes_);
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

}  // namespace cpuacc
