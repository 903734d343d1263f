/* SPDX-License-Identifier: MIT */
#include "operations/gemm/gemm.h"

#include <algorithm>

#include "costs/costs.h"
#include "operations/gemm/panels.h"
#include "operations/storage/bfloat16.h"

namespace cpuacc {

std::string WeightLayout::recipe() const {
  std::string text = "gemm";
  for (const int64_t number : {taps, tap_stride, depth, depth_stride, columns, column_stride}) {
    text += " " + std::to_string(number);
  }
  return text;
}

WeightLayout matrix_layout(int64_t depth, int64_t columns, bool is_transposed) {
  return is_transposed ? WeightLayout{1, 0, depth, 1, columns, depth}
                       : WeightLayout{1, 0, depth, columns, columns, 1};
}

int64_t matrix_of(const Shape &steps, const Shape &batch_shape, int64_t batch) {
  int64_t matrix = 0;
  for (size_t axis = batch_shape.size(); axis-- > 0;) {
    matrix += batch % batch_shape[axis] * steps[axis];
    batch /= batch_shape[axis];
  }
  return matrix;
}

size_t packed_bytes(const WeightLayout &layout, const Kernels &kernels) {
  const int64_t panels = (layout.columns + kernels.columns - 1) / kernels.columns;
  return static_cast<size_t>(panels * kernels.columns * layout.taps * layout.depth) * sizeof(float);
}

void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels,
                  float *packed) {
  const int64_t panel_width = kernels.columns;
  for (int64_t first = 0; first < layout.columns; first += panel_width) {
    const int64_t width = std::min<int64_t>(panel_width, layout.columns - first);
    if (width < panel_width) std::fill(packed, packed + layout.taps * layout.depth * panel_width, 0.0f);
    for (int64_t t = 0; t < layout.taps; ++t, packed += layout.depth * panel_width) {
      const float *source = weights + t * layout.tap_stride + first * layout.column_stride;
      if (layout.depth_stride == 1) {
        kernels.transpose(source, layout.column_stride, packed, panel_width, width, layout.depth);
        continue;
      }
      for (int64_t k = 0; k < layout.depth; ++k, source += layout.depth_stride) {
        float *to = packed + k * panel_width;
        if (layout.column_stride == 1) {
          std::copy(source, source + width, to);
        } else {
          for (int64_t j = 0; j < width; ++j) to[j] = source[j * layout.column_stride];
        }
      }
    }
  }
}

namespace {

/* Each sum of products, each number that is stored, each weight that is read. */
double gemm_ns(int64_t rows, int64_t columns, int64_t depth) {
  const auto sums = static_cast<double>(rows * std::max(columns, costs::kLeastGemmColumns));
  const auto weights = static_cast<double>(columns * depth);
  return sums * (static_cast<double>(depth) * costs::kMultiplyAddNs + costs::kStoredNs) + weights * costs::kWeightNs;
}

}  // namespace

/* As many tasks as keep the threads busy to the end, but tasks of several tiles, which share a panel
 * of weights while it is in the nearest cache.
 */
Tiling gemm_tiling(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup) {
  const Kernels &kernels = setup.kernels;
  const int64_t columns = layout.columns;
  const double one_ns = gemm_ns(rows, columns, layout.taps * layout.depth);
  const int32_t threads = setup.threads_for(one_ns * static_cast<double>(repeats));
  const int64_t tiles = (rows + kernels.rows - 1) / kernels.rows;
  const int64_t panels = (columns + kernels.columns - 1) / kernels.columns;
  const int64_t wanted = threads == 1 ? 1 : 8 * threads;
  int64_t tiles_per_task = std::clamp<int64_t>(tiles, 1, costs::kTilesPerTask);
  while (tiles_per_task > 2 && (tiles + tiles_per_task - 1) / tiles_per_task * repeats < wanted) {
    tiles_per_task = (tiles_per_task + 1) / 2;
  }
  const int64_t row_tasks = std::max<int64_t>(1, (tiles + tiles_per_task - 1) / tiles_per_task * repeats);
  const int64_t column_tasks =
      std::clamp<int64_t>((wanted + row_tasks - 1) / row_tasks, 1, std::max<int64_t>(1, panels));
  const int64_t panels_per_task = std::max<int64_t>(1, (panels + column_tasks - 1) / column_tasks);
  return {rows, columns, std::max<int64_t>(1, tiles_per_task) * kernels.rows,
          panels_per_task * kernels.columns};
}

double gemm_task_ns(const Tiling &tiling, const WeightLayout &layout) {
  const int64_t rows = std::min(tiling.rows, tiling.rows_per_task);
  const int64_t columns = std::min(tiling.columns, tiling.columns_per_task);
  return gemm_ns(rows, columns, layout.taps * layout.depth);
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

namespace {

/* [batches, rows, depth] x [batches or 1, depth, columns]; the right side may be packed ahead. */
class Gemm final : public WithEpilogue {
 public:
  Gemm(TensorId left, TensorId right, TensorId bias, TensorId out, WeightLayout layout, int64_t rows, Shape batch,
       Shape left_steps, Shape right_steps)
      : WithEpilogue({left, right, bias}, {out}),
        layout_(layout),
        rows_(rows),
        batch_(std::move(batch)),
        left_steps_(std::move(left_steps)),
        right_steps_(std::move(right_steps)) {}

  int64_t bias_count() const override { return layout_.columns; }

  size_t prepare(const Setup &setup) override {
    const Tensor &right = setup[inputs[1]];
    const int64_t batches = elements(batch_);
    tiling_ = gemm_tiling(rows_, layout_, batches, setup);
    const std::string recipe = layout_.recipe() + " " + setup.kernels.name;
    panels_ = panel_storage(setup, right, layout_, recipe, rows_ + setup.kernels.rows, tiling_);
    panel_bytes_ = packed_bytes(panels_, layout_, setup.kernels);
    thread_bytes_ = pointer_bytes(tiling_, layout_) + float32_panel_bytes(panels_, layout_, setup.kernels);
    if (panels_ == PanelStorage::bfloat16) {
      rounded_ = RoundedRows(setup[inputs[0]].count() / layout_.depth, layout_.depth);
    }
    matrices_ = right.count() / std::max<int64_t>(1, layout_.depth * layout_.columns);
    if (right.constant != nullptr) {
      const auto fill = [&](void *memory) {
        pack_all(static_cast<const float *>(right.constant), static_cast<std::byte *>(memory),
                 setup.kernels, 0, matrices_);
      };
      packed_ = setup.packed.get(right.constant, recipe + recipe_of(panels_),
                                 panel_bytes_ * static_cast<size_t>(matrices_), fill);
      inputs[1] = kNone;
    }
    packed_bytes_ = packed_ ? 0 : panel_bytes_ * static_cast<size_t>(matrices_);
    return thread_bytes_ * static_cast<size_t>(setup.threads) + packed_bytes_ + rounded_.bytes();
  }

  void run(const Frame &frame) const override {
    std::byte *memory = frame.scratch() + thread_bytes_ * static_cast<size_t>(frame.pool.threads());
    const std::byte *packed = static_cast<const std::byte *>(packed_.get());
    if (!packed_) {
      const float *right = frame.in<float>(inputs[1]);
      const double matrix_ns = static_cast<double>(layout_.depth * layout_.columns) * costs::kElementNs;
      frame.pool.run(matrices_, matrix_ns, [&](int64_t begin, int64_t end, int32_t) {
        pack_all(right, memory, frame.kernels, begin, end);
      });
      packed = memory;
    }
    const float *left = frame.in<float>(inputs[0]);
    if (panels_ == PanelStorage::bfloat16) {
      auto *rows = reinterpret_cast<Bfloat16 *>(memory + packed_bytes_);
      rounded_.round(frame, left, rows);
      run_all(frame, rows, rounded_.stride, packed);
    } else {
      run_all(frame, left, layout_.depth, packed);
    }
  }

 private:
  /* Args: stride: from one row of the left side to the next one. */
  template <typename Number>
  void run_all(const Frame &frame, const Number *left, int64_t stride, const std::byte *packed) const {
    const int64_t tasks = tiling_.tasks();
    frame.pool.run(
        elements(batch_) * tasks, gemm_task_ns(tiling_, layout_),
        [&](int64_t begin, int64_t end, int32_t thread) {
          auto *table =
              reinterpret_cast<const Number **>(frame.scratch() + thread_bytes_ * static_cast<size_t>(thread));
          for (int64_t i = begin; i < end; ++i) {
            const int64_t matrix = matrix_of(left_steps_, batch_, i / tasks);
            run_one(frame, left + matrix * rows_ * stride, stride, packed, table, i / tasks, i % tasks);
          }
        });
  }

  void pack_all(const float *right, std::byte *memory, const Kernels &kernels, int64_t begin,
                int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      const float *matrix = right + i * layout_.depth * layout_.columns;
      pack_weights(panels_, matrix, layout_, kernels, memory + static_cast<size_t>(i) * panel_bytes_);
    }
  }

  template <typename Number>
  void run_one(const Frame &frame, const Number *left, int64_t stride, const std::byte *packed,
               const Number **table, int64_t batch, int64_t task) const {
    const int64_t place = batch * rows_ * layout_.columns;
    const float *bias = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]);
    const float *residual = has_residual_ ? frame.in<float>(inputs.back()) + place : nullptr;
    const auto matrix = static_cast<size_t>(matrix_of(right_steps_, batch_, batch));
    const std::byte *own = packed + matrix * panel_bytes_;
    GemmTask<Number> gemm{layout_,
                          reinterpret_cast<const Number *>(own),
                          frame.out<float>(outputs[0]) + place,
                          layout_.columns,
                          {bias, residual, function_}};
    if (panels_ == PanelStorage::float16) {
      gemm.float16_panels = reinterpret_cast<const uint16_t *>(own);
      gemm.float32_panel =
          reinterpret_cast<float *>(reinterpret_cast<std::byte *>(table) + pointer_bytes(tiling_, layout_));
    }
    run_gemm_task(gemm, tiling_, task, frame.kernels, table,
                  [&](int64_t row, const Number **pointers, int64_t) { *pointers = left + row * stride; });
  }

  WeightLayout layout_;
  int64_t rows_;
  Shape batch_;
  Shape left_steps_;
  Shape right_steps_;
  Tiling tiling_{};
  PanelStorage panels_ = PanelStorage::float32;
  RoundedRows rounded_; /* the left side, in bfloat16 */
  size_t panel_bytes_ = 0;
  size_t thread_bytes_ = 0; /* of the pointers and the panel of a thread */
  int64_t matrices_ = 0;
  size_t packed_bytes_ = 0; /* of a right side that is packed while running */
  std::shared_ptr<const void> packed_;
};

}  // namespace

OperationPtr gemm(TensorId left, TensorId right, TensorId bias, TensorId out, const WeightLayout &layout,
                  int64_t rows, Shape batch, Shape left_steps, Shape right_steps) {
  return std::make_unique<Gemm>(left, right, bias, out, layout, rows, std::move(batch), std::move(left_steps),
                                std::move(right_steps));
}

OperationPtr gemm_of_matrices(TensorId left, TensorId right, TensorId to, const WeightLayout &layout, int64_t rows,
                              int64_t matrices, bool is_left_shared) {
  return gemm(left, right, kNone, to, layout, rows, Shape{matrices}, Shape{is_left_shared ? 0 : 1}, Shape{1});
}

}  // namespace cpuacc
