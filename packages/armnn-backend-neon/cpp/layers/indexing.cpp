/* SPDX-License-Identifier: MIT */
/* Gathers, scatters and slices: elements and boxes chosen by indices. */
#include <algorithm>

#include "layers/lowering/lowering.h"
#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

void lower_gather(Lowering &l) {
  const Value &in = l.input(0);
  const Value &out = l.output();
  require(is_alike(in, out) && in.quantization.axis < 0,
          "input and output must have the same data type and quantization");
  require_indices(l.input(1), 1);
  require(!in.shape.empty() && elements(in.shape) > 0, "there is nothing to gather from", 0);
  const size_t axis = l.axis(in.shape.size(), ARMNN_PARAMETER(ARMNN_GATHER_AXIS));
  Shape expected(in.shape.begin(), in.shape.begin() + static_cast<Shape::difference_type>(axis));
  expected.insert(expected.end(), l.input(1).shape.begin(), l.input(1).shape.end());
  expected.insert(expected.end(), in.shape.begin() + static_cast<Shape::difference_type>(axis) + 1, in.shape.end());
  require(out.shape == expected, "the output's shape does not fit to the indices");
  const TensorId from = l.in(0);
  const TensorId chosen = l.in(1);
  l.add(gather(from, chosen, l.out(), elements(in.shape, 0, axis), in.shape[axis]));
}

void lower_gather_nd(Lowering &l) {
  require_alike(l);
  require_indices(l.input(1), 1);
  const Shape &from = l.input(0).shape;
  const Shape &indices = l.input(1).shape;
  require(!indices.empty() && indices.back() <= static_cast<int64_t>(from.size()), "the indices name too many axes",
          1);
  const auto depth = static_cast<Shape::difference_type>(indices.back());
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), from.begin() + depth, from.end());
  require(l.output().shape == expected, "the output's shape does not fit to the indices");
  const Shape steps = strides_of(from);
  const TensorId source = l.in(0);
  const TensorId chosen = l.in(1);
  l.add(gather_nd(source, chosen, l.out(), Shape(from.begin(), from.begin() + depth),
                  Shape(steps.begin(), steps.begin() + depth)));
}

void lower_slice(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1) && !l.has_input(2), "the box must be known");
  const Order order = l.common_order();
  const std::vector<int64_t> begin = l.layer().integers(ARMNN_SLICE_BEGIN);
  require(begin.size() == order.size(), "begin must have a number for each axis");
  const Shape from = in_memory(l.input(0).shape, order);
  const Shape to = in_memory(l.output().shape, order);
  CopyBox box{to, strides_of(from), strides_of(to), 0, 0};
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t first = begin[static_cast<size_t>(order[i])];
    require(first >= 0 && first <= from[i], "the box begins outside of the input");
    box.from_offset += begin[static_cast<size_t>(order[i])] * box.from[i];
  }
  l.add<CopyBoxes>(l.io(order), box);
}

void lower_tensor_scatter(Lowering &l) {
  require_alike(l);
  require(is_alike(l.input(1), l.output()) && l.output().quantization.axis < 0,
          "the updates must have the data type and quantization of the output", 1);
  const Shape &shape = l.input(0).shape;
  const Shape &rows = l.input(1).shape;
  require(shape.size() >= 2 && rows.size() == shape.size() && l.output().shape == shape, "the shapes do not fit");
  const size_t axis = l.axis(shape.size(), ARMNN_PARAMETER(ARMNN_TENSOR_SCATTER_AXIS));
  require(axis > 0, "the axis is that of the batch");
  for (size_t i = 0; i < shape.size(); ++i) {
    require(i == axis ? rows[i] <= shape[i] : rows[i] == shape[i], "the updates do not fit to the input", 1);
  }
  if (l.has_input(2)) {
    require_indices(l.input(2), 2);
    const int64_t count = elements(l.input(2).shape);
    require(l.input(2).shape.size() <= 1 && (count == 1 || count == shape[0]), "there must be a position of each item", 2);
  }
  std::vector<TensorId> inputs{l.in(0), l.in(1), l.has_input(2) ? l.in(2) : kNone};
  l.add(tensor_scatter(std::move(inputs), l.out(), shape, axis,
                       l.flag(ARMNN_PARAMETER(ARMNN_TENSOR_SCATTER_CIRCULAR))));
}

constexpr int64_t kFarthest = int64_t{1} << 31;

/* One axis of the input along which a strided slice walks. */
struct AxisRange {
  int64_t first;
  int64_t step;
};

AxisRange range_of(const Layer &layer, size_t place, int64_t size) {
  const int64_t step = layer.integers(ARMNN_STRIDED_SLICE_STRIDE).at(place);
  const int64_t bit = int64_t{1} << place;
  if (layer.integer(ARMNN_PARAMETER(ARMNN_STRIDED_SLICE_BEGIN_MASK)) & bit) return {step > 0 ? 0 : size - 1, step};
  const int64_t given = layer.integers(ARMNN_STRIDED_SLICE_BEGIN).at(place);
  const int64_t begin = given < 0 ? given + size : given;
  return {step > 0 ? std::clamp<int64_t>(begin, 0, size) : std::clamp<int64_t>(begin, -1, size - 1), step};
}

/* A strided slice as it is put together, axis by axis. */
struct Slicing {
  const Shape &shape;
  Shape strides;
  const Shape &out;
  size_t axis = 0; /* of the input */
  CopyBox box{};

  void take(const AxisRange &range) {
    require(box.shape.size() < out.size(), "the output's rank does not fit to the slice");
    box.from_offset += range.first * strides[axis];
    box.shape.push_back(out[box.shape.size()]);
    box.from.push_back(range.step * strides[axis++]);
  }
  void take_whole(size_t count) {
    while (count-- > 0) take({0, 1});
  }
  void pick(int64_t given) {
    const int64_t place = given < 0 ? given + shape[axis] : given;
    require(place >= 0 && place < shape[axis], "the slice begins outside of the input");
    box.from_offset += place * strides[axis++];
  }
  void insert() {
    box.shape.push_back(1);
    box.from.push_back(0);
  }
};

void lower_strided_slice(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1) && !l.has_input(2) && !l.has_input(3), "the slice must be known");
  const Layer &layer = l.layer();
  const Shape &shape = l.input(0).shape;
  const std::vector<int64_t> begin = layer.integers(ARMNN_STRIDED_SLICE_BEGIN);
  const std::vector<int64_t> strides = layer.integers(ARMNN_STRIDED_SLICE_STRIDE);
  const size_t count = begin.size();
  require(strides.size() == count && count < 64, "begin and stride must name as many axes");
  for (const int64_t step : strides) {
    require(step != 0 && step > -kFarthest && step < kFarthest, "a stride is out of range");
  }
  const int64_t ellipsis = l.integer(ARMNN_PARAMETER(ARMNN_STRIDED_SLICE_ELLIPSIS_MASK));
  const int64_t new_axis = l.integer(ARMNN_PARAMETER(ARMNN_STRIDED_SLICE_NEW_AXIS_MASK));
  const int64_t shrink_axis = l.integer(ARMNN_PARAMETER(ARMNN_STRIDED_SLICE_SHRINK_AXIS_MASK));
  const int64_t begin_mask = l.integer(ARMNN_PARAMETER(ARMNN_STRIDED_SLICE_BEGIN_MASK));
  const auto bit = [](int64_t mask, size_t i) { return ((mask >> i) & 1) != 0; };
  const auto is_axis = [&](size_t i) { return !bit(ellipsis, i) && !bit(new_axis, i); };
  size_t named = 0;
  bool has_ellipsis = false;
  for (size_t i = 0; i < count; ++i) {
    named += is_axis(i);
    has_ellipsis = has_ellipsis || bit(ellipsis, i);
  }
  require(named <= shape.size(), "begin names more axes than there are");
  Slicing slicing{shape, strides_of(shape), l.output().shape};
  for (size_t i = 0; i < count; ++i) {
    if (bit(ellipsis, i)) {
      slicing.take_whole(shape.size() - named);
    } else if (!is_axis(i)) {
      slicing.insert();
    } else if (bit(shrink_axis, i)) {
      slicing.pick(bit(begin_mask, i) ? 0 : begin[i]);
    } else {
      slicing.take(range_of(layer, i, shape[slicing.axis]));
    }
  }
  if (!has_ellipsis) slicing.take_whole(shape.size() - named);
  require(slicing.box.shape.size() == l.output().shape.size() && slicing.axis == shape.size(),
          "the output's rank does not fit to the slice");
  slicing.box.to = strides_of(slicing.box.shape);
  l.add<CopyBoxes>(l.io(), slicing.box);
}

}  // namespace

std::vector<LayerType> indexing_layers() {
  return {
      {ARMNN_LAYER_GATHER, lower_gather},
      {ARMNN_LAYER_GATHER_ND, lower_gather_nd},
      {ARMNN_LAYER_SLICE, lower_slice},
      {ARMNN_LAYER_STRIDED_SLICE, lower_strided_slice},
      {ARMNN_LAYER_TENSOR_SCATTER, lower_tensor_scatter},
  };
}

}  // namespace cpuacc
