/* SPDX-License-Identifier: MIT */
/* Layers that only move elements: reshapes, permutations, blocks, tiles and pads. */
#include <algorithm>
#include <cmath>

#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "layers/lowering/windows.h"
#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

void lower_reshape(Lowering &l) {
  require_alike(l);
  if (l.input(0).shape == l.output().shape) return l.forward();
  const TensorId from = l.in(0);
  l.alias(0, from, plain_order(l.output().shape.size()));
}

static_assert(are_alike({{ARMNN_PERMUTE_DIM_MAPPINGS, 0}, {ARMNN_TRANSPOSE_DIM_MAPPINGS, 0}}));

/* Whether only axes of one element change places. Args: axes: the axis of the output for each of the input. */
bool moves_nothing(const Shape &shape, const Order &axes) {
  int32_t last = -1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (shape[i] == 1) continue;
    if (axes[i] < last) return false;
    last = axes[i];
  }
  return true;
}

/* Copies nothing: the output is the input's memory in another order of axes, or a reshape of it if none of
 * several elements changes its place, as in a batch of 1.
 */
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
  if (moves_nothing(l.input(0).shape, axes)) return l.alias(0, l.in(0), plain_order(axes.size()));
  Order result(order.size());
  for (size_t i = 0; i < order.size(); ++i) result[i] = axes[static_cast<size_t>(order[i])];
  l.alias(0, l.in(0, order), result);
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
  l.add<CopyBoxes>(l.io(), box);
}

/* An axis seen as [groups, members] becomes [members, groups]. */
void lower_channel_shuffle(Lowering &l) {
  require_alike(l);
  const Order order = l.common_order();
  const Shape shape = in_memory(l.input(0).shape, order);
  const size_t axis = place_of(order, l.axis(order.size(), ARMNN_PARAMETER(ARMNN_CHANNEL_SHUFFLE_AXIS)));
  const int64_t groups = l.integer(ARMNN_PARAMETER(ARMNN_CHANNEL_SHUFFLE_NUM_GROUPS));
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
  l.add<CopyBoxes>(l.io(order), box);
}

void lower_tile(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1), "the multiples must be known", 1);
  const std::vector<int64_t> multiples = l.layer().integers(ARMNN_TILE_MULTIPLES);
  const Shape &shape = l.input(0).shape;
  require(multiples.size() == shape.size(), "multiples must have a number for each axis");
  const Shape from = strides_of(shape);
  const Shape to = strides_of(l.output().shape);
  CopyBox box;
  for (size_t i = 0; i < shape.size(); ++i) {
    require(multiples[i] >= 0 && multiples[i] <= l.output().shape[i], "the output's shape does not fit");
    box.shape.insert(box.shape.end(), {multiples[i], shape[i]});
    box.from.insert(box.from.end(), {0, from[i]});
    box.to.insert(box.to.end(), {shape[i] * to[i], to[i]});
  }
  l.add<CopyBoxes>(l.io(), std::move(box));
}

void lower_reverse(Lowering &l) {
  require_alike(l);
  require(l.input(1).is_constant(), "the axes must be constant", 1);
  require(l.input(1).type == ARMNN_SIGNED32 || l.input(1).type == ARMNN_SIGNED64,
          "the axes must be Signed32 or Signed64", 1);
  const Shape &shape = l.input(0).shape;
  CopyBox box{shape, strides_of(shape), strides_of(shape), 0, 0};
  const int64_t count = elements(l.input(1).shape);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t given = l.input(1).type == ARMNN_SIGNED64 ? static_cast<const int64_t *>(l.input(1).read())[i]
                                                            : static_cast<const int32_t *>(l.input(1).read())[i];
    const auto axis = static_cast<size_t>(whole_axis(given, shape.size()));
    require(box.from[axis] >= 0, "an axis is named twice", 1);
    box.from_offset += (shape[axis] - 1) * box.from[axis];
    box.from[axis] = -box.from[axis];
  }
  l.add<CopyBoxes>(l.io(), std::move(box));
}

/* The blocks of a layer between the plane and the batch. */
struct Blocks {
  Shape sizes; /* along the spatial axes */
  std::vector<int64_t> crops; /* before and behind each: padding or crops */
  size_t first_axis; /* of the spatial ones */

  int64_t count() const { return elements(sizes); }
};

CPUACC_SHARED(DATA_LAYOUT, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND);

Blocks blocks_of(const Lowering &l, const std::vector<int64_t> &sizes, std::vector<int64_t> crops) {
  const int64_t layout = l.integer(ARMNN_PARAMETER(ARMNN_SPACE_TO_BATCH_ND_DATA_LAYOUT));
  Blocks blocks{{sizes.begin(), sizes.end()}, std::move(crops), layout == ARMNN_DATA_LAYOUT_NHWC ? size_t{1} : size_t{2}};
  const size_t rank = l.input(0).shape.size();
  require(rank == blocks.sizes.size() + 2 && l.output().shape.size() == rank &&
              blocks.crops.size() == 2 * blocks.sizes.size(),
          "the blocks do not fit to the rank");
  for (const int64_t size : blocks.sizes) require(size >= 1, "a block must not be empty");
  for (const int64_t crop : blocks.crops) require(crop >= 0, "padding and crops must not be negative");
  return blocks;
}

/* The copy of one place in all blocks between the plane and its part of the batch; from and to are those
 * of a move from the plane.
 */
CopyBox place_in_blocks(const Blocks &blocks, const Shape &plane, const Shape &batch, int64_t number) {
  CopyBox box{batch, strides_of(plane), strides_of(batch), 0, number * plane[0] * strides_of(batch)[0]};
  box.shape[0] = plane[0];
  for (size_t i = blocks.sizes.size(); i-- > 0;) {
    const size_t axis = blocks.first_axis + i;
    const int64_t size = blocks.sizes[i];
    const int64_t begin = number % size - blocks.crops[2 * i]; /* in the plane */
    number /= size;
    const int64_t first = begin >= 0 ? 0 : (size - 1 - begin) / size;
    const int64_t last = plane[axis] - begin <= 0 ? 0 : ratio_up(plane[axis] - begin, size);
    box.shape[axis] = std::max<int64_t>(0, std::min(last, batch[axis]) - first);
    box.from_offset += (begin + first * size) * box.from[axis];
    box.to_offset += first * box.to[axis];
    box.from[axis] *= size;
  }
  return box;
}

void lower_space_to_batch(Lowering &l) {
  require_alike(l);
  require(l.input(0).quantization.scales.empty(), "quantized padding is not computed here", 0);
  const Blocks blocks = blocks_of(l, l.layer().integers(ARMNN_PARAMETER(ARMNN_SPACE_TO_BATCH_ND_BLOCK_SHAPE)),
                                  l.layer().integers(ARMNN_PARAMETER(ARMNN_SPACE_TO_BATCH_ND_PAD_LIST)));
  const Shape &plane = l.input(0).shape;
  require(l.output().shape[0] == plane[0] * blocks.count(), "the output's shape does not fit");
  std::vector<CopyBox> boxes;
  for (int64_t i = 0; i < blocks.count(); ++i) {
    boxes.push_back(place_in_blocks(blocks, plane, l.output().shape, i));
  }
  const std::vector<TensorId> sources(boxes.size(), l.in(0));
  l.add<CopyBoxes>(sources, l.out(), std::move(boxes), std::vector<std::byte>(element_bytes(l.output().type)));
}

void lower_batch_to_space(Lowering &l) {
  require_alike(l);
  const Blocks blocks = blocks_of(l, l.layer().integers(ARMNN_PARAMETER(ARMNN_BATCH_TO_SPACE_ND_BLOCK_SHAPE)),
                                  l.layer().integers(ARMNN_PARAMETER(ARMNN_BATCH_TO_SPACE_ND_CROPS)));
  const Shape &plane = l.output().shape;
  require(l.input(0).shape[0] == plane[0] * blocks.count(), "the output's shape does not fit");
  std::vector<CopyBox> boxes;
  for (int64_t i = 0; i < blocks.count(); ++i) {
    CopyBox box = place_in_blocks(blocks, plane, l.input(0).shape, i);
    std::swap(box.from, box.to);
    std::swap(box.from_offset, box.to_offset);
    boxes.push_back(std::move(box));
  }
  const std::vector<TensorId> sources(boxes.size(), l.in(0));
  l.add<CopyBoxes>(sources, l.out(), std::move(boxes));
}

CPUACC_SHARED(DATA_LAYOUT, SPACE_TO_DEPTH, DEPTH_TO_SPACE);

CPUACC_SHARED(BLOCK_SIZE, SPACE_TO_DEPTH, DEPTH_TO_SPACE);

/* The axes of [N, H, y, W, x, channels of the deep form] in both forms. */
void lower_depth_block(Lowering &l, bool is_deep_before) {
  const Value &in = l.input(0);
  const Value &out = l.output();
  require(is_alike(in, out) && in.quantization.axis < 0,
          "input and output must have the same data type and quantization");
  const Order order = image_order(l, ARMNN_SPACE_TO_DEPTH_DATA_LAYOUT_DEFAULT);
  const int64_t side = l.integer(ARMNN_PARAMETER(ARMNN_SPACE_TO_DEPTH_BLOCK_SIZE));
  const Shape from = in_memory(in.shape, order);
  const Shape to = in_memory(out.shape, order);
  require(side > 0 && side < 65536, "block_size is out of range");
  const Shape &deep = is_deep_before ? from : to;
  const Shape &flat = is_deep_before ? to : from;
  const Shape deep_steps = strides_of(deep);
  const Shape flat_steps = strides_of(flat);
  const int64_t channels = flat[3];
  const bool is_crd = l.flag(ARMNN_PARAMETER(ARMNN_DEPTH_TO_SPACE_COLUMN_ROW_DEPTH));
  const int64_t block = is_crd ? 1 : channels; /* steps of a place in the block in the deep channels */
  const Shape shape{deep[0], deep[1], side, deep[2], side, channels};
  const Shape in_deep{deep_steps[0], deep_steps[1], side * block, deep_steps[2], block, is_crd ? side * side : 1};
  const Shape in_flat{flat_steps[0], flat_steps[1] * side, flat_steps[1], flat_steps[2] * side, flat_steps[2], 1};
  const CopyBox box{shape, is_deep_before ? in_deep : in_flat, is_deep_before ? in_flat : in_deep, 0, 0};
  l.add<CopyBoxes>(l.io(order), box);
}

/* A real value as a quantized tensor stores it. */
std::vector<std::byte> filler_of(const Value &like, double value) {
  if (!is_int8(like)) {
    require(like.quantization.scales.empty(), "quantized padding of this type is not computed here", 0);
    return element_of(like.type, value);
  }
  const Bounds bounds = bounds_of(like.type);
  require(!std::isnan(value), "a quantized tensor holds no NaN");
  const float steps = std::round(static_cast<float>(value) / like.quantization.scales[0]);
  const double stored = std::clamp<double>(static_cast<double>(steps) + like.quantization.zero_points[0],
                                           bounds.lowest, bounds.highest);
  return {static_cast<std::byte>(static_cast<int32_t>(stored))};
}

/* The boxes of one axis: the input itself, and its mirror images before and behind it. */
struct MirrorBox {
  int64_t size;
  int64_t from; /* the first element */
  int64_t step;
  int64_t to;
};

/* Args: edge: 1 if the outermost element is not repeated, else 0. */
std::vector<MirrorBox> mirrored(int64_t size, int64_t before, int64_t behind, int64_t edge) {
  require(std::max(before, behind) <= std::max<int64_t>(size - edge, 0), "the padding is larger than its axis");
  std::vector<MirrorBox> all{{size, 0, 1, before}};
  if (before > 0) all.push_back({before, before - 1 + edge, -1, 0});
  if (behind > 0) all.push_back({behind, size - 1 - edge, -1, before + size});
  return all;
}

void lower_mirrored(Lowering &l, const Order &order, const std::vector<int64_t> &pads, int64_t edge) {
  const Shape from = in_memory(l.input(0).shape, order);
  const Shape strides = strides_of(from);
  const Shape targets = strides_of(in_memory(l.output().shape, order));
  std::vector<CopyBox> boxes(1);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto axis = static_cast<size_t>(2 * order[i]);
    std::vector<CopyBox> split;
    for (const MirrorBox &part : mirrored(from[i], pads[axis], pads[axis + 1], edge)) {
      for (CopyBox box : boxes) {
        box.shape.push_back(part.size);
        box.from.push_back(part.step * strides[i]);
        box.to.push_back(targets[i]);
        box.from_offset += part.from * strides[i];
        box.to_offset += part.to * targets[i];
        split.push_back(std::move(box));
      }
    }
    boxes = std::move(split);
  }
  const std::vector<TensorId> sources(boxes.size(), l.in(0, order));
  l.add<CopyBoxes>(sources, l.out(0, order), std::move(boxes));
}

void lower_constant(Lowering &l, const Order &order, const std::vector<int64_t> &pads) {
  const double value = l.real(ARMNN_PARAMETER(ARMNN_PAD_PAD_VALUE));
  const Shape from = in_memory(l.input(0).shape, order);
  const Shape to = in_memory(l.output().shape, order);
  CopyBox box{from, strides_of(from), strides_of(to), 0, 0};
  for (size_t i = 0; i < order.size(); ++i) {
    box.to_offset += pads[static_cast<size_t>(2 * order[i])] * box.to[i];
  }
  l.add<CopyBoxes>(l.io(order), std::move(box), filler_of(l.input(0), value));
}

void lower_pad(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1) && !l.has_input(2), "the padding must be known");
  const int64_t mode = l.integer(ARMNN_PARAMETER(ARMNN_PAD_PADDING_MODE));
  require(mode == ARMNN_PADDING_MODE_CONSTANT || mode == ARMNN_PADDING_MODE_REFLECT ||
              mode == ARMNN_PADDING_MODE_SYMMETRIC,
          "this padding mode is not computed here");
  const Order order = l.common_order();
  const std::vector<int64_t> pads = l.layer().integers(ARMNN_PAD_PAD_LIST);
  require(pads.size() == 2 * order.size(), "pad_list must have two numbers for each axis");
  require(std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; }),
          "padding must not be negative");
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t from = l.input(0).shape[i];
    const int64_t to = l.output().shape[i];
    require(pads[2 * i] <= to && pads[2 * i + 1] <= to && pads[2 * i] + from + pads[2 * i + 1] == to,
            "the output's shape does not fit to the padding");
  }
  if (mode == ARMNN_PADDING_MODE_CONSTANT) return lower_constant(l, order, pads);
  lower_mirrored(l, order, pads, mode == ARMNN_PADDING_MODE_REFLECT ? 1 : 0);
}

}  // namespace

std::vector<LayerType> reshaping_layers() {
  return {
      {ARMNN_LAYER_BATCH_TO_SPACE_ND, lower_batch_to_space},
      {ARMNN_LAYER_BROADCAST_TO, lower_broadcast},
      {ARMNN_LAYER_CHANNEL_SHUFFLE, lower_channel_shuffle},
      {ARMNN_LAYER_DEPTH_TO_SPACE, [](Lowering &l) { lower_depth_block(l, true); }},
      {ARMNN_LAYER_PAD, lower_pad},
      {ARMNN_LAYER_PERMUTE, [](Lowering &l) { lower_transposition(l, true); }},
      {ARMNN_LAYER_RESHAPE, lower_reshape},
      {ARMNN_LAYER_REVERSE_V2, lower_reverse},
      {ARMNN_LAYER_SPACE_TO_BATCH_ND, lower_space_to_batch},
      {ARMNN_LAYER_SPACE_TO_DEPTH, [](Lowering &l) { lower_depth_block(l, false); }},
      {ARMNN_LAYER_TILE, lower_tile},
      {ARMNN_LAYER_TRANSPOSE, [](Lowering &l) { lower_transposition(l, false); }},
  };
}

}  // namespace cpuacc
