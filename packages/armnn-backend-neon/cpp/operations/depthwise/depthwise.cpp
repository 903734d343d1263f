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
    const int32_t threads = setup.threads_for(outputs_ns(rows * windows_.output_width, setup.machine()));
    const int64_t wanted = threads == 1 ? 1 : 4 * threads;
    band_ = std::clamp<int64_t>(rows / wanted / 2 * 2, 2, costs::kMostDepthwiseRows);
    piece_ = windows_.output_width;
    if (windows_.output_height == 1) {
      piece_ = std::max<int64_t>(costs::kLeastDepthwisePiece, ratio_up(piece_ * windows_.batch, wanted));
    }
    part_ns_ = outputs_ns(std::min(band_, windows_.output_height) * piece_, setup.machine());
    kernel = "depthwise";
    work = work_of(rows * windows_.output_width);
    return 0;
  }

  void run(const Frame &frame) const override {
    DepthwiseRows shared{};
    shared.weights = frame.in<float>(inputs[1]);
    shared.bias = frame.in<float>(inputs[2]);
    shared.function = function_;
    for_each_band(frame, windows_, band_, piece_, part_ns_, frame.in<float>(inputs[0]), frame.out<float>(outputs[0]),
                  shared, [&](const DepthwiseRows &rows, int32_t) { frame.kernels.depthwise_rows(rows); });
  }

 private:
  costs::Work work_of(int64_t count) const {
    const auto taps = static_cast<double>(windows_.window_height * windows_.window_width);
    const auto numbers = static_cast<double>(count * windows_.channels);
    return costs::Work().add(costs::depthwise_multiply_add, numbers * taps).add(costs::element, numbers);
  }

  double outputs_ns(int64_t count, const costs::Machine &machine) const { return machine.ns_of(work_of(count)); }

  Windows windows_;
  double part_ns_ = 0.0;
  int64_t band_ = 1; /* output rows at a time */
  int64_t piece_ = 1; /* outputs of a row at a time: all unless there is one row */
};

}  // namespace

OperationPtr depthwise_convolution(const WeightedTensors &tensors, const Windows &windows) {
  return std::make_unique<Depthwise>(tensors, windows);
}

}  // namespace cpuacc
