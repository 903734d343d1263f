/* SPDX-License-Identifier: MIT */
/* FullyConnected and BatchMatMul in 8-bit integers. */
#include <algorithm>

#include "layers/registry.h"
#include "operations/quantised/int8_gemm.h"

namespace cpuacc {
namespace {

void lower_fully_connected(Lowering &l) {
  const Shape &weights = l.input(1).shape;
  require(weights.size() == 2, "the weights must be a matrix", 1);
  const bool is_transposed =
      l.layer().integer(ARMNN_PARAMETER(ARMNN_FULLY_CONNECTED_TRANSPOSE_WEIGHT_MATRIX)) != 0;
  const size_t column_axis = is_transposed ? 0 : 1;
  const int64_t columns = weights[column_axis];
  const int64_t depth = weights[1 - column_axis];
  Int8Params params = int8_params_of(l, column_axis, columns, l.has_input(2));
  const int64_t rows = elements(l.output().shape) / std::max<int64_t>(1, columns);
  const WeightLayout layout = is_transposed ? WeightLayout{1, 0, depth, 1, columns, depth}
                                            : WeightLayout{1, 0, depth, columns, columns, 1};
  const TensorId left = l.in(0);
  const TensorId right = l.in(1);
  l.add<Int8Gemm>(left, right, l.out(), layout, rows, Shape{}, Shape{}, Shape{}, std::move(params));
}

/* How many matrices further one goes along each axis of the output's batch. */
Shape steps_of(const Shape &shape, const Shape &batch) {
  Shape steps(batch.size(), 0);
  int64_t step = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) {
    const size_t axis = shape.size() - 3 - i;
    steps[batch.size() - 1 - i] = shape[axis] == 1 ? 0 : step;
    step *= shape[axis];
  }
  return steps;
}

void lower_batch_mat_mul(Lowering &l) {
  const Layer &layer = l.layer();
  for (const char *name : {ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_X, ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_Y}) {
    const int64_t layout = layer.integer(name, ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_X_DEFAULT);
    require(layout == ARMNN_DATA_LAYOUT_NCHW || layout == ARMNN_DATA_LAYOUT_NCDHW,
            std::string(name) + " must have the matrices last");
  }
  require(layer.integer(ARMNN_PARAMETER(ARMNN_BATCH_MAT_MUL_ADJOINT_X)) == 0 &&
              layer.integer(ARMNN_PARAMETER(ARMNN_BATCH_MAT_MUL_ADJOINT_Y)) == 0,
          "adjoints are not computed here");
  const Shape &x = l.input(0).shape;
  const Shape &y = l.input(1).shape;
  const Shape &out = l.output().shape;
  require(x.size() >= 2 && y.size() >= 2 && out.size() >= 2, "both inputs must be matrices");
  const bool transposes_y = layer.integer(ARMNN_PARAMETER(ARMNN_BATCH_MAT_MUL_TRANSPOSE_Y)) != 0;
  const Shape batch(out.begin(), out.end() - 2);
  const int64_t rows = out[out.size() - 2];
  const int64_t columns = out[out.size() - 1];
  const int64_t depth = y[y.size() - (transposes_y ? 1 : 2)];
  Int8Params params = int8_params_of(l, y.size() - (transposes_y ? 2 : 1), columns, false);
  Order left_order = plain_order(x.size());
  const bool transposes_x = layer.integer(ARMNN_PARAMETER(ARMNN_BATCH_MAT_MUL_TRANSPOSE_X)) != 0;
  if (transposes_x) std::swap(left_order[x.size() - 1], left_order[x.size() - 2]);
  const WeightLayout layout = transposes_y ? WeightLayout{1, 0, depth, 1, columns, depth}
                                           : WeightLayout{1, 0, depth, columns, columns, 1};
  const TensorId left = l.in(0, left_order);
  const TensorId right = l.in(1);
  l.add<Int8Gemm>(left, right, l.out(), layout, rows, batch, steps_of(x, batch), steps_of(y, batch),
                  std::move(params));
}

}  // namespace

std::vector<LayerType> int8_matmul_layers() {
  return {{ARMNN_LAYER_BATCH_MAT_MUL, lower_batch_mat_mul}, {ARMNN_LAYER_FULLY_CONNECTED, lower_fully_connected}};
}

}  // namespace cpuacc
