/* SPDX-License-Identifier: MIT */
/* Concat, Stack and splits: tensors joined and divided. */
#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

void lower_concat(Lowering &l) {
  const Order order = l.common_order();
  const size_t axis = place_of(order, l.axis(order.size(), ARMNN_PARAMETER(ARMNN_CONCAT_AXIS)));
  const Shape to = strides_of(in_memory(l.output().shape, order));
  std::vector<TensorId> sources;
  std::vector<CopyBox> boxes;
  int64_t begin = 0;
  for (size_t i = 0; i < l.input_count(); ++i) {
    const Shape shape = in_memory(l.input(i).shape, order);
    boxes.push_back({shape, strides_of(shape), to, 0, begin * to[axis]});
    sources.push_back(requantized(l, i, order));
    begin += shape[axis];
  }
  l.add<CopyBoxes>(std::move(sources), l.out(0, order), std::move(boxes));
}

void lower_stack(Lowering &l) {
  const Shape &shape = l.output().shape;
  const size_t axis = l.axis(shape.size(), ARMNN_PARAMETER(ARMNN_STACK_AXIS));
  const Shape all = strides_of(shape);
  Shape to = all;
  to.erase(to.begin() + static_cast<Shape::difference_type>(axis));
  std::vector<TensorId> sources;
  std::vector<CopyBox> boxes;
  for (size_t i = 0; i < l.input_count(); ++i) {
    const Shape &each = l.input(i).shape;
    boxes.push_back({each, strides_of(each), to, 0, static_cast<int64_t>(i) * all[axis]});
    sources.push_back(requantized(l, i, plain_order(each.size())));
  }
  l.add<CopyBoxes>(std::move(sources), l.out(), std::move(boxes));
}

void lower_splitter(Lowering &l) {
  const Order order = l.order(0);
  const Value &input = l.input(0);
  require(input.quantization.axis < 0, "scales per axis are not carried here", 0);
  const size_t axis = place_of(order, l.axis(order.size(), ARMNN_PARAMETER(ARMNN_SPLITTER_AXIS)));
  const Shape from = strides_of(in_memory(input.shape, order));
  const TensorId source = l.in(0, order);
  int64_t begin = 0;
  for (size_t i = 0; i < l.layer().outputs.size(); ++i) {
    const Value &part = l.output(i);
    require(is_alike(part, input), "the parts must have the input's data type and quantization");
    const Shape shape = in_memory(part.shape, order);
    l.add<CopyBoxes>(Io{source, l.out(i, order)}, CopyBox{shape, from, strides_of(shape), begin * from[axis]});
    begin += shape[axis];
  }
}

}  // namespace

std::vector<LayerType> joining_layers() {
  return {
      {ARMNN_LAYER_CONCAT, lower_concat},
      {ARMNN_LAYER_SPLITTER, lower_splitter},
      {ARMNN_LAYER_STACK, lower_stack},
  };
}

}  // namespace cpuacc
