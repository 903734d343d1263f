/* SPDX-License-Identifier: MIT */
#include "operations/quantised/int8_gemm.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"

namespace cpuacc {
namespace {

constexpr int64_t kMostTiles = 8; /* whose sums of rows are known at a time */

constexpr int64_t kMostRows = 16; /* of a tile */

int64_t panels_of(const WeightLayout &layout, const Int8Kernels &kernels) {
  return (layout.columns + kernels.columns - 1) / kernels.columns;
}

int64_t fours_of(const WeightLayout &layout) { return (layout.depth + 3) / 4; }

/* One panel without its sums. */
int64_t panel_weight_bytes(const WeightLayout &layout, const Int8Kernels &kernels) {
  return layout.taps * fours_of(layout) * kernels.columns * 4;
}

}  // namespace

size_t int8_panel_bytes(const WeightLayout &layout, const Int8Kernels &kernels) {
  return static_cast<size_t>(panel_weight_bytes(layout, kernels) + kernels.columns * 4);
}

size_t int8_packed_bytes(const WeightLayout &layout, const Int8Kernels &kernels) {
  return aligned_bytes(int8_panel_bytes(layout, kernels) * static_cast<size_t>(panels_of(layout, kernels)));
}

void pack_int8(const uint8_t *weights, bool is_signed, const WeightLayout &layout,
               const Int8Kernels &kernels, std::byte *packed) {
  const uint8_t turned = is_signed ? 0 : 0x80;
  for (int64_t first = 0; first < layout.columns; first += kernels.columns) {
    auto *panel = reinterpret_cast<int8_t *>(packed);
    std::vector<int32_t> column_sums(static_cast<size_t>(kernels.columns), 0);
    std::memset(panel, 0, static_cast<size_t>(panel_weight_bytes(layout, kernels)));
    const int64_t width = std::min<int64_t>(kernels.columns, layout.columns - first);
    for (int64_t t = 0; t < layout.taps; ++t) {
      for (int64_t k = 0; k < layout.depth; ++k) {
        const uint8_t *source =
            weights + t * layout.tap_stride + k * layout.depth_stride + first * layout.column_stride;
        int8_t *to = panel + (k / 4 * kernels.columns * 4) + k % 4;
        for (int64_t j = 0; j < width; ++j) {
          const auto weight = static_cast<int8_t>(source[j * layout.column_stride] ^ turned);
          to[j * 4] = weight;
          column_sums[static_cast<size_t>(j)] += weight;
        }
      }
      panel += fours_of(layout) * kernels.columns * 4;
    }
    std::memcpy(panel, column_sums.data(), column_sums.size() * 4);
    packed += int8_panel_bytes(layout, kernels);
  }
}

/* sum (a - z) (b - y) = sum a b - z sum b - y sum a + k z y; the kernel takes off y sum a. */
void fold_int8(const Int8Params &params, const int32_t *bias, const WeightLayout &layout,
               const Int8Kernels &kernels, const std::byte *packed, int32_t *folded) {
  const int32_t left = params.left_zero_point + kernels.read_offset[params.left_is_signed ? 1 : 0];
  const int32_t right = params.right_zero_point - (params.right_is_signed ? 0 : 128);
  const auto count = static_cast<int32_t>(layout.taps * layout.depth);
  for (int64_t first = 0; first < layout.columns; first += kernels.columns) {
    const auto *column_sums = reinterpret_cast<const int32_t *>(packed + panel_weight_bytes(layout, kernels));
    for (int64_t j = 0; j < kernels.columns; ++j) {
      const bool has_bias = bias != nullptr && first + j < layout.columns;
      const int64_t own = has_bias ? bias[first + j] : 0;
      folded[first + j] = static_cast<int32_t>(own - int64_t{left} * (column_sums[j] - int64_t{count} * right));
    }
    packed += int8_panel_bytes(layout, kernels);
  }
}

/* Each sum of products, each byte that is made of one, each weight that is read. */
double int8_gemm_ns(int64_t rows, int64_t columns, int64_t depth) {
  const auto sums = static_cast<double>(rows * std::max(columns, costs::kLeastInt8GemmColumns));
  const auto weights = static_cast<double>(columns * depth);
  return sums * (static_cast<double>(depth) * costs::kInt8MultiplyAddNs + costs::kInt8StoredNs) +
         weights * costs::kInt8WeightNs;
}

double int8_gemm_task_ns(const Tiling &tiling, const WeightLayout &layout) {
  return int8_gemm_ns(std::min(tiling.rows, tiling.rows_per_task),
                      std::min(tiling.columns, tiling.columns_per_task), layout.taps * layout.depth);
}

Tiling int8_gemm_tiling(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup) {
  const Int8Kernels &kernels = setup.kernels.int8;
  const int64_t tiles = std::max<int64_t>(1, (rows + kernels.rows - 1) / kernels.rows);
  const int64_t panels = std::max<int64_t>(1, panels_of(layout, kernels));
  const double one_ns = int8_gemm_ns(rows, layout.columns, layout.taps * layout.depth);
  const double all_ns = one_ns * static_cast<double>(repeats);
  const int32_t threads = setup.threads_for(all_ns);
  const int64_t wanted =
      threads == 1 ? 1 : std::clamp<int64_t>(static_cast<int64_t>(all_ns / costs::kInt8TaskNs), 1, 4 * threads);
  int64_t tiles_per_task = wanted == 1 && threads > 1 ? tiles : std::min(tiles, costs::kTilesPerTask);
  while (tiles_per_task > 2 && (tiles + tiles_per_task - 1) / tiles_per_task * repeats < wanted) {
    tiles_per_task = (tiles_per_task + 1) / 2;
  }
  const int64_t row_tasks = std::max<int64_t>(1, (tiles + tiles_per_task - 1) / tiles_per_task * repeats);
  const int64_t column_tasks = std::clamp<int64_t>(wanted / row_tasks, 1, panels);
  return {rows, layout.columns, tiles_per_task * kernels.rows,
          (panels + column_tasks - 1) / column_tasks * kernels.columns};
}

namespace {

/* Finishes what a task has stored. */
void run_int8_epilogue(const Int8GemmTask &gemm, const Tiling &tiling, int64_t task,
                       const Int8Kernels &kernels) {
  const int64_t first_row = task % tiling.row_tasks() * tiling.rows_per_task;
  const int64_t last_row = std::min(first_row + tiling.rows_per_task, tiling.rows);
  const int64_t first_column = task / tiling.row_tasks() * tiling.columns_per_task;
  const int64_t columns = std::min(tiling.columns_per_task, tiling.columns - first_column);
  auto *c = reinterpret_cast<uint8_t *>(gemm.c) + first_row * gemm.c_stride + first_column;
  const bool is_dense = columns == gemm.c_stride;
  const int64_t spans = is_dense ? 1 : last_row - first_row;
  const int64_t count = is_dense ? columns * (last_row - first_row) : columns;
  for (int64_t i = 0; i < spans; ++i, c += gemm.c_stride) {
    gemm.epilogue(kernels, c, count);
  }
}

}  // namespace

void run_int8_gemm_tiles(const Int8GemmTask &gemm, const Tiling &tiling, int64_t task,
                         const Int8Kernels &kernels, const uint8_t *const *pointers) {
  const int64_t first_row = task % tiling.row_tasks() * tiling.rows_per_task;
  const int64_t last_row = std::min(first_row + tiling.rows_per_task, tiling.rows);
  const int64_t first_column = task / tiling.row_tasks() * tiling.columns_per_task;
  const int64_t last_column = std::min(first_column + tiling.columns_per_task, tiling.columns);
  const Int8Params &params = gemm.params;
  const int64_t taps = gemm.layout.taps;
  const int64_t size = gemm.scales == nullptr ? 4 : 1;
  const size_t panel_bytes = int8_panel_bytes(gemm.layout, kernels);
  Int8GemmTile tile{};
  tile.rows_stride = kernels.rows;
  tile.taps = taps;
  tile.depth = gemm.layout.depth;
  tile.is_signed = params.left_is_signed;
  tile.b_zero_point = params.right_zero_point - (params.right_is_signed ? 0 : 128);
  tile.c_stride = gemm.c_stride;
  tile.requantization = {nullptr, params.zero_point, params.bounds.lowest, params.bounds.highest};
  const bool sums_rows = tile.b_zero_point != 0;
  const int64_t most = kMostTiles * kernels.rows;
  int32_t row_sums[kMostTiles * kMostRows];
  for (int64_t top = first_row; top < last_row; top += sums_rows ? most : last_row - first_row) {
    const int64_t bottom = sums_rows ? std::min(top + most, last_row) : last_row;
    const auto place = [&](int64_t row) {
      tile.rows = pointers + (row - first_row) * taps;
      tile.row_count = static_cast<int32_t>(std::min<int64_t>(kernels.rows, last_row - row));
      tile.row_sums = row_sums + (sums_rows ? row - top : 0);
    };
    for (int64_t row = top; sums_rows && row < bottom; row += kernels.rows) {
      place(row);
      kernels.sum_rows(tile, row_sums + (row - top));
    }
    for (int64_t column = first_column; column < last_column; column += kernels.columns) {
      tile.b = reinterpret_cast<const int8_t *>(gemm.packed +
                                                static_cast<size_t>(column / kernels.columns) * panel_bytes);
      tile.bias = gemm.bias + column;
      tile.requantization.scales = gemm.scales == nullptr ? nullptr : gemm.scales + column;
      tile.column_count = static_cast<int32_t>(std::min<int64_t>(kernels.columns, last_column - column));
      for (int64_t row = top; row < bottom; row += kernels.rows) {
        place(row);
        tile.c = gemm.c + (row * gemm.c_stride + column) * size;
        kernels.gemm_tile(tile);
      }
    }
  }
  if (!gemm.epilogue.is_nothing()) run_int8_epilogue(gemm, tiling, task, kernels);
}

namespace {

/* [batches, rows, depth] x [batches or 1, depth, columns]; the right side may be packed ahead. */
class Int8Gemm final : public WithInt8Epilogue {
 public:
  Int8Gemm(TensorId left, TensorId right, TensorId out, WeightLayout layout, int64_t rows, Shape batch,
           Shape left_steps, Shape right_steps, Int8Params params)
      : WithInt8Epilogue({left, right}, out, std::move(params)),
        layout_(layout),
        rows_(rows),
        batch_(std::move(batch)),
        left_steps_(std::move(left_steps)),
        right_steps_(std::move(right_steps)) {}

  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;

 private:
  struct Scratch; /* where the parts of the scratch memory are */
  Scratch scratch_of(const Frame &frame) const;
  void pack_computed(const Frame &frame, const Scratch &scratch) const;

  WeightLayout layout_;
  int64_t rows_;
  Shape batch_;
  Shape left_steps_;
  Shape right_steps_;
  Tiling tiling_{};
  int64_t matrices_ = 0;
  size_t matrix_bytes_ = 0; /* packed */
  size_t folded_bytes_ = 0;
  size_t pointer_bytes_ = 0;
  std::shared_ptr<const void> packed_;
  std::vector<int32_t> folded_; /* of constant weights */
  std::vector<float> scales_;
};

struct Int8Gemm::Scratch {
  std::byte *pointers;
  std::byte *packed;
  std::byte *folded;
};

size_t Int8Gemm::prepare(const Setup &setup) {
  const Tensor &right = setup[inputs[1]];
  const Int8Kernels &kernels = setup.kernels.int8;
  const int64_t batches = elements(batch_);
  tiling_ = int8_gemm_tiling(rows_, layout_, batches, setup);
  matrix_bytes_ = int8_packed_bytes(layout_, kernels);
  matrices_ = right.count() / std::max<int64_t>(1, layout_.depth * layout_.columns);
  const auto columns = static_cast<size_t>(panels_of(layout_, kernels) * kernels.columns);
  folded_bytes_ = aligned_bytes(columns * sizeof(int32_t));
  pointer_bytes_ = pointer_bytes(tiling_, layout_);
  scales_ = filled_multipliers(0, params_.multipliers.empty() ? 0 : layout_.columns, kernels.columns);
  const size_t pointers = pointer_bytes_ * static_cast<size_t>(setup.threads);
  const auto count = static_cast<size_t>(matrices_);
  if (right.constant == nullptr) return pointers + (matrix_bytes_ + folded_bytes_) * count;
  const auto fill = [&](void *memory) {
    for (size_t i = 0; i < count; ++i) {
      pack_int8(static_cast<const uint8_t *>(right.constant) +
                    static_cast<int64_t>(i) * layout_.depth * layout_.columns,
                params_.right_is_signed, layout_, kernels,
                static_cast<std::byte *>(memory) + i * matrix_bytes_);
    }
  };
  packed_ = setup.packed.get(right.constant,
                             "int8 " + layout_.recipe() + " " + setup.kernels.name, matrix_bytes_ * count,
                             fill);
  inputs[1] = kNone;
  folded_.resize(folded_bytes_ / sizeof(int32_t) * count);
  const int32_t *bias = params_.bias.empty() ? nullptr : params_.bias.data();
  for (size_t i = 0; i < count; ++i) {
    fold_int8(params_, bias, layout_, kernels,
              static_cast<const std::byte *>(packed_.get()) + i * matrix_bytes_,
              folded_.data() + i * (folded_bytes_ / sizeof(int32_t)));
  }
  return pointers;
}

Int8Gemm::Scratch Int8Gemm::scratch_of(const Frame &frame) const {
  std::byte *packed = frame.scratch() + pointer_bytes_ * static_cast<size_t>(frame.pool.threads());
  return {frame.scratch(), packed, packed + matrix_bytes_ * static_cast<size_t>(matrices_)};
}

void Int8Gemm::pack_computed(const Frame &frame, const Scratch &scratch) const {
  const auto *right = frame.in<uint8_t>(inputs[1]);
  const int32_t *bias = params_.bias.empty() ? nullptr : params_.bias.data();
  const Int8Kernels &kernels = frame.kernels.int8;
  frame.pool.run(matrices_, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      std::byte *packed = scratch.packed + static_cast<size_t>(i) * matrix_bytes_;
      pack_int8(right + i * layout_.depth * layout_.columns, params_.right_is_signed, layout_, kernels, packed);
      fold_int8(params_, bias, layout_, kernels, packed,
                reinterpret_cast<int32_t *>(scratch.folded + static_cast<size_t>(i) * folded_bytes_));
    }
  });
}

void Int8Gemm::run(const Frame &frame) const {
  const Scratch scratch = scratch_of(frame);
  if (!packed_) pack_computed(frame, scratch);
  const auto *packed = packed_ ? static_cast<const std::byte *>(packed_.get()) : scratch.packed;
  const auto *folded = packed_ ? reinterpret_cast<const std::byte *>(folded_.data()) : scratch.folded;
  const auto *left = frame.in<uint8_t>(inputs[0]);
  const Int8Epilogue epilogue = epilogue_of(frame);
  const int64_t size = scales_.empty() ? 4 : 1;
  const int64_t tasks = tiling_.tasks();
  frame.pool.run(
      elements(batch_) * tasks, int8_gemm_task_ns(tiling_, layout_),
      [&](int64_t begin, int64_t end, int32_t thread) {
        auto *pointers =
            reinterpret_cast<const uint8_t **>(scratch.pointers + pointer_bytes_ * static_cast<size_t>(thread));
        for (int64_t i = begin; i < end; ++i) {
          const int64_t batch = i / tasks;
          const uint8_t *rows = left + matrix_of(left_steps_, batch_, batch) * rows_ * layout_.depth;
          const auto matrix = static_cast<size_t>(matrix_of(right_steps_, batch_, batch));
          const Int8GemmTask gemm{layout_,
                                  params_,
                                  packed + matrix * matrix_bytes_,
                                  reinterpret_cast<const int32_t *>(folded + matrix * folded_bytes_),
                                  scales_.empty() ? nullptr : scales_.data(),
                                  frame.out<std::byte>(outputs[0]) + batch * rows_ * layout_.columns * size,
                                  layout_.columns,
                                  epilogue};
          run_int8_gemm_task(
              gemm, tiling_, i % tasks, frame.kernels.int8, pointers,
              [&](int64_t row, const uint8_t **to, int64_t) { *to = rows + row * layout_.depth; });
        }
      });
}

}  // namespace

OperationPtr int8_gemm(TensorId left, TensorId right, TensorId out, const WeightLayout &layout, int64_t rows,
                       Shape batch, Shape left_steps, Shape right_steps, Int8Params params) {
  return std::make_unique<Int8Gemm>(left, right, out, layout, rows, std::move(batch), std::move(left_steps),
                                    std::move(right_steps), std::move(params));
}

}  // namespace cpuacc
