/* SPDX-License-Identifier: MIT */
/* Pooling over sliding windows. */
#include "layers/registry.h"
#include "operations/windows.h"

namespace cpuacc {
namespace {

class Pooling2d final : public Operation {
 public:
  Pooling2d(TensorId input, TensorId out, Windows windows, Pooling pooling, bool counts_padding)
      : Operation({input}, {out}), windows_(windows), pooling_(pooling), counts_padding_(counts_padding) {}

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    PoolingRow shared{};
    shared.pooling = pooling_;
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
    shared.counts_padding = counts_padding_;
    const float *input = frame.in<float>(inputs[0]);
    float *output = frame.out<float>(outputs[0]);
    const int64_t row_size = w.output_width * w.channels * w.window_height * w.window_width;
    const double row_ns = static_cast<double>(row_size) * kElementNs;
    frame.pool.run(w.batch * w.output_height, row_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        PoolingRow row = shared;
        row.input = input + i / w.output_height * w.height * w.width * w.channels;
        row.output = output + i * w.output_width * w.channels;
        row.top = i % w.output_height * w.stride_y - w.pad_top;
        frame.kernels.pooling_row(row);
      }
    });
  }

 private:
  Windows windows_;
  Pooling pooling_;
  bool counts_padding_;
};

Pooling pooling_of(int64_t number) {
  switch (number) {
    case ARMNN_POOLING_ALGORITHM_MAX: return Pooling::maximum;
    case ARMNN_POOLING_ALGORITHM_AVERAGE: return Pooling::average;
    case ARMNN_POOLING_ALGORITHM_L2: return Pooling::l2;
    default: throw Refusal{"this kind of pooling is not computed here"};
  }
}

void lower_pooling(Lowering &l) {
  require_floats(l);
  const Order order = image_order(l);
  const Windows windows = pooling_windows_of(l, order);
  const Pooling pooling = pooling_of(l.layer().integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_TYPE)));
  const TensorId input = l.in(0, order);
  const bool counts_padding =
      l.layer().integer(ARMNN_PARAMETER(ARMNN_POOLING2D_PADDING_METHOD)) == ARMNN_PADDING_METHOD_IGNORE_VALUE;
  l.add<Pooling2d>(input, l.out(0, order), windows, pooling, counts_padding);
}

}  // namespace

std::vector<LayerType> pooling_layers() { return {{ARMNN_LAYER_POOLING2D, lower_pooling}}; }

}  // namespace cpuacc
