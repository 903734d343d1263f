/* SPDX-License-Identifier: MIT */
/* Layers that select elements one by one, for any data type. */
#include <algorithm>

#include "layers/lowering/lowering.h"
#include "operations/copy/copy.h"
#include "operations/reduction/reduction.h"

namespace cpuacc {
namespace {

void lower_gather_elements(Lowering &l) {
  require_alike(l);
  require_indices(l.input(1), 1);
  const Shape &from = l.input(0).shape;
  const Shape &shape = l.input(1).shape;
  require(!from.empty() && shape.size() == from.size() && l.output().shape == shape, "the shapes do not fit");
  const size_t axis = l.axis(from.size(), ARMNN_PARAMETER(ARMNN_GATHER_ELEMENTS_AXIS));
  for (size_t i = 0; i < shape.size(); ++i) {
    require(i == axis || shape[i] <= from[i], "the indices reach outside of the input", 1);
  }
  const TensorId source = l.in(0);
  const TensorId indices = l.in(1);
  l.add(gather_elements(source, indices, l.out(), shape, strides_of(from), axis, from[axis]));
}

void lower_one_hot(Lowering &l) {
  require_indices(l.input(0), 0);
  require(!l.has_input(2), "the depth must be known", 2);
  const Value &values = l.input(1);
  const Value &out = l.output();
  require(is_alike(values, out) && elements(values.shape) == 2 && values.quantization.axis < 0,
          "there must be two values of the output's data type and quantization", 1);
  const size_t rank = l.input(0).shape.size() + 1;
  const size_t axis = l.axis(rank, ARMNN_PARAMETER(ARMNN_ONE_HOT_AXIS));
  Shape expected = l.input(0).shape;
  expected.insert(expected.begin() + static_cast<Shape::difference_type>(axis),
                  l.integer(ARMNN_PARAMETER(ARMNN_ONE_HOT_DEPTH)));
  require(out.shape == expected, "the output's shape does not fit to the depth");
  const TensorId indices = l.in(0);
  const TensorId both = l.in(1);
  l.add(one_hot(indices, both, l.out(), along(expected, axis), l.flag(ARMNN_PARAMETER(ARMNN_ONE_HOT_WRAP_NEGATIVE))));
}

void lower_top_k(Lowering &l) {
  require(!l.has_input(1), "the number must be known", 1);
  require(l.layer().outputs.size() == 2 && l.output().type == l.input(0).type,
          "the values must have the input's data type");
  require_index_output(l.output(1).type);
  const Shape &shape = l.input(0).shape;
  require(!shape.empty(), "a scalar has no axis", 0);
  const size_t axis = l.axis(shape.size(), ARMNN_PARAMETER(ARMNN_TOP_K_AXIS));
  const int64_t k = l.integer(ARMNN_PARAMETER(ARMNN_TOP_K_K));
  Shape expected = shape;
  expected[axis] = k;
  require(k >= 0 && k <= shape[axis] && l.output().shape == expected && l.output(1).shape == expected,
          "the output's shape does not fit to the number");
  const bool is_largest = l.flag(ARMNN_PARAMETER(ARMNN_TOP_K_LARGEST));
  const FindBest find = topk_function(l.input(0).type, is_largest);
  require(find != nullptr, std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  const TensorId from = l.in(0);
  const TensorId values = l.out(0);
  l.add(top_k(from, values, l.out(1), along(shape, axis), k, find));
}

void lower_trilu(Lowering &l) {
  require_alike(l);
  require(l.input(0).quantization.scales.empty(), "quantized zeros are not computed here", 0);
  require(!l.has_input(1), "the diagonal must be known", 1);
  const Shape &shape = l.input(0).shape;
  require(shape.size() >= 2, "there must be matrices", 0);
  constexpr int64_t kFarthest = int64_t{1} << 40;
  const int64_t diagonal = std::clamp(l.integer(ARMNN_PARAMETER(ARMNN_TRILU_K)), -kFarthest, kFarthest);
  l.add(trilu(l.io(), shape[shape.size() - 2], shape.back(), diagonal,
              l.flag(ARMNN_PARAMETER(ARMNN_TRILU_UPPER))));
}

}  // namespace

std::vector<LayerType> selecting_layers() {
  return {
      {ARMNN_LAYER_GATHER_ELEMENTS, lower_gather_elements},
      {ARMNN_LAYER_ONE_HOT, lower_one_hot},
      {ARMNN_LAYER_TOP_K, lower_top_k},
      {ARMNN_LAYER_TRILU, lower_trilu},
  };
}

}  // namespace cpuacc
