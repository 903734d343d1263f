/* SPDX-License-Identifier: MIT */
/* Softmax and normalisation: lines of numbers side by side. */
#include <cmath>

#include "layers/registry.h"
#include "operations/pointwise/pointwise.h"
#include "operations/reduction/scan.h"

namespace cpuacc {
namespace {

class Softmax final : public Operation {
 public:
  Softmax(TensorId from, TensorId to, float beta, bool takes_logarithm)
      : Operation({from}, {to}), beta_(beta), takes_logarithm_(takes_logarithm) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &out = setup[outputs[0]];
    length_ = out.shape.back();
    lines_ = length_ == 0 ? 0 : out.count() / length_;
    return 0;
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    float *y = frame.out<float>(outputs[0]);
    frame.pool.run(lines_, static_cast<double>(length_) * kFunctionNs, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        frame.kernels.softmax(x + i * length_, y + i * length_, length_, beta_, takes_logarithm_);
      }
    });
  }

  bool may_overwrite(size_t) const override { return true; }

 private:
  float beta_;
  bool takes_logarithm_;
  int64_t length_ = 0;
  int64_t lines_ = 0;
};

CPUACC_SHARED(AXIS, SOFTMAX, LOG_SOFTMAX);
CPUACC_SHARED(BETA, SOFTMAX, LOG_SOFTMAX);

void lower_softmax(Lowering &l, bool takes_logarithm) {
  require(!l.input(0).shape.empty(), "a scalar has no axis", 0);
  if (l.input(0).type != ARMNN_FLOAT32) return lower_other_softmax(l, takes_logarithm);
  require_floats(l);
  const int64_t axis = whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_SOFTMAX_AXIS)), l.input(0).shape.size());
  const Order order = with_last(l.order(0), axis);
  const TensorId from = l.in(0, order);
  l.add<Softmax>(from, l.out(0, order),
                 static_cast<float>(l.layer().real(ARMNN_PARAMETER(ARMNN_SOFTMAX_BETA))), takes_logarithm);
}

class Normalize final : public Operation {
 public:
  Normalize(TensorId from, TensorId gamma, TensorId beta, TensorId to, int64_t length, float eps,
            bool subtracts_mean)
      : Operation({from, gamma, beta}, {to}), length_(length), eps_(eps), subtracts_mean_(subtracts_mean) {}

  size_t prepare(const Setup &setup) override {
    lines_ = length_ == 0 ? 0 : setup[outputs[0]].count() / length_;
    return 0;
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    const float *gamma = inputs[1] == kNone ? nullptr : frame.in<float>(inputs[1]);
    const float *beta = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]);
    float *y = frame.out<float>(outputs[0]);
    frame.pool.run(lines_, static_cast<double>(3 * length_) * kElementNs, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        frame.kernels.normalize(x + i * length_, gamma, beta, y + i * length_, length_, eps_,
                                subtracts_mean_);
      }
    });
  }

  bool may_overwrite(size_t input) const override { return input == 0; }

 private:
  int64_t length_;
  float eps_;
  bool subtracts_mean_;
  int64_t lines_ = 0;
};

CPUACC_SHARED(AXIS, LAYER_NORMALIZATION, RMS_NORMALIZATION);
CPUACC_SHARED(EPS, LAYER_NORMALIZATION, RMS_NORMALIZATION);

void lower_normalize(Lowering &l, bool subtracts_mean) {
  require_floats(l);
  const Shape &shape = l.input(0).shape;
  require(!shape.empty(), "a scalar has no axis", 0);
  const int64_t given = l.layer().integer(ARMNN_PARAMETER(ARMNN_LAYER_NORMALIZATION_AXIS));
  const auto axis = static_cast<size_t>(whole_axis(given, shape.size()));
  const int64_t length = elements(shape, axis, shape.size());
  const auto factor = [&](size_t i) {
    if (!l.has_input(i)) return kNone;
    const Shape &given = l.input(i).shape;
    const size_t rank = shape.size() - axis;
    const bool fits = elements(given) == length && given.size() >= rank &&
                      Shape(given.end() - static_cast<Shape::difference_type>(rank), given.end()) ==
                          Shape(shape.begin() + static_cast<Shape::difference_type>(axis), shape.end());
    require(fits, "it must have the shape of the normalised axes", static_cast<int32_t>(i));
    return l.in(i);
  };
  const TensorId gamma = factor(1);
  const TensorId beta = subtracts_mean ? factor(2) : kNone;
  const TensorId from = l.in(0);
  l.add<Normalize>(from, gamma, beta, l.out(), length,
                   static_cast<float>(l.layer().real(ARMNN_PARAMETER(ARMNN_LAYER_NORMALIZATION_EPS))),
                   subtracts_mean);
}

/* scale * x + shift, a number of each per channel; the channels are last. */
class ScaleShift final : public Pointwise {
 public:
  ScaleShift(TensorId from, TensorId scale, TensorId shift, TensorId to)
      : Pointwise({from, scale, shift}, {to}) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &out = setup[outputs[0]];
    channels_ = out.shape.back();
    lines_ = channels_ == 0 ? 0 : out.count() / channels_;
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
    frame.pool.run(lines_, static_cast<double>(channels_) * kElementNs, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        frame.kernels.scale_shift(x + i * channels_, scale, shift, function_, y + i * channels_,
                                  channels_);
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
  int64_t lines_ = 0;
};

void lower_batch_normalization(Lowering &l) {
  require_floats(l);
  const size_t rank = l.input(0).shape.size();
  const bool is_last =
      l.layer().integer(ARMNN_PARAMETER(ARMNN_BATCH_NORMALIZATION_DATA_LAYOUT)) == ARMNN_DATA_LAYOUT_NHWC;
  const Order order = is_last ? plain_order(rank) : channels_last(rank);
  const float *mean = l.constant(1, "the mean");
  const float *variance = l.constant(2, "the variance");
  const float *beta = l.constant(3, "beta");
  const float *gamma = l.constant(4, "gamma");
  const double eps = l.layer().real(ARMNN_PARAMETER(ARMNN_BATCH_NORMALIZATION_EPS));
  const int64_t channels = elements(l.input(1).shape);
  std::vector<float> scale;
  std::vector<float> shift;
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = gamma[c] / std::sqrt(variance[c] + eps);
    scale.push_back(static_cast<float>(factor));
    shift.push_back(static_cast<float>(beta[c] - mean[c] * factor));
  }
  const TensorId from = l.in(0, order);
  const TensorId scales = l.constant_tensor({channels}, scale);
  const TensorId shifts = l.constant_tensor({channels}, shift);
  l.add<ScaleShift>(from, scales, shifts, l.out(0, order));
}

}  // namespace

std::vector<LayerType> normalization_layers() {
  return {
      {ARMNN_LAYER_BATCH_NORMALIZATION, lower_batch_normalization},
      {ARMNN_LAYER_LAYER_NORMALIZATION, [](Lowering &l) { lower_normalize(l, true); }},
      {ARMNN_LAYER_LOG_SOFTMAX, [](Lowering &l) { lower_softmax(l, true); }},
      {ARMNN_LAYER_RMS_NORMALIZATION, [](Lowering &l) { lower_normalize(l, false); }},
      {ARMNN_LAYER_SOFTMAX, [](Lowering &l) { lower_softmax(l, false); }},
  };
}

}  // namespace cpuacc
