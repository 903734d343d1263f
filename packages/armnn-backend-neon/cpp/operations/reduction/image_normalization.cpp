/* SPDX-License-Identifier: MIT */
/* Normalisation of images: of groups of channels, of single ones, of each pixel. */
#include <algorithm>
#include <cmath>

#include "layers/registry.h"

namespace cpuacc {
namespace {

/* [lines, members, spatial]: each line by its own mean and variance, then each member by its factor
 * and offset.
 */
class NormalizeGroups final : public Operation {
 public:
  struct Sizes {
    int64_t lines, members, spatial;
    int64_t groups; /* lines of one item of the batch */
  };

  /* Args: gamma, beta: [groups * members]; kNone: the numbers stand for all. */
  NormalizeGroups(TensorId from, TensorId gamma, TensorId beta, TensorId to, Sizes sizes, float eps,
                  float factor, float offset)
      : Operation({from, gamma, beta}, {to}), sizes_(sizes), eps_(eps), factor_(factor), offset_(offset) {}

  void run(const Frame &frame) const override {
    const auto &[lines, members, spatial, groups] = sizes_;
    const float *x = frame.in<float>(inputs[0]);
    const float *gamma = inputs[1] == kNone ? nullptr : frame.in<float>(inputs[1]);
    const float *beta = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]);
    float *y = frame.out<float>(outputs[0]);
    const int64_t length = members * spatial;
    const double line_ns = static_cast<double>(length) * 4 * kElementNs;
    frame.pool.run(lines, line_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        float *line = y + i * length;
        frame.kernels.normalize(x + i * length, nullptr, nullptr, line, length, eps_, true);
        for (int64_t j = 0; j < members; ++j) {
          const int64_t channel = i % groups * members + j;
          const Elementwise scale{Function::linear, gamma == nullptr ? factor_ : gamma[channel],
                                  beta == nullptr ? offset_ : beta[channel]};
          frame.kernels.elementwise(scale, line + j * spatial, line + j * spatial, spatial);
        }
      }
    });
  }

  bool may_overwrite(size_t input) const override { return input == 0; }

 private:
  Sizes sizes_;
  float eps_;
  float factor_;
  float offset_;
};

CPUACC_SHARED(DATA_LAYOUT, GROUP_NORMALIZATION, INSTANCE_NORMALIZATION);
CPUACC_SHARED(DATA_LAYOUT, GROUP_NORMALIZATION, L2_NORMALIZATION);
CPUACC_SHARED(DATA_LAYOUT, GROUP_NORMALIZATION, NORMALIZATION);

bool is_channels_last(const Lowering &l) {
  return l.layer().integer(ARMNN_PARAMETER(ARMNN_GROUP_NORMALIZATION_DATA_LAYOUT)) == ARMNN_DATA_LAYOUT_NHWC;
}

/* The order in which the channels lie before the spatial axes, whatever the layer's data_layout. */
Order channels_first(const Lowering &l) {
  const size_t rank = l.input(0).shape.size();
  Order order = plain_order(rank);
  if (is_channels_last(l)) {
    order.pop_back();
    order.insert(order.begin() + 1, static_cast<int32_t>(rank - 1));
  }
  return order;
}

Order channels_behind(const Lowering &l) {
  const size_t rank = l.input(0).shape.size();
  return is_channels_last(l) ? plain_order(rank) : channels_last(rank);
}

void lower_groups(Lowering &l, int64_t groups, double eps, TensorId gamma, TensorId beta, float factor,
                  float offset) {
  const Order order = channels_first(l);
  const Shape shape = in_memory(l.input(0).shape, order);
  require(groups > 0 && shape[1] % groups == 0, "the groups do not divide the channels");
  const NormalizeGroups::Sizes sizes{elements(shape) == 0 ? 0 : shape[0] * groups, shape[1] / groups,
                                     elements(shape, 2, shape.size()), groups};
  const TensorId from = l.in(0, order);
  l.add<NormalizeGroups>(from, gamma, beta, l.out(0, order), sizes, static_cast<float>(eps), factor, offset);
}

void lower_group_normalization(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() >= 2, "the rank must be 2 or more", 0);
  const int64_t channels = in_memory(l.input(0).shape, channels_first(l))[1];
  const auto each = [&](size_t i) {
    if (!l.has_input(i)) return kNone;
    require(l.input(i).shape == Shape{channels}, "there must be a number for each channel",
            static_cast<int32_t>(i));
    return l.in(i);
  };
  const TensorId gamma = each(1);
  lower_groups(l, l.layer().integer(ARMNN_PARAMETER(ARMNN_GROUP_NORMALIZATION_NUM_GROUPS)),
               l.layer().real(ARMNN_PARAMETER(ARMNN_GROUP_NORMALIZATION_EPS)), gamma, each(2), 1.0f, 0.0f);
}

void lower_instance_normalization(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() == 4, "the rank must be 4", 0);
  const Layer &layer = l.layer();
  const int64_t channels = in_memory(l.input(0).shape, channels_first(l))[1];
  lower_groups(l, std::max<int64_t>(channels, 1), layer.real(ARMNN_PARAMETER(ARMNN_INSTANCE_NORMALIZATION_EPS)),
               kNone, kNone, static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_INSTANCE_NORMALIZATION_GAMMA))),
               static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_INSTANCE_NORMALIZATION_BETA))));
}

/* What becomes of the channels of each pixel, side by side in memory. */
class Pixels : public Operation {
 public:
  Pixels(TensorId from, TensorId to) : Operation({from}, {to}) {}

  size_t prepare(const Setup &setup) override {
    channels_ = setup[outputs[0]].shape.back();
    pixels_ = channels_ == 0 ? 0 : setup[outputs[0]].count() / channels_;
    return static_cast<size_t>(channels_ * setup.threads) * sizeof(float);
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    float *y = frame.out<float>(outputs[0]);
    const double pixel_ns = static_cast<double>(channels_) * kFunctionNs;
    frame.pool.run(pixels_, pixel_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      float *squares = reinterpret_cast<float *>(frame.scratch()) + channels_ * thread;
      for (int64_t i = begin; i < end; ++i) {
        const float *pixel = x + i * channels_;
        frame.kernels.arithmetic(Arithmetic::multiply, pixel, 1, pixel, 1, squares, channels_);
        compute(frame.kernels, pixel, squares, y + i * channels_);
      }
    });
  }

 protected:
  /* Writes y; may overwrite the squares. */
  virtual void compute(const Kernels &kernels, const float *x, float *squares, float *y) const = 0;

  int64_t channels_ = 0;

 private:
  int64_t pixels_ = 0;
};

/* Whether float32 held the sum of squares: neither overflow nor underflow took it. */
bool is_held(float squares) { return squares >= 0x1p-100f && squares < HUGE_VALF; }

class L2Normalize final : public Pixels {
 public:
  L2Normalize(TensorId from, TensorId to, float eps) : Pixels(from, to), eps_(eps) {}

  bool may_overwrite(size_t input) const override { return input == 0; }

 private:
  void compute(const Kernels &kernels, const float *x, float *squares, float *y) const override {
    const float sum = kernels.reduce_row(Reduction::sum, squares, channels_);
    const float square = sum < eps_ ? eps_ : sum;
    if (!is_held(square)) return compute_in_double(x, y);
    const float factor = 1.0f / std::sqrt(square);
    kernels.elementwise({Function::linear, factor, 0.0f}, x, y, channels_);
  }

  void compute_in_double(const float *x, float *y) const {
    double sum = 0.0;
    for (int64_t i = 0; i < channels_; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const double root = std::sqrt(sum < static_cast<double>(eps_) ? static_cast<double>(eps_) : sum);
    for (int64_t i = 0; i < channels_; ++i) y[i] = static_cast<float>(static_cast<double>(x[i]) / root);
  }

  float eps_;
};

void lower_l2_normalization(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() >= 2, "the rank must be 2 or more", 0);
  const Order order = channels_behind(l);
  const TensorId from = l.in(0, order);
  l.add<L2Normalize>(from, l.out(0, order),
                     static_cast<float>(l.layer().real(ARMNN_PARAMETER(ARMNN_L2_NORMALIZATION_EPS))));
}

/* x * (k + alpha * sum of the neighbours' squares)^-beta */
class LocalResponse final : public Pixels {
 public:
  LocalResponse(TensorId from, TensorId to, int64_t radius, float alpha, float beta, float k)
      : Pixels(from, to), radius_(radius), alpha_(alpha), beta_(beta), k_(k) {}

 private:
  void compute(const Kernels &kernels, const float *x, float *squares, float *y) const override {
    if (!std::isfinite(kernels.reduce_row(Reduction::sum, squares, channels_))) return compute_in_double(x, y);
    std::copy(squares, squares + channels_, y);
    for (int64_t away = 1; away <= std::min(radius_, channels_ - 1); ++away) {
      kernels.arithmetic(Arithmetic::add, y, 1, squares + away, 1, y, channels_ - away);
      kernels.arithmetic(Arithmetic::add, y + away, 1, squares, 1, y + away, channels_ - away);
    }
    kernels.elementwise({Function::linear, alpha_, k_}, y, y, channels_);
    if (beta_ == 0.5f) {
      kernels.elementwise({Function::rsqrt, 0.0f, 0.0f}, y, y, channels_);
    } else if (beta_ == 1.0f) {
      kernels.elementwise({Function::reciprocal, 0.0f, 0.0f}, y, y, channels_);
    } else {
      kernels.elementwise({Function::log, 0.0f, 0.0f}, y, y, channels_);
      kernels.elementwise({Function::linear, -beta_, 0.0f}, y, y, channels_);
      kernels.elementwise({Function::exp, 0.0f, 0.0f}, y, y, channels_);
    }
    kernels.arithmetic(Arithmetic::multiply, x, 1, y, 1, y, channels_);
  }

  void compute_in_double(const float *x, float *y) const {
    for (int64_t i = 0; i < channels_; ++i) {
      double sum = 0.0;
      const int64_t last = std::min(i + radius_, channels_ - 1);
      for (int64_t j = std::max<int64_t>(i - radius_, 0); j <= last; ++j) {
        sum += static_cast<double>(x[j]) * static_cast<double>(x[j]);
      }
      const double scale = static_cast<double>(k_) + static_cast<double>(alpha_) * sum;
      y[i] = static_cast<float>(static_cast<double>(x[i]) * std::pow(scale, -static_cast<double>(beta_)));
    }
  }

  int64_t radius_;
  float alpha_;
  float beta_;
  float k_;
};

void lower_local_response(Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() == 4, "the rank must be 4", 0);
  const Layer &layer = l.layer();
  require(layer.integer(ARMNN_PARAMETER(ARMNN_NORMALIZATION_NORM_CHANNEL_TYPE)) ==
              ARMNN_NORMALIZATION_ALGORITHM_CHANNEL_ACROSS,
          "only neighbouring channels are computed here");
  const int64_t size = layer.integer(ARMNN_PARAMETER(ARMNN_NORMALIZATION_NORM_SIZE));
  require(size >= 0, "norm_size must not be negative");
  const Order order = channels_behind(l);
  const TensorId from = l.in(0, order);
  l.add<LocalResponse>(from, l.out(0, order), size / 2,
                       static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_NORMALIZATION_ALPHA))),
                       static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_NORMALIZATION_BETA))),
                       static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_NORMALIZATION_K))));
}

}  // namespace

std::vector<LayerType> image_normalization_layers() {
  return {
      {ARMNN_LAYER_GROUP_NORMALIZATION, lower_group_normalization},
      {ARMNN_LAYER_INSTANCE_NORMALIZATION, lower_instance_normalization},
      {ARMNN_LAYER_L2_NORMALIZATION, lower_l2_normalization},
      {ARMNN_LAYER_NORMALIZATION, lower_local_response},
  };
}

}  // namespace cpuacc
