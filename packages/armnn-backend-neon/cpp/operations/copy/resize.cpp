/* SPDX-License-Identifier: MIT */
/* Images sampled at other places, and planes moved into channels and back. */
#include <algorithm>
#include <cmath>

#include "layers/registry.h"
#include "operations/copy/copy.h"
#include "operations/quantised/conversion.h"
#include "operations/quantised/int8_gemm.h"
#include "operations/windows.h"

namespace cpuacc {
namespace {

/* Of each output row or column: the two samples that it lies between, and the share of the latter. */
struct Sampling {
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  std::vector<float> share;
};

void mix(const float *low, const float *high, float share, float *to, int64_t n) {
  if (share == 0.0f) {
    std::copy(low, low + n, to);
    return;
  }
  const float rest = 1.0f - share; /* a difference could overflow */
  for (int64_t i = 0; i < n; ++i) to[i] = low[i] * rest + high[i] * share;
}

/* [N, H, W, C] -> [N, H', W', C]; the nearest sample has a share of 0. */
class Resize final : public Operation {
 public:
  Resize(TensorId from, TensorId to, Sampling rows, Sampling columns)
      : Operation({from}, {to}), rows_(std::move(rows)), columns_(std::move(columns)) {}

  size_t prepare(const Setup &setup) override {
    from_ = setup[inputs[0]].shape;
    to_ = setup[outputs[0]].shape;
    line_bytes_ = (static_cast<size_t>(from_[2] * from_[3]) * sizeof(float) + 63) / 64 * 64;
    return line_bytes_ * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    float *y = frame.out<float>(outputs[0]);
    const int64_t channels = from_[3];
    const int64_t line = from_[2] * channels;
    const double row_ns = static_cast<double>(line + to_[2] * channels) * kElementNs;
    frame.pool.run(to_[0] * to_[1], row_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      auto *mixed =
          reinterpret_cast<float *>(frame.scratch() + line_bytes_ * static_cast<size_t>(thread));
      for (int64_t i = begin; i < end; ++i) {
        const auto row = static_cast<size_t>(i % to_[1]);
        const float *image = x + i / to_[1] * from_[1] * line;
        mix(image + rows_.low[row] * line, image + rows_.high[row] * line, rows_.share[row], mixed, line);
        for (size_t j = 0; j < columns_.low.size(); ++j) {
          mix(mixed + columns_.low[j] * channels, mixed + columns_.high[j] * channels,
              columns_.share[j], y + (i * to_[2] + static_cast<int64_t>(j)) * channels, channels);
        }
      }
    });
  }

 private:
  Sampling rows_;
  Sampling columns_;
  Shape from_;
  Shape to_;
  size_t line_bytes_ = 0;
};

/* The same of bytes: samples as they are stored where nothing is mixed, else row by row in floats. */
class Int8Resize final : public Operation {
 public:
  Int8Resize(TensorId from, TensorId to, Sampling rows, Sampling columns, bool mixes)
      : Operation({from}, {to}), rows_(std::move(rows)), columns_(std::move(columns)), mixes_(mixes) {}

  size_t prepare(const Setup &setup) override {
    from_ = setup[inputs[0]];
    to_ = setup[outputs[0]];
    line_ = from_.shape[2] * from_.shape[3];
    made_ = to_.shape[2] * to_.shape[3];
    room_ = static_cast<size_t>(2 * line_ + made_ + 15) / 16 * 16;
    return mixes_ ? room_ * sizeof(float) * static_cast<size_t>(setup.threads) : 0;
  }

  void run(const Frame &frame) const override {
    const uint8_t *x = frame.in<uint8_t>(inputs[0]);
    uint8_t *y = frame.out<uint8_t>(outputs[0]);
    const int64_t rows = to_.shape[1];
    const double row_ns = static_cast<double>(line_ + made_) * kElementNs;
    frame.pool.run(to_.shape[0] * rows, row_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      for (int64_t i = begin; i < end; ++i) {
        const auto row = static_cast<size_t>(i % rows);
        const uint8_t *image = x + i / rows * from_.shape[1] * line_;
        const uint8_t *low = image + rows_.low[row] * line_;
        if (mixes_) {
          mix_row(frame, low, image + rows_.high[row] * line_, rows_.share[row], thread, y + i * made_);
        } else {
          pick(low, y + i * made_);
        }
      }
    });
  }

 private:
  void pick(const uint8_t *row, uint8_t *to) const {
    const int64_t channels = from_.shape[3];
    for (const int64_t column : columns_.low) {
      std::copy_n(row + column * channels, channels, to);
      to += channels;
    }
  }

  void mix_row(const Frame &frame, const uint8_t *low, const uint8_t *high, float share, int32_t thread,
               uint8_t *to) const {
    const Kernels &kernels = frame.kernels;
    const int64_t channels = from_.shape[3];
    float *mixed = reinterpret_cast<float *>(frame.scratch()) + room_ * static_cast<size_t>(thread);
    float *other = mixed + line_;
    float *made = other + line_;
    const auto decode = [&](const uint8_t *row, float *real) {
      kernels.dequantize[static_cast<int>(integer_of(from_.type))](
          row, real, line_, from_.quantization.scales[0], from_.quantization.zero_points[0]);
    };
    decode(low, mixed);
    if (share != 0.0f) {
      decode(high, other);
      mix(mixed, other, share, mixed, line_);
    }
    for (size_t j = 0; j < columns_.low.size(); ++j) {
      mix(mixed + columns_.low[j] * channels, mixed + columns_.high[j] * channels, columns_.share[j],
          made + static_cast<int64_t>(j) * channels, channels);
    }
    kernels.quantize[static_cast<int>(integer_of(to_.type))](made, to, made_, to_.quantization.scales[0],
                                                             to_.quantization.zero_points[0]);
  }

  Sampling rows_;
  Sampling columns_;
  bool mixes_;
  Tensor from_;
  Tensor to_;
  int64_t line_ = 0; /* elements of a row of the input */
  int64_t made_ = 0; /* and of the output */
  size_t room_ = 0; /* floats of one thread */
};

struct Grid {
  bool aligns_corners;
  bool has_half_pixels;
  bool is_bilinear;

  double place(int64_t i, int64_t in, int64_t out) const {
    if (aligns_corners) {
      return out > 1 ? static_cast<double>(i) * static_cast<double>(in - 1) / static_cast<double>(out - 1)
                     : 0.0;
    }
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    return has_half_pixels ? (static_cast<double>(i) + 0.5) * scale - 0.5
                           : static_cast<double>(i) * scale;
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
  const Layer &layer = l.layer();
  const int64_t method = layer.integer(ARMNN_PARAMETER(ARMNN_RESIZE_METHOD));
  const bool is_bilinear = method == ARMNN_RESIZE_METHOD_BILINEAR;
  require(is_bilinear || method == ARMNN_RESIZE_METHOD_NEAREST_NEIGHBOR,
          "only Bilinear and NearestNeighbor are computed here");
  require(is_bilinear ||
              layer.integer(ARMNN_PARAMETER(ARMNN_RESIZE_ROUNDING)) == ARMNN_RESIZE_ROUNDING_TENSORFLOW,
          "only TensorFlow's rounding is computed here");
  require(layer.real(ARMNN_PARAMETER(ARMNN_RESIZE_SCALE_WIDTH)) == 0.0 &&
              layer.real(ARMNN_PARAMETER(ARMNN_RESIZE_SCALE_HEIGHT)) == 0.0,
          "scales of their own are not computed here");
  const Order order = image_order(l);
  const Shape from = in_memory(l.input(0).shape, order);
  const Shape to = in_memory(l.output().shape, order);
  require(elements(from) > 0, "an empty image cannot be sampled", 0);
  const Grid grid{layer.integer(ARMNN_PARAMETER(ARMNN_RESIZE_ALIGN_CORNERS)) != 0,
                  layer.integer(ARMNN_PARAMETER(ARMNN_RESIZE_HALF_PIXEL_CENTERS)) != 0, is_bilinear};
  const TensorId image = l.in(0, order);
  const Sampling rows = grid.sampling(from[1], to[1]);
  const Sampling columns = grid.sampling(from[2], to[2]);
  if (!is_stored) {
    l.add<Resize>(image, l.out(0, order), rows, columns);
    return;
  }
  const Tensor &stored = l.graph()[image];
  const Quantization &made = l.output().quantization;
  const bool is_alike = stored.type == l.output().type && stored.quantization.scales == made.scales &&
                        stored.quantization.zero_points == made.zero_points;
  l.add<Int8Resize>(image, l.out(0, order), rows, columns, is_bilinear || !is_alike);
}

CPUACC_SHARED(DATA_LAYOUT, SPACE_TO_DEPTH, DEPTH_TO_SPACE);
CPUACC_SHARED(BLOCK_SIZE, SPACE_TO_DEPTH, DEPTH_TO_SPACE);

/* The axes of [N, H, y, W, x, channels of the deep form] in both forms. */
void lower_block(Lowering &l, bool is_deep_before) {
  const Value &in = l.input(0);
  const Value &out = l.output();
  require(in.type == out.type && in.quantization.scales == out.quantization.scales &&
              in.quantization.zero_points == out.quantization.zero_points && in.quantization.axis < 0,
          "input and output must have the same data type and quantisation");
  const Order order = image_order(l, ARMNN_SPACE_TO_DEPTH_DATA_LAYOUT_DEFAULT);
  const int64_t side = l.layer().integer(ARMNN_PARAMETER(ARMNN_SPACE_TO_DEPTH_BLOCK_SIZE));
  const Shape from = in_memory(in.shape, order);
  const Shape to = in_memory(out.shape, order);
  require(side > 0 && side < 65536, "block_size is out of range");
  const Shape &deep = is_deep_before ? from : to;
  const Shape &flat = is_deep_before ? to : from;
  const Shape deep_steps = strides_of(deep);
  const Shape flat_steps = strides_of(flat);
  const int64_t channels = flat[3];
  const bool is_crd = l.layer().integer(ARMNN_PARAMETER(ARMNN_DEPTH_TO_SPACE_COLUMN_ROW_DEPTH)) != 0;
  const int64_t block = is_crd ? 1 : channels; /* steps of a place in the block in the deep channels */
  const Shape shape{deep[0], deep[1], side, deep[2], side, channels};
  const Shape in_deep{deep_steps[0], deep_steps[1], side * block, deep_steps[2], block,
                      is_crd ? side * side : 1};
  const Shape in_flat{flat_steps[0], flat_steps[1] * side, flat_steps[1], flat_steps[2] * side,
                      flat_steps[2], 1};
  const CopyBox box{shape, is_deep_before ? in_deep : in_flat, is_deep_before ? in_flat : in_deep, 0, 0};
  const TensorId source = l.in(0, order);
  l.add<CopyBoxes>(std::vector<TensorId>{source}, l.out(0, order), std::vector<CopyBox>{box});
}

}  // namespace

std::vector<LayerType> resizing_layers() {
  return {
      {ARMNN_LAYER_DEPTH_TO_SPACE, [](Lowering &l) { lower_block(l, true); }},
      {ARMNN_LAYER_RESIZE, lower_resize},
      {ARMNN_LAYER_SPACE_TO_DEPTH, [](Lowering &l) { lower_block(l, false); }},
  };
}

}  // namespace cpuacc
