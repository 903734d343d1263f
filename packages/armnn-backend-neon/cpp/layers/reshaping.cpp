/* SPDX-License-Identifier: MIT */
/* The same elements in another shape, order or number. */
#include "layers/registry.h"
#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

void lower_reshape(Lowering &l) {
  require_alike(l);
  const TensorId from = l.in(0);
  l.share(0, from, plain_order(l.output().shape.size()));
}

static_assert(are_alike({{ARMNN_PERMUTE_DIM_MAPPINGS, 0}, {ARMNN_TRANSPOSE_DIM_MAPPINGS, 0}}));

/* Moves nothing: the output is the input's memory in another order of axes. */
void lower_transposition(Lowering &l, bool maps_from_input) {
  require_alike(l);
  const std::vector<int64_t> mappings = l.layer().integers(ARMNN_PERMUTE_DIM_MAPPINGS);
  const Order order = l.order(0);
  require(mappings.size() == order.size(), "dim_mappings must have a number for each axis");
  Order axes(mappings.size()); /* axis i of the input is axis axes[i] of the output */
  for (size_t i = 0; i < mappings.size(); ++i) {
    const auto other = static_cast<size_t>(whole_axis(mappings[i], mappings.size()));
    (maps_from_input ? axes[i] : axes[other]) = static_cast<int32_t>(maps_from_input ? other : i);
  }
  Order result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[i] = axes[static_cast<size_t>(order[i])];
  l.share(0, l.in(0, order), result);
}

void lower_broadcast(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1), "the shape must be known", 1);
  const Shape &from = l.input(0).shape;
  const Shape &to = l.output().shape;
  const Shape strides = strides_of(from);
  CopyBox box{to, Shape(to.size(), 0), strides_of(to), 0, 0};
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t axis = to.size() - from.size() + i;
    if (from[i] != 1) box.from[axis] = strides[i];
  }
  const TensorId source = l.in(0);
  l.add<CopyBoxes>(std::vector<TensorId>{source}, l.out(), std::vector<CopyBox>{box});
}

/* An axis seen as [groups, members] becomes [members, groups]. */
void lower_channel_shuffle(Lowering &l) {
  require_alike(l);
  const Order order = l.common_order();
  const Shape shape = in_memory(l.input(0).shape, order);
  const size_t axis =
      place_of(order, whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_CHANNEL_SHUFFLE_AXIS)), order.size()));
  const int64_t groups = l.layer().integer(ARMNN_PARAMETER(ARMNN_CHANNEL_SHUFFLE_NUM_GROUPS));
  require(groups > 0 && shape[axis] % groups == 0, "the groups do not divide the axis");
  const int64_t members = shape[axis] / groups;
  const int64_t outer = elements(shape, 0, axis);
  const int64_t inner = elements(shape, axis + 1, shape.size());
  const int64_t size = shape[axis] * inner;
  const CopyBox box{{outer, members, groups, inner},
                    {size, inner, members * inner, 1},
                    {size, groups * inner, inner, 1},
                    0,
                    0};
  const TensorId source = l.in(0, order);
  l.add<CopyBoxes>(std::vector<TensorId>{source}, l.out(0, order), std::vector<CopyBox>{box});
}

}  // namespace

std::vector<LayerType> reshaping_layers() {
  return {
      {ARMNN_LAYER_BROADCAST_TO, lower_broadcast},
      {ARMNN_LAYER_CHANNEL_SHUFFLE, lower_channel_shuffle},
      {ARMNN_LAYER_PERMUTE, [](Lowering &l) { lower_transposition(l, true); }},
      {ARMNN_LAYER_RESHAPE, lower_reshape},
      {ARMNN_LAYER_TRANSPOSE, [](Lowering &l) { lower_transposition(l, false); }},
  };
}

}  // namespace cpuacc
