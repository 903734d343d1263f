/* SPDX-License-Identifier: MIT */
/* Pooling and means of 8-bit integers. */
#include "layers/registry.h"
#include "operations/quantised/int8_gemm.h"
#include "operations/reduction/reduction.h"
#include "operations/windows.h"

namespace cpuacc {
namespace {

class Int8Pooling final : public WithInt8Epilogue {
 public:
  struct Kind {
    bool takes_maximum;
    bool counts_padding;
    bool rounds_stored;
  };

  /* Args: scale: steps of the output in one of the input. */
  Int8Pooling(TensorId input, TensorId out, Windows windows, Kind kind, float scale, Int8Params params)
      : WithInt8Epilogue({input}, out, std::move(params)), windows_(windows), kind_(kind), scale_(scale) {}

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    Int8PoolingRow shared{};
    shared.takes_maximum = kind_.takes_maximum;
    shared.height = w.height;
    shared.width = w.width;
    shared.channels = w.channels;
    shared.output_width = w.output_width;
    shared.window_height = w.window_height;
    shared.window_width = w.window_width;
    shared.stride_x = w.stride_x;
    shared.dilation_x = w.dilation_x;
    shared.dilation_y = w.dilation_y;
    shared.left = -w.pad_left;
    shared.padded_bottom = w.height + w.pad_bottom;
    shared.padded_right = w.width + w.pad_right;
    shared.counts_padding = kind_.counts_padding;
    shared.rounds_stored = kind_.rounds_stored;
    shared.is_signed = params_.left_is_signed;
    shared.input_zero_point = params_.left_zero_point;
    shared.scale = scale_;
    shared.requantization = {nullptr, params_.zero_point, params_.bounds.lowest, params_.bounds.highest};
    const Int8Epilogue epilogue = epilogue_of(frame);
    const uint8_t *input = frame.in<uint8_t>(inputs[0]);
    uint8_t *output = frame.out<uint8_t>(outputs[0]);
    const double row_ns = kElementNs * static_cast<double>(w.output_width * w.channels *
                                                           w.window_height * w.window_width);
    frame.pool.run(w.batch * w.output_height, row_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        Int8PoolingRow row = shared;
        row.input = input + i / w.output_height * w.height * w.width * w.channels;
        row.output = output + i * w.output_width * w.channels;
        row.top = i % w.output_height * w.stride_y - w.pad_top;
        frame.kernels.int8.pooling_row(row);
        epilogue(frame.kernels.int8, row.output, w.output_width * w.channels);
      }
    });
  }

 private:
  Windows windows_;
  Kind kind_;
  float scale_;
};

/* Refuses windows whose sums may have more bits than a float is exact in. */
void require_few(int64_t count) { require(count < (int64_t{1} << 16), "the window is too large"); }

float scale_between(const Lowering &l) {
  return l.input(0).quantization.scales[0] / l.output().quantization.scales[0];
}

void lower_pooling(Lowering &l) {
  Int8Params params = int8_io_params_of(l);
  const Order order = image_order(l);
  const Windows windows = pooling_windows_of(l, order);
  const int64_t pooling = l.layer().integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_TYPE));
  require(pooling == ARMNN_POOLING_ALGORITHM_MAX || pooling == ARMNN_POOLING_ALGORITHM_AVERAGE,
          "this kind of pooling is not computed in integers");
  require_few(windows.window_height * windows.window_width);
  const Quantization &in = l.input(0).quantization;
  const Quantization &out = l.output().quantization;
  const bool counts_padding =
      l.layer().integer(ARMNN_PARAMETER(ARMNN_POOLING2D_PADDING_METHOD)) == ARMNN_PADDING_METHOD_IGNORE_VALUE;
  const bool is_alike = l.input(0).type == l.output().type && in.scales == out.scales &&
                        in.zero_points == out.zero_points;
  const TensorId input = l.in(0, order);
  l.add<Int8Pooling>(
      input, l.out(0, order), windows,
      Int8Pooling::Kind{pooling == ARMNN_POOLING_ALGORITHM_MAX, counts_padding, is_alike && !counts_padding},
      scale_between(l), std::move(params));
}

/* The average over a window that is a column as high as there are elements. */
void lower_mean(Lowering &l) {
  Int8Params params = int8_io_params_of(l);
  const ReducedAxes axes = reduced_axes_of(l);
  require_few(axes.count);
  Windows windows{};
  windows.batch = axes.outer;
  windows.height = windows.window_height = axes.count;
  windows.channels = axes.inner;
  windows.width = windows.window_width = windows.output_height = windows.output_width = 1;
  windows.stride_y = windows.stride_x = windows.dilation_y = windows.dilation_x = 1;
  const TensorId input = l.in(0, axes.order);
  l.add<Int8Pooling>(input, l.out(0, axes.left), windows, Int8Pooling::Kind{}, scale_between(l),
                     std::move(params));
}

}  // namespace

std::vector<LayerType> int8_pooling_layers() {
  return {{ARMNN_LAYER_MEAN, lower_mean}, {ARMNN_LAYER_POOLING2D, lower_pooling}};
}

}  // namespace cpuacc
