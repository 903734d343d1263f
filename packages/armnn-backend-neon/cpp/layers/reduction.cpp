/* SPDX-License-Identifier: MIT */
/* Reductions, scans and arg-min and arg-max along axes. */
#include <algorithm>

#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "operations/quantized/quantized.h"
#include "operations/reduction/reduction.h"

namespace cpuacc {
namespace {

static_assert(are_alike({{ARMNN_REDUCE_AXIS, 0}, {ARMNN_MEAN_AXIS, 0}}));
CPUACC_SHARED(KEEP_DIMS, REDUCE, MEAN);

/* In this order the input is [outer, count, inner], the output [outer, inner] in the order left. */
struct ReducedAxes {
  Order order;
  Order left;
  int64_t outer;
  int64_t count;
  int64_t inner;
};

std::vector<bool> reduced_axes(const Lowering &l, size_t rank) {
  require(!l.has_input(1), "the axes must be known", 1);
  const std::vector<int64_t> axes = l.layer().integers(ARMNN_REDUCE_AXIS);
  std::vector<bool> result(rank, axes.empty());
  for (const int64_t axis : axes) result[static_cast<size_t>(whole_axis(axis, rank))] = true;
  return result;
}

/* Whether the reduced axes stand together in memory. */
bool stand_together(const std::vector<bool> &is_reduced, const Shape &shape, const Order &order) {
  int changes = 0;
  bool before = false;
  for (const int32_t axis : order) {
    if (shape[static_cast<size_t>(axis)] == 1) continue;
    const bool now = is_reduced[static_cast<size_t>(axis)];
    changes += now && !before;
    before = now;
  }
  return changes <= 1;
}

/* The order of the output's axes: that of the input, without the reduced axes unless they stay. */
Order left_order(const Order &order, const std::vector<bool> &is_reduced, bool keeps) {
  if (keeps) return order;
  Order left;
  for (const int32_t axis : order) {
    if (is_reduced[static_cast<size_t>(axis)]) continue;
    const auto gone = std::count(is_reduced.begin(), is_reduced.begin() + axis, true);
    left.push_back(axis - static_cast<int32_t>(gone));
  }
  return left;
}

/* By axis and keep_dims; refuses axes that are not known. */
ReducedAxes reduced_axes_of(const Lowering &l) {
  const Shape &shape = l.input(0).shape;
  const std::vector<bool> is_reduced = reduced_axes(l, shape.size());
  ReducedAxes result{l.order(0), {}, 1, 1, 1};
  Order &order = result.order;
  if (!stand_together(is_reduced, shape, order)) {
    std::stable_partition(order.begin(), order.end(),
                          [&](int32_t axis) { return !is_reduced[static_cast<size_t>(axis)]; });
  }
  bool is_behind = false;
  for (const int32_t axis : order) {
    const int64_t size = shape[static_cast<size_t>(axis)];
    const bool counts = is_reduced[static_cast<size_t>(axis)];
    is_behind = is_behind || (counts && size != 1);
    (counts ? result.count : is_behind ? result.inner : result.outer) *= size;
  }
  result.left = left_order(order, is_reduced, l.flag(ARMNN_PARAMETER(ARMNN_REDUCE_KEEP_DIMS)));
  require(result.left.size() == l.output().shape.size(), "the output's rank is not that of what is left");
  return result;
}

/* Reductions of data types that have no kernel. */
void lower_other_reduction(Lowering &l, Reduction reduction, const ReducedAxes &axes) {
  const armnn_data_type type = l.input(0).type;
  require(l.output().type == type, "the output must have the input's data type");
  const AxisFunction compute = reduction_function(reduction, type);
  require(compute != nullptr, std::string(type_name(type)) + " is not computed here", 0);
  const bool is_extreme = reduction == Reduction::maximum || reduction == Reduction::minimum;
  require(axes.count > 0 || !is_extreme, "there is no element to choose from", 0);
  l.add(along_axis(l.io(axes.order, axes.left), Along{axes.outer, axes.count, axes.inner}, 1, compute));
}

void lower_reduction(Lowering &l, Reduction reduction) {
  const ReducedAxes axes = reduced_axes_of(l);
  if (l.input(0).type != ARMNN_FLOAT32) return lower_other_reduction(l, reduction, axes);
  require_floats(l);
  l.add(reduce(l.io(axes.order, axes.left), reduction, axes.outer, axes.count, axes.inner));
}

Reduction reduction_of(int64_t number) {
  switch (number) {
    case ARMNN_REDUCE_OPERATION_SUM: return Reduction::sum;
    case ARMNN_REDUCE_OPERATION_MAX: return Reduction::maximum;
    case ARMNN_REDUCE_OPERATION_MEAN: return Reduction::mean;
    case ARMNN_REDUCE_OPERATION_MIN: return Reduction::minimum;
    case ARMNN_REDUCE_OPERATION_PROD: return Reduction::product;
    default: throw Refusal{"this operation is not computed here"};
  }
}

void lower_reduce(Lowering &l) {
  lower_reduction(l, reduction_of(l.integer(ARMNN_PARAMETER(ARMNN_REDUCE_REDUCE_OPERATION))));
}

/* Pools over a window that is a row as long as there are elements. Args: scale: steps of the output in one
 * of the input.
 */
void add_int8_row(Lowering &l, const ReducedAxes &axes, Io io, const Int8PoolingKind &kind, float scale,
                     Int8Params params) {
  require(axes.inner >= costs::kLeastInt8ReducedColumns, "few numbers side by side are reduced in floats");
  require_exact_sums(axes.count);
  Windows windows{};
  windows.batch = axes.outer;
  windows.width = windows.window_width = axes.count;
  windows.channels = axes.inner;
  windows.height = windows.window_height = windows.output_height = windows.output_width = 1;
  windows.stride_y = windows.stride_x = windows.dilation_y = windows.dilation_x = 1;
  l.add(int8_pool(io, windows, kind, scale, std::move(params)));
}

void lower_int8_mean(Lowering &l) {
  Int8Params params = int8_io_params_of(l);
  const ReducedAxes axes = reduced_axes_of(l);
  add_int8_row(l, axes, l.io(axes.order, axes.left), {}, scale_between(l), std::move(params));
}

constexpr Int8PoolingKind kMaximum{true, false, false};

/* The complement of the complements' maximum, in steps of the input up to there. */
void lower_int8_minimum(Lowering &l, const ReducedAxes &axes, Int8Params params) {
  const auto like_input = [&](const Shape &shape) {
    const TensorId made = l.temporary(l.input(0).type, shape);
    l.graph()[made].quantization = l.input(0).quantization;
    return made;
  };
  const TensorId from = l.in(0, axes.order);
  const TensorId complements = like_input(l.graph()[from].shape);
  const TensorId to = l.out(0, axes.left);
  const TensorId largest = like_input(l.graph()[to].shape);
  l.add(int8_lookup({from, complements}, {complemented_bytes()}));
  params.zero_point = params.left_zero_point;
  params.bounds = bounds_of(l.input(0).type);
  add_int8_row(l, axes, {complements, largest}, kMaximum, 1.0f, std::move(params));
  const auto reverse = [](const Kernels &, float *real) { std::reverse(real, real + 256); };
  l.add(int8_lookup({largest, to}, {tabulated(l, l.input(0), l.output(), reverse)}));
}

void lower_int8_reduce(Lowering &l) {
  Int8Params params = int8_io_params_of(l);
  const ReducedAxes axes = reduced_axes_of(l);
  require(axes.count > 0, "there is no element to choose from", 0);
  const float scale = scale_between(l);
  switch (reduction_of(l.integer(ARMNN_PARAMETER(ARMNN_REDUCE_REDUCE_OPERATION)))) {
    case Reduction::minimum: return lower_int8_minimum(l, axes, std::move(params));
    case Reduction::maximum:
      return add_int8_row(l, axes, l.io(axes.order, axes.left), kMaximum, scale, std::move(params));
    case Reduction::mean:
      return add_int8_row(l, axes, l.io(axes.order, axes.left), {}, scale, std::move(params));
    case Reduction::sum:
      return add_int8_row(l, axes, l.io(axes.order, axes.left), {}, scale * static_cast<float>(axes.count),
                             std::move(params));
    default: throw Refusal{"products are computed in floats"};
  }
}

CPUACC_SHARED(AXIS, CUM_SUM, CUM_PROD);

CPUACC_SHARED(EXCLUSIVE, CUM_SUM, CUM_PROD);

CPUACC_SHARED(REVERSE, CUM_SUM, CUM_PROD);

void lower_scan(Lowering &l, bool is_product) {
  require(!l.has_input(1), "the axis must be known", 1);
  const Shape &shape = l.input(0).shape;
  require(!shape.empty() && l.output().shape == shape && l.output().type == l.input(0).type,
          "the output must be as the input");
  const AxisFunction compute = scan_function(l.input(0).type, is_product);
  require(compute != nullptr, std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  const size_t axis = l.axis(shape.size(), ARMNN_PARAMETER(ARMNN_CUM_SUM_AXIS));
  const int64_t flags = (l.flag(ARMNN_PARAMETER(ARMNN_CUM_SUM_EXCLUSIVE)) ? kExclusive : 0) |
                        (l.flag(ARMNN_PARAMETER(ARMNN_CUM_SUM_REVERSE)) ? kReverse : 0);
  l.add(along_axis(l.io(), along(shape, axis), shape[axis], compute, flags));
}

void lower_arg_min_max(Lowering &l) {
  require_index_output(l.output().type);
  const Shape &shape = l.input(0).shape;
  require(!shape.empty(), "a scalar has no axis", 0);
  const auto axis = static_cast<int32_t>(l.axis(shape.size(), ARMNN_PARAMETER(ARMNN_ARG_MIN_MAX_AXIS)));
  require(shape[static_cast<size_t>(axis)] > 0, "the axis has no element to choose from", 0);
  const int64_t function = l.integer(ARMNN_PARAMETER(ARMNN_ARG_MIN_MAX_FUNCTION));
  const bool is_largest = function == ARMNN_ARG_MIN_MAX_FUNCTION_MAX;
  require(is_largest || function == ARMNN_ARG_MIN_MAX_FUNCTION_MIN, "the function is not known");
  const FindBest find = argminmax_function(l.input(0).type, is_largest);
  require(find != nullptr, std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  const Order order = l.order(0);
  Order left;
  for (const int32_t each : order) {
    if (each != axis) left.push_back(each - (each > axis ? 1 : 0));
  }
  require(l.output().shape.size() == left.size(), "the output's rank does not fit");
  l.add(arg_min_max(l.io(order, left), along(in_memory(shape, order), place_of(order, axis)), find));
}

}  // namespace

std::vector<LayerType> reduction_layers() {
  return {
      {ARMNN_LAYER_ARG_MIN_MAX, lower_arg_min_max},
      {ARMNN_LAYER_CUM_PROD, [](Lowering &l) { lower_scan(l, true); }},
      {ARMNN_LAYER_CUM_SUM, [](Lowering &l) { lower_scan(l, false); }},
      {ARMNN_LAYER_MEAN, [](Lowering &l) { lower_reduction(l, Reduction::mean); }, lower_int8_mean},
      {ARMNN_LAYER_REDUCE, lower_reduce, lower_int8_reduce},
  };
}

}  // namespace cpuacc
