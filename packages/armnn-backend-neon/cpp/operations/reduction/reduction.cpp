/* SPDX-License-Identifier: MIT */
/* Axes summed up. */
#include <algorithm>
#include <cmath>

#include "layers/registry.h"
#include "operations/reduction/reduction.h"
#include "operations/reduction/scan.h"

namespace cpuacc {
namespace {

constexpr int64_t kColumnsPerTask = 256; /* that one thread takes at a time */

/* [outer, count, inner] -> [outer, inner]. */
class Reduce final : public Operation {
 public:
  Reduce(TensorId from, TensorId to, Reduction reduction, int64_t outer, int64_t count, int64_t inner)
      : Operation({from}, {to}), reduction_(reduction), outer_(outer), count_(count), inner_(inner) {}

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    float *y = frame.out<float>(outputs[0]);
    if (inner_ == 1) {
      frame.pool.run(outer_, static_cast<double>(count_) * kElementNs, [&](int64_t begin, int64_t end, int32_t) {
        for (int64_t i = begin; i < end; ++i) {
          y[i] = frame.kernels.reduce_row(reduction_, x + i * count_, count_);
        }
      });
      return;
    }
    const int64_t pieces = (inner_ + kColumnsPerTask - 1) / kColumnsPerTask;
    const double piece_ns = static_cast<double>(count_ * std::min(kColumnsPerTask, inner_)) * kElementNs;
    frame.pool.run(outer_ * pieces, piece_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * kColumnsPerTask;
        const int64_t line = i / pieces;
        frame.kernels.reduce_columns(reduction_, x + line * count_ * inner_ + first, count_, inner_,
                                     y + line * inner_ + first, std::min(kColumnsPerTask, inner_ - first));
      }
    });
  }

 private:
  Reduction reduction_;
  int64_t outer_, count_, inner_;
};

static_assert(are_alike({{ARMNN_REDUCE_AXIS, 0}, {ARMNN_MEAN_AXIS, 0}}));
CPUACC_SHARED(KEEP_DIMS, REDUCE, MEAN);

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

/* The order of what is left: that of the input if the axes stay, else without them. */
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

}  // namespace

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
  result.left = left_order(order, is_reduced, l.layer().integer(ARMNN_PARAMETER(ARMNN_REDUCE_KEEP_DIMS)) != 0);
  require(result.left.size() == l.output().shape.size(), "the output's rank is not that of what is left");
  return result;
}

namespace {

void lower_reduction(Lowering &l, Reduction reduction) {
  const ReducedAxes axes = reduced_axes_of(l);
  if (l.input(0).type != ARMNN_FLOAT32) {
    return lower_other_reduction(l, reduction, axes.order, axes.left, axes.outer, axes.count, axes.inner);
  }
  require_floats(l);
  const TensorId from = l.in(0, axes.order);
  l.add<Reduce>(from, l.out(0, axes.left), reduction, axes.outer, axes.count, axes.inner);
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
  lower_reduction(l, reduction_of(l.layer().integer(ARMNN_PARAMETER(ARMNN_REDUCE_REDUCE_OPERATION))));
}

}  // namespace

std::vector<LayerType> reduction_layers() {
  return {{ARMNN_LAYER_MEAN, [](Lowering &l) { lower_reduction(l, Reduction::mean); }},
          {ARMNN_LAYER_REDUCE, lower_reduce}};
}

}  // namespace cpuacc
