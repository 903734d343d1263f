/* SPDX-License-Identifier: MIT */
#include "operations/reduction/reduction.h"

namespace cpuacc {
namespace {

class Pooling2d final : public Operation {
 public:
  Pooling2d(Ends ends, const Windows &windows, Pooling pooling, bool counts_padding)
      : Operation(ends), windows_(windows), pooling_(pooling), counts_padding_(counts_padding) {}

  void run(const Frame &frame) const override {
    PoolingRow shared{};
    static_cast<PoolingShape &>(shared) = pooling_shape(windows_, counts_padding_);
    shared.pooling = pooling_;
    for_each_pooling_row(frame, windows_, frame.in<float>(inputs[0]), frame.out<float>(outputs[0]), shared,
                         [&](const PoolingRow &row) { frame.kernels.pooling_row(row); });
  }

 private:
  Windows windows_;
  Pooling pooling_;
  bool counts_padding_;
};

}  // namespace

PoolingShape pooling_shape(const Windows &w, bool counts_padding) {
  return {w.height,      w.width,      w.channels,   w.output_width, w.window_height,         w.window_width,
          w.stride_x,    w.dilation_x, w.dilation_y, -w.pad_left,    w.height + w.pad_bottom, w.width + w.pad_right,
          counts_padding};
}

OperationPtr pool(Ends ends, const Windows &windows, Pooling pooling, bool counts_padding) {
  return std::make_unique<Pooling2d>(ends, windows, pooling, counts_padding);
}

}  // namespace cpuacc
