/* SPDX-License-Identifier: MIT */
/* What stands around a tensor: one value, or the tensor mirrored. */
#include <algorithm>
#include <cmath>
#include <cstring>

#include "layers/registry.h"
#include "operations/copy/copy.h"
#include "operations/quantised/int8_gemm.h"

namespace cpuacc {
namespace {

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

/* What stands for a real value in a quantised tensor. */
std::vector<std::byte> filler_of(const Value &like, double value) {
  if (!is_int8(like)) {
    require(like.quantization.scales.empty(), "quantised padding of this type is not computed here", 0);
    return one_element(like.type, value);
  }
  const Bounds bounds = bounds_of(like.type);
  require(!std::isnan(value), "a quantised tensor holds no NaN");
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
  const double value = l.layer().real(ARMNN_PARAMETER(ARMNN_PAD_PAD_VALUE));
  const Shape from = in_memory(l.input(0).shape, order);
  const Shape to = in_memory(l.output().shape, order);
  CopyBox box{from, strides_of(from), strides_of(to), 0, 0};
  for (size_t i = 0; i < order.size(); ++i) {
    box.to_offset += pads[static_cast<size_t>(2 * order[i])] * box.to[i];
  }
  const TensorId source = l.in(0, order);
  l.add<CopyBoxes>(std::vector<TensorId>{source}, l.out(0, order), std::vector<CopyBox>{box},
                   filler_of(l.input(0), value));
}

void lower_pad(Lowering &l) {
  require_alike(l);
  require(!l.has_input(1) && !l.has_input(2), "the padding must be known");
  const int64_t mode = l.layer().integer(ARMNN_PARAMETER(ARMNN_PAD_PADDING_MODE));
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

std::vector<LayerType> padding_layers() { return {{ARMNN_LAYER_PAD, lower_pad}}; }

}  // namespace cpuacc
