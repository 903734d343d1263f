/* SPDX-License-Identifier: MIT */
/* Products of many rows with packed weights, tile by tile; convolutions are such products too. */
#ifndef CPUACC_OPERATIONS_GEMM_GEMM_H_
#define CPUACC_OPERATIONS_GEMM_GEMM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "graph/ir.h"
#include "graph/packed.h"

namespace cpuacc {

/* Where the weight of a tap, a k and a column is; strides in elements. */
struct WeightLayout {
  int64_t taps;
  int64_t tap_stride;
  int64_t depth;
  int64_t depth_stride;
  int64_t columns;
  int64_t column_stride;

  std::string recipe() const;
};

/* Panels of kernels.columns columns; in each, for every tap and k, one line. */
size_t packed_bytes(const WeightLayout &layout, const Kernels &kernels);
void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels, float *packed);

/* Lines of numbers that a product reads of each tap: of two k's as one in bfloat16. */
inline int64_t packed_depth(int64_t depth, const float *) { return depth; }
inline int64_t packed_depth(int64_t depth, const Bfloat16 *) { return (depth + 1) / 2 * 2; }

/* The rows x columns of one product, cut into tasks. */
struct Cut {
  int64_t rows;
  int64_t columns;
  int64_t rows_per_task; /* a multiple of kernels.rows */
  int64_t columns_per_task; /* a multiple of kernels.columns */

  int64_t row_tasks() const { return (rows + rows_per_task - 1) / rows_per_task; }
  int64_t tasks() const {
    return row_tasks() * ((columns + columns_per_task - 1) / columns_per_task);
  }
};

/* Args: repeats: how many such products run together. */
Cut cut_product(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup);

/* What follows the sum: bias, another tensor, a function. */
struct Epilogue {
  const float *bias; /* of the first column */
  const float *residual; /* of the first row and column; as wide as c */
  Elementwise function;
};

template <typename Number>
struct ProductTask {
  const WeightLayout &layout;
  const Number *packed;
  float *c;
  int64_t c_stride;
  Epilogue epilogue;
  const uint16_t *halves = nullptr; /* instead of packed, if its panels are in float16 */
  float *widened = nullptr; /* memory for one of those in float32 */
};

/* The panel that begins with a column. */
template <typename Number>
const Number *panel_of(const ProductTask<Number> &product, int64_t column, const Kernels &kernels) {
  const int64_t line = product.layout.taps * packed_depth(product.layout.depth, product.packed);
  if constexpr (std::is_same_v<Number, float>) {
    if (product.halves != nullptr) {
      kernels.widen[static_cast<int>(Half::float16)](product.halves + column * line, product.widened,
                                                     kernels.columns * line);
      return product.widened;
    }
  }
  return product.packed + column * line;
}

/* What a task takes, roughly. */
double task_ns(const Cut &cut, const WeightLayout &layout);

/* Bytes of the pointers that run_task writes. */
size_t pointer_bytes(const Cut &cut, const WeightLayout &layout);

inline void run_tile(const Kernels &kernels, const ProductTile &tile) { kernels.product_tile(tile); }
inline void run_tile(const Kernels &kernels, const Bfloat16Tile &tile) { kernels.bfloat16_tile(tile); }

/* Computes one task. point(row, pointers, stride) writes where the taps of a row begin, row after row:
 * tap t to pointers[t * stride].
 */
template <typename Number, typename Point>
void run_task(const ProductTask<Number> &product, const Cut &cut, int64_t task, const Kernels &kernels,
              const Number **pointers, Point &&point) {
  const int64_t first_row = task % cut.row_tasks() * cut.rows_per_task;
  const int64_t last_row = first_row + cut.rows_per_task < cut.rows ? first_row + cut.rows_per_task
                                                                   : cut.rows;
  const int64_t first_column = task / cut.row_tasks() * cut.columns_per_task;
  const int64_t last_column = first_column + cut.columns_per_task < cut.columns
                                  ? first_column + cut.columns_per_task
                                  : cut.columns;
  const int64_t taps = product.layout.taps;
  const int64_t height = kernels.rows;
  const Number **found = pointers;
  for (int64_t row = first_row, in_tile = 0; row < last_row; ++row) {
    point(row, found + in_tile, height);
    if (++in_tile < height) continue;
    in_tile = 0;
    found += taps * height;
  }
  for (int64_t column = first_column; column < last_column; column += kernels.columns) {
    TileOf<Number> tile{};
    tile.rows_stride = height;
    tile.taps = taps;
    tile.depth = product.layout.depth;
    tile.b = panel_of(product, column, kernels);
    tile.c_stride = product.c_stride;
    tile.column_count =
        static_cast<int32_t>(last_column - column < kernels.columns ? last_column - column
                                                                    : kernels.columns);
    tile.bias = product.epilogue.bias == nullptr ? nullptr : product.epilogue.bias + column;
    tile.residual_stride = product.c_stride;
    tile.function = product.epilogue.function;
    for (int64_t row = first_row; row < last_row; row += height) {
      const int64_t place = row * product.c_stride + column;
      tile.rows = pointers + (row - first_row) / height * taps * height;
      tile.row_count = static_cast<int32_t>(last_row - row < height ? last_row - row : height);
      tile.c = product.c + place;
      tile.residual =
          product.epilogue.residual == nullptr ? nullptr : product.epilogue.residual + place;
      run_tile(kernels, tile);
    }
  }
}

class Lowering;

/* Multiplies each of the matrices of left, or its only one if it is shared, by the one of right: to is
 * [matrices, rows, columns].
 */
void add_products(Lowering &lowering, TensorId left, TensorId right, TensorId to,
                  const WeightLayout &layout, int64_t rows, int64_t matrices, bool is_left_shared);

/* An operation with an epilogue: what it may absorb. Its third input is the bias, or kNone. */
class WithEpilogue : public Operation {
 public:
  using Operation::Operation;

  bool absorb(const Elementwise &function) override;
  bool absorb_sum(TensorId other) override;
  /* A tile reads of the tensor that is added what lies where it then writes. */
  bool may_overwrite(size_t input) const override { return has_residual_ && input + 1 == inputs.size(); }
  bool absorb_line(TensorId line, int64_t count) override;

 protected:
  /* Numbers of its bias; what has other lines takes over none. */
  virtual int64_t bias_count() const { return kNone; }
  /* Whether its kernels look at the function's scale and shift. */
  virtual bool has_scale() const { return true; }

  Elementwise function_{Function::identity, 0.0f, 0.0f};
  bool has_residual_ = false; /* it is the last input then */
};

}  // namespace cpuacc

#endif
