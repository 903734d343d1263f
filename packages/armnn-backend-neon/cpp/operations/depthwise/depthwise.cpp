/* SPDX-License-Identifier: MIT */
#include "operations/depthwise/depthwise.h"

#include <algorithm>

#include "costs/costs.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {
namespace {

/* One output channel per input channel; weights [window_height, window_width, C]. */
class Depthwise final : public WithEpilogue {
 public:
  Depthwise(TensorId input, TensorId weights, TensorId bias, TensorId out, const Windows &windows)
      : WithEpilogue({input, weights, bias}, {out}), windows_(column_as_row(windows)) {}

  size_t prepare(const Setup &setup) override {
    const int64_t rows = windows_.batch * windows_.output_height;
    const int32_t threads = setup.threads_for(outputs_ns(rows * windows_.output_width));
    const int64_t wanted = threads == 1 ? 1 : 4 * threads;
    band_ = std::clamp<int64_t>(rows / wanted / 2 * 2, 2, costs::kMostDepthwiseRows);
    piece_ = windows_.output_width;
    if (windows_.output_height == 1) {
      piece_ = std::max<int64_t>(costs::kLeastDepthwisePiece, (piece_ * windows_.batch + wanted - 1) / wanted);
    }
    return 0;
  }

  void run(const Frame &frame) const override {
    const Windows &w = windows_;
    DepthwiseRows shared{};
    shared.weights = frame.in<float>(inputs[1]);
    shared.bias = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]);
    static_cast<DepthwiseShape &>(shared) = depthwise_shape(w);
    shared.function = function_;
    const float *input = frame.in<float>(inputs[0]);
    float *output = frame.out<float>(outputs[0]);
    const int64_t bands = (w.output_height + band_ - 1) / band_;
    const int64_t pieces = (w.output_width + piece_ - 1) / piece_;
    const double part_ns = outputs_ns(std::min(band_, w.output_height) * piece_);
    frame.pool.run(w.batch * bands * pieces, part_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / pieces / bands;
        const int64_t first = i / pieces % bands * band_;
        const int64_t x = i % pieces * piece_;
        DepthwiseRows rows = shared;
        rows.count = std::min(band_, w.output_height - first);
        rows.output_width = std::min(piece_, w.output_width - x);
        rows.input = input + image * w.height * w.width * w.channels;
        rows.output = output + ((image * w.output_height + first) * w.output_width + x) * w.channels;
        rows.top = first * w.stride_y - w.pad_top;
        rows.left = x * w.stride_x - w.pad_left;
        frame.kernels.depthwise_rows(rows);
      }
    });
  }

 private:
  double outputs_ns(int64_t count) const {
    const auto taps = static_cast<double>(windows_.window_height * windows_.window_width);
    return static_cast<double>(count * windows_.channels) * (taps * costs::kMultiplyAddNs + costs::kStoredNs);
  }

  Windows windows_;
  int64_t band_ = 1; /* output rows at a time */
  int64_t piece_ = 1; /* outputs of a row at a time: all unless there is one row */
};

}  // namespace

OperationPtr depthwise_convolution(TensorId input, TensorId weights, TensorId bias, TensorId out,
                                   const Windows &windows) {
  return std::make_unique<Depthwise>(input, weights, bias, out, windows);
}

}  // namespace cpuacc
