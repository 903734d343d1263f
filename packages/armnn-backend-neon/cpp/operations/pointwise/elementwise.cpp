/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/elementwise.h"

#include "costs/costs.h"
#include "operations/pointwise/float16.h"

namespace cpuacc {
namespace {

class Apply final : public Unary {
 public:
  Apply(TensorId from, TensorId to, Elementwise function) : Unary(from, to), function_(function) {}

  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    kernels.elementwise(function_, static_cast<const float *>(operands[0]), static_cast<float *>(to), n);
  }
  double element_ns() const override { return costs::kFunctionNs; }

  Description describe() const override { return function_; }

 private:
  Elementwise function_;
};

class Combine final : public Binary {
 public:
  Combine(TensorId x, TensorId y, TensorId to, Broadcast broadcast, Arithmetic operation)
      : Binary(x, y, to, std::move(broadcast), sizeof(float)), operation_(operation) {}

  Description describe() const override { return BinaryArithmetic{operation_, broadcast_}; }

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.arithmetic(operation_, static_cast<const float *>(x), x_step, static_cast<const float *>(y),
                       y_step, static_cast<float *>(z), n);
  }

  Arithmetic operation_;
};

class Prelu final : public Binary {
 public:
  Prelu(TensorId x, TensorId y, TensorId to, Broadcast broadcast)
      : Binary(x, y, to, std::move(broadcast), sizeof(float)) {}

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.prelu(static_cast<const float *>(x), x_step, static_cast<const float *>(y), y_step,
                  static_cast<float *>(z), n);
  }
};

/* scale * x + shift, a number of each per channel; the channels are last. */
class ScaleShift final : public Pointwise {
 public:
  ScaleShift(TensorId from, TensorId scale, TensorId shift, TensorId to) : Pointwise({from, scale, shift}, {to}) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &out = setup[outputs[0]];
    channels_ = out.shape.back();
    rows_ = channels_ == 0 ? 0 : out.count() / channels_;
    return 0;
  }

  EpilogueSlots epilogue_slots() override {
    EpilogueSlots slots;
    slots.function = &function_;
    return slots;
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    const float *scale = frame.in<float>(inputs[1]);
    const float *shift = frame.in<float>(inputs[2]);
    float *y = frame.out<float>(outputs[0]);
    frame.pool.run(
        rows_, static_cast<double>(channels_) * costs::kElementNs, [&](int64_t begin, int64_t end, int32_t) {
          for (int64_t i = begin; i < end; ++i) {
            frame.kernels.scale_shift(x + i * channels_, scale, shift, function_, y + i * channels_, channels_);
          }
        });
  }

  bool may_overwrite(size_t input) const override { return input == 0; }
  std::optional<AccessPattern> access_pattern(const Graph &graph, size_t input) const override {
    const Tensor &out = graph[outputs[0]];
    if (out.shape.back() == 1) return std::nullopt; /* its kernel does not repeat a number */
    return AccessPattern{1, input == 0 ? out.count() : out.shape.back()};
  }
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    kernels.scale_shift(static_cast<const float *>(operands[0]), static_cast<const float *>(operands[1]),
                        static_cast<const float *>(operands[2]), function_, static_cast<float *>(to), n);
  }

 private:
  Elementwise function_{Function::identity, 0.0f, 0.0f};
  int64_t channels_ = 0;
  int64_t rows_ = 0;
};

}  // namespace

OperationPtr apply_function(TensorId from, TensorId to, const Elementwise &function) {
  return std::make_unique<Apply>(from, to, function);
}

OperationPtr combine(TensorId x, TensorId y, TensorId to, const Broadcast &broadcast, Arithmetic operation) {
  return std::make_unique<Combine>(x, y, to, broadcast, operation);
}

OperationPtr prelu(TensorId x, TensorId slope, TensorId to, const Broadcast &broadcast) {
  return std::make_unique<Prelu>(x, slope, to, broadcast);
}

OperationPtr scale_shift(TensorId from, TensorId scale, TensorId shift, TensorId to) {
  return std::make_unique<ScaleShift>(from, scale, shift, to);
}

}  // namespace cpuacc
