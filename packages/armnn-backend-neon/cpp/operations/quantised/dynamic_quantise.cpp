/* SPDX-License-Identifier: MIT */
#include "operations/quantised/quantised.h"

#include <algorithm>
#include <cmath>

#include "costs/costs.h"

namespace cpuacc {
namespace {

class DynamicQuantize final : public Operation {
 public:
  DynamicQuantize(TensorId from, TensorId steps, TensorId scale, TensorId zero_point)
      : Operation({from}, {steps, scale, zero_point}) {}

  size_t prepare(const Setup &setup) override {
    count_ = setup[inputs[0]].count();
    pieces_ = ratio_up(count_, costs::kChunkElements);
    return static_cast<size_t>(2 * pieces_) * sizeof(float);
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    auto *extremes = reinterpret_cast<float *>(frame.scratch()); /* of each piece */
    const auto length = [&](int64_t piece) {
      return std::min(costs::kChunkElements, count_ - piece * costs::kChunkElements);
    };
    const double piece_ns = costs::kChunkElements * frame.element_ns();
    frame.for_each(pieces_, piece_ns, [&](int64_t i, int32_t) {
      const float *part = x + i * costs::kChunkElements;
      float *pair = extremes + 2 * i;
      const Extremes found = frame.kernels.extremes(part, length(i));
      pair[0] = found.least;
      pair[1] = found.largest;
      if (!found.are_finite) find_finite(part, length(i), pair);
    });
    float lowest = 0.0f;
    float highest = 0.0f;
    for (int64_t i = 0; i < pieces_; ++i) {
      lowest = std::min(lowest, extremes[2 * i]);
      highest = std::max(highest, extremes[2 * i + 1]);
    }
    const float difference = highest - lowest;
    const float range = std::isfinite(difference)
                            ? difference / 255.0f
                            : static_cast<float>((static_cast<double>(highest) - static_cast<double>(lowest)) / 255.0);
    const float scale = range > 0.0f ? range : 1.0f;
    const float zero = std::nearbyint(-lowest / scale);
    const int32_t zero_point = zero > 0.0f ? static_cast<int32_t>(std::min(zero, 255.0f)) : 0;
    *frame.out<float>(outputs[1]) = scale;
    *frame.out<uint8_t>(outputs[2]) = static_cast<uint8_t>(zero_point);
    auto *steps = frame.out<uint8_t>(outputs[0]);
    frame.for_each(pieces_, piece_ns, [&](int64_t i, int32_t) {
      const int64_t first = i * costs::kChunkElements;
      frame.kernels.quantize_to_even(x + first, steps + first, length(i), scale, zero_point);
    });
  }

 private:
  /* The least and the largest of those that are finite; the others do not widen the steps. */
  static void find_finite(const float *x, int64_t n, float *pair) {
    pair[0] = pair[1] = 0.0f;
    for (int64_t i = 0; i < n; ++i) {
      if (!std::isfinite(x[i])) continue;
      pair[0] = std::min(pair[0], x[i]);
      pair[1] = std::max(pair[1], x[i]);
    }
  }

  int64_t count_ = 0;
  int64_t pieces_ = 0;
};

}  // namespace

OperationPtr dynamic_quantise(TensorId from, TensorId steps, TensorId scale, TensorId zero_point) {
  return std::make_unique<DynamicQuantize>(from, steps, scale, zero_point);
}

}  // namespace cpuacc
