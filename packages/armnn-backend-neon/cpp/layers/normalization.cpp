/* SPDX-License-Identifier: MIT */
/* Softmax and normalization. */
#include <algorithm>
#include <cmath>

#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "operations/pointwise/functions.h"
#include "operations/reduction/reduction.h"

namespace cpuacc {
namespace {

CPUACC_SHARED(AXIS, SOFTMAX, LOG_SOFTMAX);

CPUACC_SHARED(BETA, SOFTMAX, LOG_SOFTMAX);

/* Softmax in Float64. */
void lower_other_softmax(Lowering &l, bool takes_logarithm) {
  require(l.input(0).type == ARMNN_FLOAT64 && l.output().type == ARMNN_FLOAT64,
          std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  require(l.real(ARMNN_PARAMETER(ARMNN_SOFTMAX_BETA)) == 1.0, "a factor other than 1 is not computed here");
  const Shape &shape = l.input(0).shape;
  const size_t axis = l.axis(shape.size(), ARMNN_PARAMETER(ARMNN_SOFTMAX_AXIS));
  l.add(along_axis(l.io(), along(shape, axis), shape[axis], softmax_function(takes_logarithm)));
}

void lower_softmax(Lowering &l, bool takes_logarithm) {
  require(!l.input(0).shape.empty(), "a scalar has no axis", 0);
  if (l.input(0).type != ARMNN_FLOAT32) return lower_other_softmax(l, takes_logarithm);
  require_floats(l);
  const int64_t axis = l.axis(l.input(0).shape.size(), ARMNN_PARAMETER(ARMNN_SOFTMAX_AXIS));
  const Order order = with_last(l.order(0), axis);
  l.add(softmax(l.io(order), l.real32(ARMNN_PARAMETER(ARMNN_SOFTMAX_BETA)), takes_logarithm));
}

void lower_int8_softmax(Lowering &l, bool takes_logarithm) {
  require(is_int8(l.input(0)) && is_int8(l.output()), "input and output must have 8 bits");
  require(!l.input(0).shape.empty(), "a scalar has no axis", 0);
  const int64_t axis = l.axis(l.input(0).shape.size(), ARMNN_PARAMETER(ARMNN_SOFTMAX_AXIS));
  const Order order = with_last(l.order(0), axis);
  l.add(int8_softmax(l.io(order), l.real32(ARMNN_PARAMETER(ARMNN_SOFTMAX_BETA)), takes_logarithm));
}

CPUACC_SHARED(AXIS, LAYER_NORMALIZATION, RMS_NORMALIZATION);

CPUACC_SHARED(EPS, LAYER_NORMALIZATION, RMS_NORMALIZATION);

void lower_normalize(Lowering &l, bool subtracts_mean) {
  require_floats(l);
  const Shape &shape = l.input(0).shape;
  require(!shape.empty(), "a scalar has no axis", 0);
  const size_t axis = l.axis(shape.size(), ARMNN_PARAMETER(ARMNN_LAYER_NORMALIZATION_AXIS));
  const int64_t length = elements(shape, axis, shape.size());
  const auto factor = [&](size_t i) {
    if (!l.has_input(i)) return kNone;
    const Shape &given = l.input(i).shape;
    const size_t rank = shape.size() - axis;
    const bool fits = elements(given) == length && given.size() >= rank &&
                      Shape(given.end() - static_cast<Shape::difference_type>(rank), given.end()) ==
                          Shape(shape.begin() + static_cast<Shape::difference_type>(axis), shape.end());
    require(fits, "it must have the shape of the normalized axes", static_cast<int32_t>(i));
    return l.in(i);
  };
  const TensorId gamma = factor(1);
  const TensorId beta = subtracts_mean ? factor(2) : kNone;
  const TensorId from = l.in(0);
  l.add(normalize({from, gamma, beta, l.out()}, length, l.real32(ARMNN_PARAMETER(ARMNN_LAYER_NORMALIZATION_EPS)),
                  subtracts_mean));
}

void lower_batch_normalization(Lowering &l) {
  require_floats(l);
  const size_t rank = l.input(0).shape.size();
  const bool is_last = l.integer(ARMNN_PARAMETER(ARMNN_BATCH_NORMALIZATION_DATA_LAYOUT)) == ARMNN_DATA_LAYOUT_NHWC;
  const Order order = is_last ? plain_order(rank) : channels_last(rank);
  const float *mean = l.constant(1, "the mean");
  const float *variance = l.constant(2, "the variance");
  const float *beta = l.constant(3, "beta");
  const float *gamma = l.constant(4, "gamma");
  const double eps = l.real(ARMNN_PARAMETER(ARMNN_BATCH_NORMALIZATION_EPS));
  const int64_t channels = elements(l.input(1).shape);
  std::vector<float> scale;
  std::vector<float> shift;
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = gamma[c] / std::sqrt(variance[c] + eps);
    scale.push_back(static_cast<float>(factor));
    shift.push_back(static_cast<float>(beta[c] - mean[c] * factor));
  }
  const TensorId from = l.in(0, order);
  const TensorId scales = l.constant_tensor({channels}, scale);
  const TensorId shifts = l.constant_tensor({channels}, shift);
  l.add(scale_shift({from, l.out(0, order)}, scales, shifts, channels));
}

CPUACC_SHARED(DATA_LAYOUT, GROUP_NORMALIZATION, INSTANCE_NORMALIZATION);

CPUACC_SHARED(DATA_LAYOUT, GROUP_NORMALIZATION, L2_NORMALIZATION);

CPUACC_SHARED(DATA_LAYOUT, GROUP_NORMALIZATION, NORMALIZATION);

bool is_channels_last(const Lowering &l) {
  return l.integer(ARMNN_PARAMETER(ARMNN_GROUP_NORMALIZATION_DATA_LAYOUT)) == ARMNN_DATA_LAYOUT_NHWC;
}

/* The order in which the channels are before the spatial axes, whatever the layer's data_layout. */
Order channels_first(const Lowering &l) {
  const size_t rank = l.input(0).shape.size();
  Order order = plain_order(rank);
  if (is_channels_last(l)) {
    order.pop_back();
    order.insert(order.begin() + 1, static_cast<int32_t>(rank - 1));
  }
  return order;
}

Order channels_behind(const Lowering &l) {
  const size_t rank = l.input(0).shape.size();
  return is_channels_last(l) ? plain_order(rank) : channels_last(rank);
}

void lower_groups(Lowering &l, int64_t groups, float eps, TensorId gamma, TensorId beta, float factor,
                  float offset) {
  const Order order = channels_first(l);
  const Shape shape = in_memory(l.input(0).shape, order);
  require(groups > 0 && shape[1] % groups == 0, "the groups do not divide the channels");
  const GroupSizes sizes{shape[1] / groups, elements(shape, 2, shape.size()), groups};
  const TensorId from = l.in(0, order);
  l.add(normalize_groups({from, gamma, beta, l.out(0, order)}, sizes, eps, factor, offset));
}

void lower_group_normalization(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() >= 2, "the rank must be 2 or more", 0);
  const int64_t channels = in_memory(l.input(0).shape, channels_first(l))[1];
  const auto each = [&](size_t i) {
    if (!l.has_input(i)) return kNone;
    require(l.input(i).shape == Shape{channels}, "there must be a number for each channel", static_cast<int32_t>(i));
    return l.in(i);
  };
  const TensorId gamma = each(1);
  lower_groups(l, l.integer(ARMNN_PARAMETER(ARMNN_GROUP_NORMALIZATION_NUM_GROUPS)),
               l.real32(ARMNN_PARAMETER(ARMNN_GROUP_NORMALIZATION_EPS)), gamma, each(2), 1.0f, 0.0f);
}

void lower_instance_normalization(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() == 4, "the rank must be 4", 0);
  const int64_t channels = in_memory(l.input(0).shape, channels_first(l))[1];
  lower_groups(l, std::max<int64_t>(channels, 1), l.real32(ARMNN_PARAMETER(ARMNN_INSTANCE_NORMALIZATION_EPS)),
               kNone, kNone, l.real32(ARMNN_PARAMETER(ARMNN_INSTANCE_NORMALIZATION_GAMMA)),
               l.real32(ARMNN_PARAMETER(ARMNN_INSTANCE_NORMALIZATION_BETA)));
}

void lower_l2_normalization(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() >= 2, "the rank must be 2 or more", 0);
  const Order order = channels_behind(l);
  l.add(l2_normalize(l.io(order), l.real32(ARMNN_PARAMETER(ARMNN_L2_NORMALIZATION_EPS))));
}

void lower_local_response(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() == 4, "the rank must be 4", 0);
  const int64_t size = l.integer(ARMNN_PARAMETER(ARMNN_NORMALIZATION_NORM_SIZE));
  require(size >= 0, "norm_size must not be negative");
  const Shape &shape = l.input(0).shape;
  const LocalResponseRule rule{std::min(size / 2, *std::max_element(shape.begin(), shape.end())), l.real32(ARMNN_PARAMETER(ARMNN_NORMALIZATION_ALPHA)),
                               l.real32(ARMNN_PARAMETER(ARMNN_NORMALIZATION_BETA)),
                               l.real32(ARMNN_PARAMETER(ARMNN_NORMALIZATION_K))};
  const Order order = channels_behind(l);
  const bool is_across = l.integer(ARMNN_PARAMETER(ARMNN_NORMALIZATION_NORM_CHANNEL_TYPE)) ==
                         ARMNN_NORMALIZATION_ALGORITHM_CHANNEL_ACROSS;
  const Io io = l.io(order);
  l.add(is_across ? local_response(io, rule) : spatial_response(io, in_memory(l.input(0).shape, order), rule));
}

}  // namespace

std::vector<LayerType> normalization_layers() {
  return {
      {ARMNN_LAYER_BATCH_NORMALIZATION, lower_batch_normalization},
      {ARMNN_LAYER_GROUP_NORMALIZATION, lower_group_normalization},
      {ARMNN_LAYER_INSTANCE_NORMALIZATION, lower_instance_normalization},
      {ARMNN_LAYER_L2_NORMALIZATION, lower_l2_normalization},
      {ARMNN_LAYER_LAYER_NORMALIZATION, [](Lowering &l) { lower_normalize(l, true); }},
      {ARMNN_LAYER_LOG_SOFTMAX, [](Lowering &l) { lower_softmax(l, true); },
       [](Lowering &l) { lower_int8_softmax(l, true); }},
      {ARMNN_LAYER_NORMALIZATION, lower_local_response},
      {ARMNN_LAYER_RMS_NORMALIZATION, [](Lowering &l) { lower_normalize(l, false); }},
      {ARMNN_LAYER_SOFTMAX, [](Lowering &l) { lower_softmax(l, false); },
       [](Lowering &l) { lower_int8_softmax(l, false); }},
  };
}

}  // namespace cpuacc
