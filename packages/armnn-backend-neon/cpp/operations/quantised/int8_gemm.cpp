/* SPDX-License-Identifier: MIT */
#include "operations/quantised/int8_gemm.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"
#include "operations/gemm/work.h"

namespace cpuacc {
namespace {

constexpr int64_t kMostTiles = 8; /* whose sums of rows are known at a time */

constexpr int64_t kMostRows = 32; /* of a tile */

int64_t panels_of(const WeightLayout &layout, const Int8Kernels &kernels) {
  return ratio_up(layout.columns, kernels.columns);
}

int64_t fours_of(const WeightLayout &layout) { return ratio_up(layout.depth, 4); }

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

int64_t int8_columns(const WeightLayout &layout, const Int8Kernels &kernels) {
  return panels_of(layout, kernels) * kernels.columns;
}

/* sum (a - z) (b - y) = sum a b - z sum b - y sum a + k z y; the kernel takes off y sum a. */
void fold_int8(const Int8Params &params, int64_t first, const WeightLayout &layout, const Int8Kernels &kernels,
               const std::byte *packed, int32_t *folded) {
  const int32_t left = params.left_zero_point + kernels.read_offset[params.left_is_signed ? 1 : 0];
  const int32_t right = params.right_zero_point - (params.right_is_signed ? 0 : 128);
  const auto count = static_cast<int32_t>(layout.taps * layout.depth);
  for (int64_t column = 0; column < layout.columns; column += kernels.columns) {
    const auto *column_sums = reinterpret_cast<const int32_t *>(packed + panel_weight_bytes(layout, kernels));
    for (int64_t j = column; j < column + kernels.columns; ++j) {
      const bool has_bias = !params.bias.empty() && j < layout.columns;
      const int64_t own = has_bias ? params.bias[static_cast<size_t>(first + j)] : 0;
      folded[j] = static_cast<int32_t>(own - int64_t{left} * (column_sums[j - column] - int64_t{count} * right));
    }
    packed += int8_panel_bytes(layout, kernels);
  }
}

void Int8Weights::prepare(const Setup &setup, TensorId &weights, const WeightLayout &layout, int64_t count,
                          int64_t stride, const Int8Params &params, const std::string &recipe) {
  const Int8Kernels &kernels = setup.kernels.int8;
  const auto *source = static_cast<const uint8_t *>(setup[weights].constant);
  matrix_bytes = int8_packed_bytes(layout, kernels);
  columns = int8_columns(layout, kernels);
  packed = setup.packed.get(
      source, "int8 " + layout.recipe() + " " + recipe + setup.kernels.name, matrix_bytes * static_cast<size_t>(count),
      [&](void *memory) {
        for (int64_t i = 0; i < count; ++i) {
          pack_int8(source + i * stride, params.right_is_signed, layout, kernels,
                    static_cast<std::byte *>(memory) + static_cast<size_t>(i) * matrix_bytes);
        }
      });
  weights = kNone;
  folded.resize(static_cast<size_t>(count * columns));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = static_cast<int64_t>(params.multipliers.size()) > layout.columns ? i * layout.columns : 0;
    fold_int8(params, first, layout, kernels, matrix(i), folded.data() + i * columns);
    const auto begin = params.multipliers.begin() + first;
    scales.insert(scales.end(), begin, begin + layout.columns);
    scales.resize(static_cast<size_t>((i + 1) * columns), 0.0f);
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

bool suits_tile_registers(int64_t rows, const WeightLayout &layout, const Kernels &kernels) {
  if (kernels.int8_in_tile_registers.gemm_tile == nullptr || rows < costs::kTileRegisterRows) return false;
  if (!costs::knows_tile_registers()) return true; /* who named such a level wants it */
  return costs::machine(kernels.lanes).ns_of(tile_register_work(rows, layout, 1)) <
         int8_gemm_ns(rows, layout.columns, layout.taps * layout.depth);
}

Tiling int8_gemm_tiling(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup) {
  const Int8Kernels &kernels = int8_gemm_kernels(setup.kernels, suits_tile_registers(rows, layout, setup.kernels));
  const int64_t tiles = std::max<int64_t>(1, ratio_up(rows, kernels.rows));
  const int64_t panels = std::max<int64_t>(1, panels_of(layout, kernels));
  const double one_ns = int8_gemm_ns(rows, layout.columns, layout.taps * layout.depth);
  const double all_ns = one_ns * static_cast<double>(repeats);
  const int32_t threads = setup.threads_for(all_ns);
  const int64_t wanted =
      threads == 1 ? 1 : std::clamp<int64_t>(static_cast<int64_t>(all_ns / costs::kInt8TaskNs), 1, 4 * threads);
  int64_t tiles_per_task = wanted == 1 && threads > 1 ? tiles : std::min(tiles, costs::kTilesPerTask);
  while (tiles_per_task > 2 && ratio_up(tiles, tiles_per_task) * repeats < wanted) {
    tiles_per_task = (tiles_per_task + 1) / 2;
  }
  const int64_t row_tasks = std::max<int64_t>(1, ratio_up(tiles, tiles_per_task) * repeats);
  const int64_t column_tasks = std::clamp<int64_t>(wanted / row_tasks, 1, panels);
  return {rows, layout.columns, tiles_per_task * kernels.rows,
          ratio_up(panels, column_tasks) * kernels.columns, one_ns, threads};
}

namespace {

/* Finishes what a task has stored. */
void run_int8_epilogue(const Int8GemmTask &gemm, const Tiling::Range &range, const Int8Kernels &kernels) {
  auto *c = reinterpret_cast<uint8_t *>(gemm.c) + range.first_row * gemm.c_stride + range.first_column;
  if (range.columns() == gemm.c_stride) return gemm.epilogue(kernels, c, range.columns() * range.rows());
  for (int64_t i = 0; i < range.rows(); ++i) gemm.epilogue(kernels, c + i * gemm.c_stride, range.columns());
}

}  // namespace

void run_int8_gemm_tiles(const Int8GemmTask &gemm, const Tiling &tiling, int64_t task,
                         const Int8Kernels &kernels, const uint8_t *const *pointers) {
  const Tiling::Range range = tiling.range(task);
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
  tile.requantization = params.requantization();
  const bool sums_rows = tile.b_zero_point != 0;
  TileState kept;
  if (kernels.begin_tiles != nullptr) kernels.begin_tiles(kept, gemm.layout.depth);
  const int64_t most = kMostTiles * kernels.rows;
  int32_t row_sums[kMostTiles * kMostRows];
  for (int64_t top = range.first_row; top < range.last_row; top += sums_rows ? most : range.rows()) {
    const int64_t bottom = sums_rows ? std::min(top + most, range.last_row) : range.last_row;
    const auto place = [&](int64_t row) {
      tile.rows = pointers + (row - range.first_row) * taps;
      tile.row_count = static_cast<int32_t>(std::min<int64_t>(kernels.rows, range.last_row - row));
      tile.row_sums = row_sums + (sums_rows ? row - top : 0);
    };
    for (int64_t row = top; sums_rows && row < bottom; row += kernels.rows) {
      place(row);
      kernels.sum_rows(tile, row_sums + (row - top));
    }
    for (int64_t column = range.first_column; column < range.last_column; column += kernels.columns) {
      tile.b = reinterpret_cast<const int8_t *>(gemm.packed +
                                                static_cast<size_t>(column / kernels.columns) * panel_bytes);
      tile.bias = gemm.bias + column;
      tile.requantization.scales = gemm.scales == nullptr ? nullptr : gemm.scales + column;
      tile.column_count = static_cast<int32_t>(std::min<int64_t>(kernels.columns, range.last_column - column));
      for (int64_t row = top; row < bottom; row += kernels.rows) {
        place(row);
        tile.c = gemm.c + (row * gemm.c_stride + column) * size;
        kernels.gemm_tile(tile);
      }
    }
  }
  if (kernels.end_tiles != nullptr) kernels.end_tiles(kept);
  if (!gemm.epilogue.is_nothing()) run_int8_epilogue(gemm, range, kernels);
}

namespace {

/* The right side may be packed ahead. */
class Int8Gemm final : public WithInt8Epilogue {
 public:
  Int8Gemm(TensorId left, TensorId right, TensorId out, GemmShape shape, Int8Params params)
      : WithInt8Epilogue({left, right}, out, std::move(params)), shape_(std::move(shape)) {}

  size_t prepare(const Setup &setup) override {
    const WeightLayout &layout = shape_.layout;
    const Tensor &right = setup[inputs[1]];
    stride_ = layout.depth * layout.columns;
    matrices_ = right.count() / std::max<int64_t>(1, stride_);
    tiling_ = int8_gemm_tiling(shape_.rows, layout, elements(shape_.batch), setup);
    in_tile_registers_ = suits_tile_registers(shape_.rows, layout, setup.kernels);
    pointer_bytes_ = pointer_bytes(tiling_, layout);
    const size_t pointers = pointer_bytes_ * static_cast<size_t>(setup.threads);
    if (right.constant != nullptr) {
      weights_.prepare(setup, inputs[1], layout, matrices_, stride_, params_, "");
      return pointers;
    }
    weights_.matrix_bytes = int8_packed_bytes(layout, setup.kernels.int8);
    weights_.columns = int8_columns(layout, setup.kernels.int8);
    weights_.scales = filled_multipliers(layout.columns, setup.kernels.int8.columns);
    const auto folded = static_cast<size_t>(weights_.columns * matrices_) * sizeof(int32_t);
    return pointers + weights_.matrix_bytes * static_cast<size_t>(matrices_) + aligned_bytes(folded);
  }

  void run(const Frame &frame) const override {
    const WeightLayout &layout = shape_.layout;
    const std::byte *packed = weights_.matrix(0);
    const int32_t *folded = weights_.folded.data();
    if (packed == nullptr) {
      auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), pointer_bytes_);
      auto *sums = reinterpret_cast<int32_t *>(memory + weights_.matrix_bytes * static_cast<size_t>(matrices_));
      pack(frame, memory, sums);
      packed = memory;
      folded = sums;
    }
    const Int8Epilogue epilogue = epilogue_of(frame);
    const int64_t tasks = tiling_.tasks();
    frame.for_each(elements(shape_.batch) * tasks, int8_gemm_task_ns(tiling_, layout), [&](int64_t i, int32_t thread) {
      const int64_t item = i / tasks;
      const uint8_t *rows = frame.in<uint8_t>(inputs[0]) + shape_.left_of(item) * shape_.rows * layout.depth;
      const int64_t matrix = shape_.right_of(item);
      const Int8GemmTask gemm{layout,
                              params_,
                              packed + static_cast<size_t>(matrix) * weights_.matrix_bytes,
                              folded + matrix * weights_.columns,
                              weights_.scales.data(),
                              frame.out<std::byte>(outputs[0]) + item * shape_.rows * layout.columns,
                              layout.columns,
                              epilogue};
      run_int8_gemm_task(gemm, tiling_, i % tasks, int8_gemm_kernels(frame.kernels, in_tile_registers_),
                         frame.scratch_of<const uint8_t *>(thread, pointer_bytes_),
                         [&](int64_t row, const uint8_t **to, int64_t) { *to = rows + row * layout.depth; });
    });
  }

 private:
  /* A right side that is computed. */
  void pack(const Frame &frame, std::byte *packed, int32_t *folded) const {
    const auto *right = frame.in<uint8_t>(inputs[1]);
    frame.for_each(matrices_, costs::kWorthSplittingNs, [&](int64_t i, int32_t) {
      std::byte *to = packed + static_cast<size_t>(i) * weights_.matrix_bytes;
      pack_int8(right + i * stride_, params_.right_is_signed, shape_.layout, frame.kernels.int8, to);
      fold_int8(params_, 0, shape_.layout, frame.kernels.int8, to, folded + i * weights_.columns);
    });
  }

  GemmShape shape_;
  Tiling tiling_{};
  bool in_tile_registers_ = false;
  int64_t matrices_ = 0;
  int64_t stride_ = 0; /* from one of them to the next */
  size_t pointer_bytes_ = 0;
  Int8Weights weights_; /* what is computed has its scales only */
};

}  // namespace

OperationPtr int8_gemm(TensorId left, TensorId right, TensorId out, GemmShape shape, Int8Params params) {
  return std::make_unique<Int8Gemm>(left, right, out, std::move(shape), std::move(params));
}

}  // namespace cpuacc
