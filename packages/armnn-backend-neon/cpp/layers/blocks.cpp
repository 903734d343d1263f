/* SPDX-License-Identifier: MIT */
/* Tensors repeated, turned round, and moved between blocks of the plane and the batch. */
#include <algorithm>

#include "layers/registry.h"
#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

void add_box(Lowering &l, TensorId source, TensorId to, CopyBox box) {
  l.add<CopyBoxes>(std::vector<TensorId>{source}, to, std::vector<CopyBox>{std::move(box)});
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
  const TensorId source = l.in(0);
  add_box(l, source, l.out(), std::move(box));
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
    const int64_t given = l.input(1).type == ARMNN_SIGNED64
                              ? static_cast<const int64_t *>(l.input(1).read())[i]
                              : static_cast<const int32_t *>(l.input(1).read())[i];
    const auto axis = static_cast<size_t>(whole_axis(given, shape.size()));
    require(box.from[axis] >= 0, "an axis is named twice", 1);
    box.from_offset += (shape[axis] - 1) * box.from[axis];
    box.from[axis] = -box.from[axis];
  }
  const TensorId source = l.in(0);
  add_box(l, source, l.out(), std::move(box));
}

/* The blocks of a layer between the plane and the batch. */
struct Blocks {
  std::vector<int64_t> sizes; /* along the spatial axes */
  std::vector<int64_t> crops; /* before and behind each: padding or crops */
  size_t first_axis; /* of the spatial ones */

  int64_t count() const { return elements(sizes); }
};

CPUACC_SHARED(DATA_LAYOUT, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND);

Blocks blocks_of(const Lowering &l, std::vector<int64_t> sizes, std::vector<int64_t> crops) {
  const int64_t layout = l.layer().integer(ARMNN_PARAMETER(ARMNN_SPACE_TO_BATCH_ND_DATA_LAYOUT));
  Blocks blocks{std::move(sizes), std::move(crops), layout == ARMNN_DATA_LAYOUT_NHWC ? size_t{1} : size_t{2}};
  const size_t rank = l.input(0).shape.size();
  require(rank == blocks.sizes.size() + 2 && l.output().shape.size() == rank &&
              blocks.crops.size() == 2 * blocks.sizes.size(),
          "the blocks do not fit to the rank");
  for (const int64_t size : blocks.sizes) require(size >= 1, "a block must not be empty");
  for (const int64_t crop : blocks.crops) require(crop >= 0, "padding and crops must not be negative");
  return blocks;
}

/* How one place in all blocks goes between the plane and its part of the batch; from and to are those
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
    const int64_t last = plane[axis] - begin <= 0 ? 0 : (plane[axis] - begin + size - 1) / size;
    box.shape[axis] = std::max<int64_t>(0, std::min(last, batch[axis]) - first);
    box.from_offset += (begin + first * size) * box.from[axis];
    box.to_offset += first * box.to[axis];
    box.from[axis] *= size;
  }
  return box;
}

void lower_space_to_batch(Lowering &l) {
  require_alike(l);
  require(l.input(0).quantization.scales.empty(), "quantised padding is not computed here", 0);
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

}  // namespace

std::vector<LayerType> block_layers() {
  return {
      {ARMNN_LAYER_BATCH_TO_SPACE_ND, lower_batch_to_space},
      {ARMNN_LAYER_REVERSE_V2, lower_reverse},
      {ARMNN_LAYER_SPACE_TO_BATCH_ND, lower_space_to_batch},
      {ARMNN_LAYER_TILE, lower_tile},
  };
}

}  // namespace cpuacc
