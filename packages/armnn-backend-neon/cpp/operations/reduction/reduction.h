/* SPDX-License-Identifier: MIT */
/* Reductions along axes: sums, extremes and their places, scans, softmax, normalization, pooling. */
#pragma once

#include <memory>

#include "costs/costs.h"
#include "operations/gemm/gemm.h"
#include "operations/windows.h"

namespace cpuacc {

/* [outer, count, inner] -> [outer, inner]. */
OperationPtr reduce(Io io, Reduction reduction, int64_t outer, int64_t count, int64_t inner);

/* Computes count elements, stride apart, of the input and of the output. */
using AxisFunction = void (*)(const void *from, void *to, int64_t count, int64_t stride, int64_t flags);

constexpr int64_t kExclusive = 1;

constexpr int64_t kReverse = 2;

/* Nullptr: not for this type. Flags of a scan: those above. */
AxisFunction scan_function(armnn_data_type type, bool is_product);

AxisFunction reduction_function(Reduction reduction, armnn_data_type type);

/* Softmax in Float64. */
AxisFunction softmax_function(bool takes_logarithm);

/* Args: to_size: of the axis in the output. */
OperationPtr along_axis(Io io, const Along &along, int64_t to_size, AxisFunction compute, int64_t flags = 0);

using FindBest = void (*)(const void *from, int64_t count, int64_t stride, int64_t columns, int64_t *places);

/* Nullptr: not for this type. */
FindBest argminmax_function(armnn_data_type type, bool is_largest);

OperationPtr arg_min_max(Io io, const Along &along, FindBest find);

/* Stores an index as Signed64 or Signed32. */
void store_index(void *to, bool is_wide, int64_t i, int64_t index);

/* Nullptr: not for this type. */
FindBest topk_function(armnn_data_type type, bool is_largest);

OperationPtr top_k(TensorId from, TensorId values, TensorId indices, const Along &along, int64_t k, FindBest find);

/* Along the last axis. */
OperationPtr softmax(Io io, float beta, bool takes_logarithm);

/* Weights and bias are gamma and beta, each of them or kNone. */
OperationPtr normalize(const WeightedTensors &tensors, int64_t length, float eps, bool subtracts_mean);

/* A tensor seen as rows of [members, spatial]. */
struct GroupSizes {
  int64_t members, spatial;
  int64_t groups; /* rows of one item of the batch */
};

/* Weights and bias are gamma and beta, [groups * members]; kNone: factor and offset are those of all. */
OperationPtr normalize_groups(const WeightedTensors &tensors, const GroupSizes &sizes, float eps, float factor,
                              float offset);

/* L2 normalization of the channels of each pixel, which are last. */
OperationPtr l2_normalize(Io io, float eps);

/* x * (k + alpha * sum)^-beta, of the squares of x and of its neighbors on either side. */
struct LocalResponseRule {
  int64_t radius;
  float alpha, beta, k;
};

/* The neighbors are channels, which are last. */
OperationPtr local_response(Io io, const LocalResponseRule &rule);
/* The neighbors are pixels in both directions. Args: image: [N, H, W, C]. */
OperationPtr spatial_response(Io io, const Shape &image, const LocalResponseRule &rule);

/* Windows as the kernels of pooling take them. */
PoolingShape pooling_shape(const Windows &windows, bool counts_padding);

/* Calls pool_row for each row of the output of all images, by threads. */
template <typename Row, typename T, typename PoolRow>
void for_each_pooling_row(const Frame &frame, const Windows &w, const T *input, T *output, const Row &shared,
                          const PoolRow &pool_row) {
  const int64_t taps = w.output_width * w.channels * w.window_height * w.window_width;
  frame.for_each(w.batch * w.output_height, static_cast<double>(taps) * frame.element_ns(), [&](int64_t i, int32_t) {
    Row row = shared;
    row.input = input + i / w.output_height * w.height * w.width * w.channels;
    row.output = output + i * w.output_width * w.channels;
    row.top = i % w.output_height * w.stride_y - w.pad_top;
    pool_row(row);
  });
}

OperationPtr pool(Io io, const Windows &windows, Pooling pooling, bool counts_padding);

}  // namespace cpuacc
