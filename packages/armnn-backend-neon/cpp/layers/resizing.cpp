/* SPDX-License-Identifier: MIT */
/* Resize: images sampled at other places. */
#include <algorithm>
#include <cmath>

#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "layers/lowering/windows.h"
#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

struct Grid {
  bool aligns_corners;
  bool has_half_pixels;
  bool is_bilinear;

  double place(int64_t i, int64_t in, int64_t out) const {
    if (aligns_corners) {
      return out > 1 ? static_cast<double>(i) * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
    }
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    return has_half_pixels ? (static_cast<double>(i) + 0.5) * scale - 0.5 : static_cast<double>(i) * scale;
  }

  Sampling sampling(int64_t in, int64_t out) const {
    Sampling result;
    for (int64_t i = 0; i < out; ++i) {
      const double at = place(i, in, out);
      const bool rounds = !is_bilinear && (aligns_corners || has_half_pixels);
      const auto low = static_cast<int64_t>(std::floor(rounds ? at + 0.5 : at));
      const double share = is_bilinear && low >= 0 ? at - static_cast<double>(low) : 0.0;
      result.low.push_back(std::clamp<int64_t>(low, 0, in - 1));
      result.high.push_back(std::clamp<int64_t>(low + 1, 0, in - 1));
      result.share.push_back(static_cast<float>(share));
    }
    return result;
  }
};

void lower_resize(Lowering &l) {
  const bool is_stored = is_int8(l.input(0)) && is_int8(l.output());
  if (!is_stored) require_floats(l);
  const int64_t method = l.integer(ARMNN_PARAMETER(ARMNN_RESIZE_METHOD));
  const bool is_bilinear = method == ARMNN_RESIZE_METHOD_BILINEAR;
  require(is_bilinear || method == ARMNN_RESIZE_METHOD_NEAREST_NEIGHBOR,
          "only Bilinear and NearestNeighbor are computed here");
  require(is_bilinear || l.integer(ARMNN_PARAMETER(ARMNN_RESIZE_ROUNDING)) == ARMNN_RESIZE_ROUNDING_TENSORFLOW,
          "only TensorFlow's rounding is computed here");
  require(l.real(ARMNN_PARAMETER(ARMNN_RESIZE_SCALE_WIDTH)) == 0.0 &&
              l.real(ARMNN_PARAMETER(ARMNN_RESIZE_SCALE_HEIGHT)) == 0.0,
          "scales of their own are not computed here");
  const Order order = image_order(l);
  const Shape from = in_memory(l.input(0).shape, order);
  const Shape to = in_memory(l.output().shape, order);
  require(elements(from) > 0, "an empty image cannot be sampled", 0);
  const Grid grid{l.flag(ARMNN_PARAMETER(ARMNN_RESIZE_ALIGN_CORNERS)),
                  l.flag(ARMNN_PARAMETER(ARMNN_RESIZE_HALF_PIXEL_CENTERS)), is_bilinear};
  const bool mixes = is_bilinear || (is_stored && !is_alike(l.input(0), l.output()));
  l.add(resize(l.io(order), grid.sampling(from[1], to[1]), grid.sampling(from[2], to[2]), mixes));
}

}  // namespace

std::vector<LayerType> resizing_layers() {
  return {
      {ARMNN_LAYER_RESIZE, lower_resize},
  };
}

}  // namespace cpuacc
