/* SPDX-License-Identifier: MIT */
/* Depthwise convolution in floats: tasks of output rows. */
#include "operations/depthwise/depthwise.h"

#include <algorithm>
#include <utility>

#include "costs/costs.h"
#include "graph/packed.h"

namespace cpuacc {
namespace {

/* One output channel per input channel; kernels read weights [window_height, window_width, C]. */
class Depthwise final : public WithEpilogue {
 public:
  Depthwise(const WeightedTensors &tensors, const Windows &windows, const WindowSteps &steps)
      : WithEpilogue(tensors), windows_(column_as_row(windows)), steps_(steps) {
    if (windows_.window_width != windows.window_width) std::swap(steps_.row, steps_.column);
  }

  bool can_read_bfloat16(const Kernels &, size_t input) const override { return input == 0; }
  bool can_store_bfloat16(const Kernels &) const override { return true; }

  size_t prepare(const Setup &setup) override {
    is_image_bfloat16_ = setup.is_bfloat16(inputs[0]);
    note_storage(setup);
    pack_constant(setup);
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
    if (is_image_bfloat16_) return run_by(frame, frame.kernels.depthwise_rows_of_bfloat16);
    run_by(frame, frame.kernels.depthwise_rows);
  }

 private:
  template <typename In>
  void run_by(const Frame &frame, void (*kernel)(const DepthwiseRowsOf<In> &)) const {
    DepthwiseRowsOf<In> shared{};
    shared.weights = packed_ == nullptr ? frame.in<float>(inputs[1]) : static_cast<const float *>(packed_.get());
    shared.bias = frame.in<float>(inputs[2]);
    shared.function = function_;
    for_each_band(frame, windows_, band_, piece_, part_ns_, frame.in<In>(inputs[0]), stored(frame),
                  shared, [&](const DepthwiseRowsOf<In> &rows, int32_t) { kernel(rows); });
  }

  void pack_constant(const Setup &setup) {
    const Tensor &weights = setup[inputs[1]];
    if (weights.constant == nullptr) return;
    packed_ = setup.packed.get(weights.source(), weights.recipe("depthwise " + steps_.recipe(windows_)), weights.bytes(),
                               [&](void *memory) { pack(weights.read<float>(), static_cast<float *>(memory)); });
    inputs[1] = kNone;
  }

  void pack(const float *weights, float *packed) const {
    for (int64_t i = 0; i < windows_.window_height; ++i) {
      for (int64_t j = 0; j < windows_.window_width; ++j) {
        const float *tap = weights + i * steps_.row + j * steps_.column;
        for (int64_t c = 0; c < windows_.channels; ++c) *packed++ = tap[c * steps_.channel];
      }
    }
  }

  costs::Work work_of(int64_t count) const {
    const auto taps = static_cast<double>(windows_.window_height * windows_.window_width);
    const auto numbers = static_cast<double>(count * windows_.channels);
    return costs::Work().add(costs::multiply_add, costs::kDepthwiseMultiplyAdd * numbers * taps).add(costs::element, numbers);
  }

  double outputs_ns(int64_t count, const costs::Machine &machine) const { return machine.ns_of(work_of(count)); }

  Windows windows_;
  WindowSteps steps_;
  std::shared_ptr<const void> packed_;
  bool is_image_bfloat16_ = false;
  double part_ns_ = 0.0;
  int64_t band_ = 1; /* output rows at a time */
  int64_t piece_ = 1; /* outputs of a row at a time: all unless there is one row */
};

}  // namespace

std::string WindowSteps::recipe(const Windows &windows) const {
  std::string text;
  for (const int64_t number : {windows.window_height, windows.window_width, windows.channels, channel, row, column}) {
    text += std::to_string(number) + " ";
  }
  return text;
}

OperationPtr depthwise_convolution(const WeightedTensors &tensors, const Windows &windows, const WindowSteps &steps) {
  return std::make_unique<Depthwise>(tensors, windows, steps);
}

}  // namespace cpuacc
