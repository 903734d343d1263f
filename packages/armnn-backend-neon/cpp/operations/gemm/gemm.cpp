/* SPDX-License-Identifier: MIT */
#include "operations/gemm/gemm.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"
#include "operations/gemm/panels.h"
#include "operations/gemm/work.h"
#include "operations/storage/formats.h"

namespace cpuacc {

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

constexpr int64_t kMostNumbers = 4096; /* that are turned together: they stay in the nearest cache */

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

/* Puts the numbers of a tail side by side, in a panel that is packed otherwise. Args: width: of the panel; row: its rows. */
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

Epilogue WithEpilogue::epilogue(const Frame &frame, int64_t column, int64_t place) const {
  Epilogue epilogue{inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]) + column, nullptr, function_};
  if (has_rounded_residual_) {
    epilogue.rounded_residual = frame.in<Bfloat16>(inputs.back()) + place;
  } else if (has_residual_) {
    epilogue.residual = frame.in<float>(inputs.back()) + place;
  }
  return epilogue;
}

void WithEpilogue::note_storage(const Setup &setup) {
  has_rounded_residual_ = has_residual_ && setup.is_bfloat16(inputs.back());
  is_stored_rounded_ = setup.is_bfloat16(outputs[0]);
}

Stored WithEpilogue::stored(const Frame &frame) const {
  if (is_stored_rounded_) return {nullptr, frame.out<Bfloat16>(outputs[0])};
  return {frame.out<float>(outputs[0]), nullptr};
}

namespace {

/* The right side may be packed ahead. */
class Gemm final : public WithEpilogue {
 public:
  Gemm(const WeightedTensors &tensors, GemmShape shape) : WithEpilogue(tensors), shape_(std::move(shape)) {
    const int64_t columns = shape_.layout.columns;
    out_ = {{shape_.batch, strides_of(shape_.batch)}, shape_.rows, columns, columns};
    for (int64_t &step : out_.places.steps) step *= shape_.rows * columns;
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
    const bool is_rounded = setup.multiplies_bfloat16 && gains(setup.kernels);
    if (!is_rounded) shape_.layout = with_paired_tail(shape_.layout, setup.kernels);
    const WeightLayout &layout = shape_.layout;
    const Tensor &right = setup[inputs[1]];
    tiling_ = gemm_tiling(shape_.rows, layout, elements(shape_.batch), setup);
    const int64_t numbers = layout.depth * layout.columns;
    const int64_t matrices = right.count() / std::max<int64_t>(1, numbers);
    const std::string recipe = layout.recipe() + " " + setup.kernels.name;
    panels_ = is_rounded ? rounded_panels(setup, tiling_)
                         : panel_storage(setup, right, {layout, matrices, numbers}, recipe,
                                         shape_.rows + setup.kernels.rows, tiling_);
    thread_bytes_ = pointer_bytes(tiling_, layout) + float32_panel_bytes(panels_, layout, setup.kernels);
    is_left_rounded_ = setup.is_bfloat16(inputs[0]);
    work = scaled(is_rounded ? rounded_gemm_work(shape_.rows, layout, true, setup.kernels)
                             : gemm_work(shape_.rows, layout, true, setup.kernels),
                  static_cast<double>(elements(shape_.batch)));
    if (is_rounded && !is_left_rounded_) {
      const int64_t left = setup[inputs[0]].count();
      work.add(costs::element, static_cast<double>(left));
      rounded_ = RoundedRows(left / layout.depth, layout.depth);
    }
    kernel = "gemm" + recipe_of(panels_);
    packed_bytes_ = packed_.prepare(setup, inputs[1], panels_, layout, matrices, numbers, recipe, shape_.right_places);
    return thread_bytes_ * static_cast<size_t>(setup.threads) + packed_bytes_ + rounded_.bytes();
  }

  void run(const Frame &frame) const override {
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), thread_bytes_);
    const std::byte *packed = packed_.packed(frame, inputs[1], memory);
    const int64_t depth = shape_.layout.depth;
    if (is_left_rounded_) return run_all(frame, frame.in<Bfloat16>(inputs[0]), depth, packed);
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
      const int64_t place = out_.places.of(item);
      const GemmTask<Number> gemm =
          panel_task<Number>(panels_, layout, packed + static_cast<size_t>(shape_.right_of(item)) * packed_.bytes(),
                             reinterpret_cast<std::byte *>(table) + pointer_bytes(tiling_, layout),
                             stored(frame) + place, out_.row_step, epilogue(frame, 0, place));
      run_gemm_task(gemm, tiling_, i % tasks, frame.kernels, table, EvenRows<Number>(rows));
    });
  }

  GemmShape shape_;
  OutputMatrices out_{};
  Tiling tiling_{};
  PanelStorage panels_ = PanelStorage::float32;
  RoundedRows rounded_; /* the left side, in bfloat16 */
  bool is_left_rounded_ = false; /* it is stored so */
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

}  // namespace cpuacc
