/* SPDX-License-Identifier: MIT */
/* The two ways of a depthwise convolution of bytes: neighbours of a channel are gathered, or lines interleaved. */
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "graph/packed.h"
#include "operations/depthwise/depthwise.h"
#include "operations/quantised/quantised.h"

namespace cpuacc {

/* Those of a depthwise convolution, as numbers without their zero point. */
struct Int8DepthwiseWeights {
  const uint8_t *stored;
  const WindowSteps &steps;
  const Int8Params &params;

  int32_t at(int64_t c, int64_t row, int64_t column) const {
    const uint8_t byte = stored[c * steps.channel + row * steps.row + column * steps.column];
    const int32_t number = params.right_is_signed ? static_cast<int8_t>(byte) : byte;
    return number - params.right_zero_point;
  }
};

/* What both ways share: windows, and rows of the output as tasks. */
class Int8Depthwise : public WithInt8Epilogue {
 public:
  Int8Depthwise(const WeightedTensors &tensors, const Windows &windows, WindowSteps steps, Int8Params params)
      : WithInt8Epilogue({tensors.input, tensors.weights}, tensors.out, std::move(params)),
        windows_(column_as_row(windows)),
        steps_(steps) {
    if (windows_.window_width != windows.window_width) std::swap(steps_.row, steps_.column);
  }

 protected:
  /* The weights in the order of a kernel, which needs no others. Args: recipe: all that packing depends on but windows,
   * steps and zero point; pack(weights, memory): writes so many bytes.
   */
  template <typename Pack>
  std::shared_ptr<const void> packed(const Setup &setup, const std::string &recipe, size_t bytes, const Pack &pack) {
    const void *source = setup[std::exchange(inputs[1], kNone)].constant;
    const std::string zero_point = (params_.right_is_signed ? "int8 " : "uint8 ") + std::to_string(params_.right_zero_point);
    return setup.packed.get(source, recipe + " " + steps_.recipe(windows_) + zero_point, bytes, [&](void *memory) {
      pack(Int8DepthwiseWeights{static_cast<const uint8_t *>(source), steps_, params_}, memory);
    });
  }

  /* Into as few calls as keep the threads busy: each reads the rows at its edges on its own. Args: name: of the
   * kernel; multiply_add: what one of its products takes of those in float32; channels: that it computes; products: of a number of the output; most: outputs of a row
   * that a call computes.
   */
  void choose_pieces(const Setup &setup, const char *name, double multiply_add, int64_t channels, double products,
                     int64_t most) {
    const Windows &w = windows_;
    const int64_t outputs = w.batch * w.output_height * w.output_width;
    const auto numbers = static_cast<double>(outputs * channels);
    kernel = name;
    work = costs::Work()
               .add(costs::multiply_add, multiply_add * numbers * products)
               .add(costs::element, costs::kStoredByteElements * numbers / setup.kernels.lanes);
    const double ns = setup.machine().ns_of(work);
    const int32_t threads = setup.threads_for(ns);
    const int64_t wanted = threads == 1 ? 1 : 2 * threads;
    const int64_t pieces = std::max<int64_t>(1, ratio_up(w.output_width, most));
    piece_ = std::max<int64_t>(1, ratio_up(w.output_width, pieces));
    const int64_t others = std::max<int64_t>(1, w.batch * pieces);
    const int64_t bands = std::clamp<int64_t>(ratio_up(wanted, others), 1, std::max<int64_t>(1, w.output_height));
    band_ = std::max<int64_t>(1, ratio_up(w.output_height, bands));
    part_ns_ = ns / static_cast<double>(std::max<int64_t>(1, outputs)) * static_cast<double>(band_ * piece_);
  }

  /* Calls compute(rows, thread) for all rows, then the epilogue. Args: rows: what is the same for all of them, without
   * what is set here.
   */
  template <typename Rows, typename Compute>
  void run_bands(const Frame &frame, Rows rows, const float *scales, const Compute &compute) const {
    rows.output_step = windows_.output_width * windows_.channels;
    rows.is_signed = params_.left_is_signed;
    rows.zero_point = params_.left_zero_point;
    rows.requantization = params_.requantization(scales);
    const Int8Epilogue epilogue = epilogue_of(frame);
    for_each_band(frame, windows_, band_, piece_, part_ns_, frame.in<uint8_t>(inputs[0]), frame.out<uint8_t>(outputs[0]),
                  rows, [&](Rows &some, int32_t thread) {
                    compute(some, thread);
                    for (int64_t r = 0; r < some.count; ++r) {
                      uint8_t *row = some.output + r * some.output_step;
                      epilogue(frame.kernels.int8, row, some.output_width * windows_.channels);
                    }
                  });
  }

  Windows windows_;
  WindowSteps steps_;
  int64_t band_ = 1; /* output rows at a time */
  int64_t piece_ = 1; /* outputs of a row at a time */
  double part_ns_ = 0.0; /* a piece of a band */
};

OperationPtr int8_depthwise_of_neighbours(const WeightedTensors &tensors, const Windows &windows,
                                          const WindowSteps &steps, Int8Params params);

/* Where the level has depthwise_lines. */
OperationPtr int8_depthwise_of_lines(const WeightedTensors &tensors, const Windows &windows,
                                     const WindowSteps &steps, Int8Params params);

}  // namespace cpuacc
