/* SPDX-License-Identifier: MIT */
#include "operations/depthwise/depthwise.h"

#include <algorithm>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* One output channel per input channel; weights [window_height, window_width, C]. */
class Depthwise final : public WithEpilogue {
 public:
  Depthwise(const WeightedTensors &tensors, const Windows &windows)
      : WithEpilogue(tensors), windows_(column_as_row(windows)) {}

  size_t prepare(const Setup &setup) override {
    const int64_t rows = windows_.batch * windows_.output_height;
    const int32_t threads = setup.threads_for(outputs_ns(rows * windows_.output_width));
    const int64_t wanted = threads == 1 ? 1 : 4 * threads;
    band_ = std::clamp<int64_t>(rows / wanted / 2 * 2, 2, costs::kMostDepthwiseRows);
    piece_ = windows_.output_width;
    if (windows_.output_height == 1) {
      piece_ = std::max<int64_t>(costs::kLeastDepthwisePiece, ratio_up(piece_ * windows_.batch, wanted));
    }
    return 0;
  }

  void run(const Frame &frame) const override {
    DepthwiseRows shared{};
    shared.weights = frame.in<float>(inputs[1]);
    shared.bias = frame.in<float>(inputs[2]);
    shared.function = function_;
    const double part_ns = outputs_ns(std::min(band_, windows_.output_height) * piece_);
    for_each_band(frame, windows_, band_, piece_, part_ns, frame.in<float>(inputs[0]), frame.out<float>(outputs[0]),
                  shared, [&](const DepthwiseRows &rows, int32_t) { frame.kernels.depthwise_rows(rows); });
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

OperationPtr depthwise_convolution(const WeightedTensors &tensors, const Windows &windows) {
  return std::make_unique<Depthwise>(tensors, windows);
}

}  // namespace cpuacc
