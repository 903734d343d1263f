/* SPDX-License-Identifier: MIT */
/* Attention, also to a cache, and RotaryEmbedding. */
#include <algorithm>
#include <cmath>

#include "layers/lowering/lowering.h"
#include "operations/attention/attention.h"

namespace cpuacc {
namespace {

/* The steps of a mask that broadcasts to [batch, heads, queries, keys]; none if there is no mask. */
Shape mask_steps(const Lowering &l, size_t input, const AttentionSizes &sizes) {
  if (!l.has_input(input)) return {};
  const auto place_of_mask = static_cast<int32_t>(input);
  require(l.input(input).type == ARMNN_FLOAT32 || l.input(input).type == ARMNN_BOOLEAN,
          "the mask must be Boolean or Float32", place_of_mask);
  const Shape &mask = l.input(input).shape;
  const Shape to{sizes.batch, sizes.heads, sizes.queries, sizes.keys};
  require(mask.size() <= to.size(), "the mask has too many axes", place_of_mask);
  Shape steps(to.size(), 0);
  int64_t step = 1;
  for (size_t i = 0; i < mask.size(); ++i) {
    const size_t axis = mask.size() - 1 - i;
    const size_t place = to.size() - 1 - i;
    require(mask[axis] == 1 || mask[axis] == to[place], "the mask does not broadcast to the scores",
            place_of_mask);
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

/* The scale of the scores; 0 stands for 1 / sqrt(depth). */
float scale_of(double given, const AttentionSizes &sizes) {
  return static_cast<float>(given != 0.0 ? given : 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(sizes.depth, 1))));
}

void lower_attention(Lowering &l) {
  const AttentionSizes sizes = sizes_of(l);
  Shape steps = mask_steps(l, 3, sizes);
  const bool is_from_end = l.flag(ARMNN_PARAMETER(ARMNN_ATTENTION_CAUSAL_FROM_END));
  const AttentionRules rules{scale_of(l.real(ARMNN_PARAMETER(ARMNN_ATTENTION_SCALE)), sizes),
                             l.real32(ARMNN_PARAMETER(ARMNN_ATTENTION_SOFTCAP)),
                             l.flag(ARMNN_PARAMETER(ARMNN_ATTENTION_CAUSAL)),
                             1 + (is_from_end ? sizes.keys - sizes.queries : 0)};
  std::vector<TensorId> inputs{l.in(0), l.in(1), l.in(2), l.has_input(3) ? l.in(3) : kNone};
  l.add(attention(std::move(inputs), l.out(), sizes, rules, std::move(steps)));
}

void lower_cached_attention(Lowering &l) {
  const AttentionSizes sizes = sizes_of(l);
  require_indices(l.input(3), 3);
  const int64_t lengths = elements(l.input(3).shape);
  require(l.input(3).shape.size() <= 1 && (lengths == 1 || lengths == sizes.batch), "there must be a length of each item",
          3);
  Shape steps = mask_steps(l, 4, sizes);
  if (l.has_input(5)) {
    require(l.input(5).type == ARMNN_FLOAT32 && l.input(5).shape == Shape{sizes.heads},
            "there must be a sink of each head, in Float32", 5);
  }
  const CacheRules rules{scale_of(l.real(ARMNN_PARAMETER(ARMNN_CACHED_ATTENTION_SCALE)), sizes),
                         l.real32(ARMNN_PARAMETER(ARMNN_CACHED_ATTENTION_SOFTCAP)),
                         l.flag(ARMNN_PARAMETER(ARMNN_CACHED_ATTENTION_CAUSAL)),
                         std::min(l.integer(ARMNN_PARAMETER(ARMNN_CACHED_ATTENTION_WINDOW)), sizes.keys + sizes.queries)};
  require(rules.window >= 0, "the window is below 0");
  std::vector<TensorId> inputs{l.in(0), l.in(1), l.in(2), l.in(3)};
  for (const size_t i : {size_t{4}, size_t{5}}) inputs.push_back(l.has_input(i) ? l.in(i) : kNone);
  l.add(cached_attention(std::move(inputs), l.out(), sizes, rules, std::move(steps)));
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
      {ARMNN_LAYER_CACHED_ATTENTION, lower_cached_attention},
      {ARMNN_LAYER_ROTARY_EMBEDDING, lower_rotary_embedding},
  };
}

}  // namespace cpuacc
