/* SPDX-License-Identifier: MIT */
/* The same elements in another shape, order or number. */
#include <algorithm>
#include <cstring>

#include "ops/moving.h"
#include "ops/registry.h"

namespace cpuacc {
namespace {

void require_alike(const Lowering &l) {
  const Quantization &in = l.input(0).quantization;
  const Quantization &out = l.output().quantization;
  require(l.input(0).type == l.output().type && in.scales == out.scales &&
              in.zero_points == out.zero_points,
          "input and output must have the same data type and quantisation");
  require(in.axis < 0 && out.axis < 0, "scales per axis are not carried here", 0);
}

void lower_reshape(Lowering &l) {
  require_alike(l);
  const TensorId from = l.in(0);
  l.share(0, from, plain_order(l.output().shape.size()));
}

/* Moves nothing: the output is the input's memory in another order of axes. */
void lower_transposition(Lowering &l, bool is_said_from_input) {
  require_alike(l);
  const std::vector<int64_t> said = l.layer().integers("dim_mappings");
  const Order order = l.order(0);
  require(said.size() == order.size(), "dim_mappings must have a number for each axis");
  Order axes(said.size()); /* axis i of the input is axis axes[i] of the output */
  for (size_t i = 0; i < said.size(); ++i) {
    const auto other = static_cast<size_t>(whole_axis(said[i], said.size()));
    (is_said_from_input ? axes[i] : axes[other]) = static_cast<int32_t>(is_said_from_input ? other : i);
  }
  Order result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[i] = axes[static_cast<size_t>(order[i])];
  l.share(0, l.in(0, order), result);
}

std::vector<std::byte> one_element(armnn_data_type type, double value) {
  const auto bytes = [](auto number) {
    std::vector<std::byte> result(sizeof number);
    std::memcpy(result.data(), &number, sizeof number);
    return result;
  };
  switch (type) {
    case ARMNN_FLOAT32: return bytes(static_cast<float>(value));
    case ARMNN_FLOAT64: return bytes(value);
    case ARMNN_SIGNED32: return bytes(static_cast<int32_t>(value));
    default:
      require(value == 0.0, "padding with this data type must be 0");
      return std::vector<std::byte>(element_bytes(type));
  }
}

void lower_pad(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1) && !l.has_input(2), "the padding must be known");
  require(l.layer().integer("padding_mode", 0) == 0, "only constant padding is computed here");
  require(l.input(0).quantization.scales.empty(), "quantised padding is not computed here", 0);
  const Order order = l.common_order();
  const std::vector<int64_t> pads = l.layer().integers("pad_list");
  require(pads.size() == 2 * order.size(), "pad_list must have two numbers for each axis");
  require(std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; }),
          "padding must not be negative");
  const double value = l.layer().real("pad_value", 0.0);
  const Shape from = in_memory(l.input(0).shape, order);
  const Shape to = in_memory(l.output().shape, order);
  Move move{from, strides_of(from), strides_of(to), 0, 0};
  for (size_t i = 0; i < order.size(); ++i) {
    const auto axis = static_cast<size_t>(2 * order[i]);
    require(pads[axis] <= to[i] && pads[axis + 1] <= to[i] && pads[axis] + from[i] + pads[axis + 1] == to[i],
            "the output's shape does not fit to the padding");
    move.to_offset += pads[static_cast<size_t>(2 * order[i])] * move.to[i];
  }
  const TensorId source = l.in(0, order);
  l.add<Moves>(std::vector<TensorId>{source}, l.out(0, order), std::vector<Move>{move},
               one_element(l.input(0).type, value));
}

void lower_slice(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1) && !l.has_input(2), "the box must be known");
  const Order order = l.common_order();
  const std::vector<int64_t> begin = l.layer().integers("begin");
  require(begin.size() == order.size(), "begin must have a number for each axis");
  const Shape from = in_memory(l.input(0).shape, order);
  const Shape to = in_memory(l.output().shape, order);
  Move move{to, strides_of(from), strides_of(to), 0, 0};
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t first = begin[static_cast<size_t>(order[i])];
    require(first >= 0 && first <= from[i], "the box begins outside of the input");
    move.from_offset += begin[static_cast<size_t>(order[i])] * move.from[i];
  }
  const TensorId source = l.in(0, order);
  l.add<Moves>(std::vector<TensorId>{source}, l.out(0, order), std::vector<Move>{move});
}

constexpr int64_t kFarthest = int64_t{1} << 31;

/* One axis of the input along which a strided slice walks. */
struct Walk {
  int64_t first;
  int64_t step;
};

Walk walk_of(const Layer &layer, size_t place, int64_t size) {
  const int64_t step = layer.integers("stride").at(place);
  const int64_t bit = int64_t{1} << place;
  if (layer.integer("begin_mask", 0) & bit) return {step > 0 ? 0 : size - 1, step};
  const int64_t said = layer.integers("begin").at(place);
  const int64_t begin = said < 0 ? said + size : said;
  return {step > 0 ? std::clamp<int64_t>(begin, 0, size) : std::clamp<int64_t>(begin, -1, size - 1), step};
}

void lower_strided_slice(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1) && !l.has_input(2) && !l.has_input(3), "the slice must be known");
  const Layer &layer = l.layer();
  require(layer.integer("ellipsis_mask", 0) == 0 && layer.integer("new_axis_mask", 0) == 0,
          "an ellipsis and new axes are not computed here");
  const Shape &shape = l.input(0).shape;
  const Shape strides = strides_of(shape);
  const size_t named = layer.integers("begin").size();
  require(named <= shape.size() && layer.integers("stride").size() == named,
          "begin and stride must name as many axes");
  for (const int64_t step : layer.integers("stride")) {
    require(step != 0 && step > -kFarthest && step < kFarthest, "a stride is out of range");
  }
  const int64_t shrinks = layer.integer("shrink_axis_mask", 0);
  Move move;
  const Shape &out = l.output().shape;
  size_t axis_out = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool is_shrunk = axis < named && ((shrinks >> axis) & 1) != 0;
    Walk walk = axis < named ? walk_of(layer, axis, shape[axis]) : Walk{0, 1};
    if (is_shrunk) {
      const int64_t said = layer.integers("begin").at(axis);
      walk.first = said < 0 ? said + shape[axis] : said;
      require(walk.first >= 0 && walk.first < shape[axis], "the slice begins outside of the input");
    }
    move.from_offset += walk.first * strides[axis];
    if (is_shrunk) continue;
    require(axis_out < out.size(), "the output's rank does not fit to the slice");
    move.shape.push_back(out[axis_out++]);
    move.from.push_back(walk.step * strides[axis]);
  }
  move.to = strides_of(move.shape);
  const TensorId source = l.in(0);
  l.add<Moves>(std::vector<TensorId>{source}, l.out(), std::vector<Move>{move});
}

void lower_broadcast(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1), "the shape must be known", 1);
  const Shape &from = l.input(0).shape;
  const Shape &to = l.output().shape;
  const Shape strides = strides_of(from);
  Move move{to, Shape(to.size(), 0), strides_of(to), 0, 0};
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t axis = to.size() - from.size() + i;
    if (from[i] != 1) move.from[axis] = strides[i];
  }
  const TensorId source = l.in(0);
  l.add<Moves>(std::vector<TensorId>{source}, l.out(), std::vector<Move>{move});
}

/* An axis seen as [groups, members] becomes [members, groups]. */
void lower_channel_shuffle(Lowering &l) {
  require_alike(l);
  const Order order = l.common_order();
  const Shape shape = in_memory(l.input(0).shape, order);
  const size_t axis = place_of(order, whole_axis(l.layer().integer("axis", 0), order.size()));
  const int64_t groups = l.layer().integer("num_groups", 0);
  require(groups > 0 && shape[axis] % groups == 0, "the groups do not divide the axis");
  const int64_t members = shape[axis] / groups;
  const int64_t outer = elements(shape, 0, axis);
  const int64_t inner = elements(shape, axis + 1, shape.size());
  const int64_t size = shape[axis] * inner;
  const Move move{{outer, members, groups, inner},
                  {size, inner, members * inner, 1},
                  {size, groups * inner, inner, 1}, 0, 0};
  const TensorId source = l.in(0, order);
  l.add<Moves>(std::vector<TensorId>{source}, l.out(0, order), std::vector<Move>{move});
}

}  // namespace

std::vector<LayerType> reshaping_layers() {
  return {
      {"BroadcastTo", lower_broadcast},
      {"ChannelShuffle", lower_channel_shuffle},
      {"Pad", lower_pad},
      {"Permute", [](Lowering &l) { lower_transposition(l, true); }},
      {"Reshape", lower_reshape},
      {"Slice", lower_slice},
      {"StridedSlice", lower_strided_slice},
      {"Transpose", [](Lowering &l) { lower_transposition(l, false); }},
  };
}

}  // namespace cpuacc
