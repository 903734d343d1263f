/* SPDX-License-Identifier: MIT */
/* Attention and RotaryEmbedding. */
#include <algorithm>
#include <cmath>

#include "layers/lowering/lowering.h"
#include "operations/attention/attention.h"

namespace cpuacc {
namespace {

/* The steps of a mask that broadcasts to [batch, heads, queries, keys]. */
Shape mask_steps(const Shape &mask, const Shape &to) {
  require(mask.size() <= to.size(), "the mask has too many axes", 3);
  Shape steps(to.size(), 0);
  int64_t step = 1;
  for (size_t i = 0; i < mask.size(); ++i) {
    const size_t axis = mask.size() - 1 - i;
    const size_t place = to.size() - 1 - i;
    require(mask[axis] == 1 || mask[axis] == to[place], "the mask does not broadcast to the scores", 3);
    steps[place] = mask[axis] == 1 ? 0 : step;
    step *= mask[axis];
  }
  return steps;
}

AttentionSizes sizes_of(const Lowering &l) {
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}}) {
    require(l.input(i).shape.size() == 4 && l.input(i).type == ARMNN_FLOAT32, "it must be Float32 of rank 4",
            static_cast<int32_t>(i));
  }
  const Shape &query = l.input(0).shape;
  const Shape &key = l.input(1).shape;
  const Shape &value = l.input(2).shape;
  const AttentionSizes s{query[0], query[1], key[1], query[2], key[2], query[3], value[3]};
  require(s.groups > 0 && s.heads % s.groups == 0, "the heads of the keys do not divide those of the queries", 1);
  require(key == Shape{s.batch, s.groups, s.keys, s.depth}, "the keys do not fit to the queries", 1);
  require(value == Shape{s.batch, s.groups, s.keys, s.width}, "the values do not fit to the keys", 2);
  require(l.output().type == ARMNN_FLOAT32 && l.output().shape == Shape{s.batch, s.heads, s.queries, s.width},
          "the output does not fit to the values");
  return s;
}

void lower_attention(Lowering &l) {
  const AttentionSizes sizes = sizes_of(l);
  Shape steps;
  if (l.has_input(3)) {
    require(l.input(3).type == ARMNN_FLOAT32 || l.input(3).type == ARMNN_BOOLEAN,
            "the mask must be Boolean or Float32", 3);
    steps = mask_steps(l.input(3).shape, {sizes.batch, sizes.heads, sizes.queries, sizes.keys});
  }
  const double scale = l.real(ARMNN_PARAMETER(ARMNN_ATTENTION_SCALE));
  const double usual = 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(sizes.depth, 1)));
  const bool is_from_end = l.flag(ARMNN_PARAMETER(ARMNN_ATTENTION_CAUSAL_FROM_END));
  const AttentionRules rules{static_cast<float>(scale == 0.0 ? usual : scale),
                             l.real32(ARMNN_PARAMETER(ARMNN_ATTENTION_SOFTCAP)),
                             l.flag(ARMNN_PARAMETER(ARMNN_ATTENTION_CAUSAL)),
                             1 + (is_from_end ? sizes.keys - sizes.queries : 0)};
  std::vector<TensorId> inputs{l.in(0), l.in(1), l.in(2), l.has_input(3) ? l.in(3) : kNone};
  l.add(attention(std::move(inputs), l.out(), sizes, rules, std::move(steps)));
}

void lower_rotary_embedding(Lowering &l) {
  require_floats(l);
  const Shape &shape = l.input(0).shape;
  const Shape &angles = l.input(1).shape;
  require(shape.size() == 4, "the rank must be 4", 0);
  require((angles.size() == 2 || angles.size() == 3) && l.input(2).shape == angles,
          "cosines and sines must have one shape of rank 2 or 3", 1);
  const int64_t pairs = angles.back();
  const int64_t items = angles.size() == 3 ? angles[0] : 1;
  require(angles[angles.size() - 2] == shape[2] && (items == 1 || items == shape[0]) && pairs <= shape[3] / 2,
          "the angles do not fit to the input", 1);
  std::vector<TensorId> inputs{l.in(0), l.in(1), l.in(2)};
  l.add(rotary_embedding(std::move(inputs), l.out(), shape, pairs, items == 1 ? 0 : shape[2] * pairs,
                         l.flag(ARMNN_PARAMETER(ARMNN_ROTARY_EMBEDDING_INTERLEAVED))));
}

}  // namespace

std::vector<LayerType> attention_layers() {
  return {
      {ARMNN_LAYER_ATTENTION, lower_attention},
      {ARMNN_LAYER_ROTARY_EMBEDDING, lower_rotary_embedding},
  };
}

}  // namespace cpuacc
