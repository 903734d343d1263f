/* SPDX-License-Identifier: MIT */
#include "operations/reduction/reduction.h"

#include <algorithm>
#include <cmath>

#include "costs/costs.h"

namespace cpuacc {
namespace {

class Softmax final : public Operation {
 public:
  Softmax(TensorId from, TensorId to, float beta, bool takes_logarithm)
      : Operation({from}, {to}), beta_(beta), takes_logarithm_(takes_logarithm) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &out = setup[outputs[0]];
    length_ = out.shape.back();
    rows_ = length_ == 0 ? 0 : out.count() / length_;
    return 0;
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    float *y = frame.out<float>(outputs[0]);
    frame.pool.run(rows_, static_cast<double>(length_) * costs::kFunctionNs,
                   [&](int64_t begin, int64_t end, int32_t) {
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
  int64_t rows_ = 0;
};

class Normalize final : public Operation {
 public:
  Normalize(TensorId from, TensorId gamma, TensorId beta, TensorId to, int64_t length, float eps,
            bool subtracts_mean)
      : Operation({from, gamma, beta}, {to}), length_(length), eps_(eps), subtracts_mean_(subtracts_mean) {}

  size_t prepare(const Setup &setup) override {
    rows_ = length_ == 0 ? 0 : setup[outputs[0]].count() / length_;
    return 0;
  }

  void run(const Frame &frame) const override {
    const float *x = frame.in<float>(inputs[0]);
    const float *gamma = inputs[1] == kNone ? nullptr : frame.in<float>(inputs[1]);
    const float *beta = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]);
    float *y = frame.out<float>(outputs[0]);
    frame.pool.run(
        rows_, static_cast<double>(3 * length_) * costs::kElementNs, [&](int64_t begin, int64_t end, int32_t) {
          for (int64_t i = begin; i < end; ++i) {
            frame.kernels.normalize(x + i * length_, gamma, beta, y + i * length_, length_, eps_, subtracts_mean_);
          }
        });
  }

  bool may_overwrite(size_t input) const override { return input == 0; }

 private:
  int64_t length_;
  float eps_;
  bool subtracts_mean_;
  int64_t rows_ = 0;
};

}  // namespace

OperationPtr softmax(TensorId from, TensorId to, float beta, bool takes_logarithm) {
  return std::make_unique<Softmax>(from, to, beta, takes_logarithm);
}

OperationPtr normalize(TensorId from, TensorId gamma, TensorId beta, TensorId to, int64_t length, float eps,
                       bool subtracts_mean) {
  return std::make_unique<Normalize>(from, gamma, beta, to, length, eps, subtracts_mean);
}

namespace {

/* [rows, members, spatial]: each row by its own mean and variance, then each member by its factor
 * and offset.
 */
class NormalizeGroups final : public Operation {
 public:
  /* Args: gamma, beta: [groups * members]; kNone: factor and offset are those of all. */
  NormalizeGroups(TensorId from, TensorId gamma, TensorId beta, TensorId to, GroupSizes sizes, float eps,
                  float factor, float offset)
      : Operation({from, gamma, beta}, {to}), sizes_(sizes), eps_(eps), factor_(factor), offset_(offset) {}

  void run(const Frame &frame) const override {
    const auto &[rows, members, spatial, groups] = sizes_;
    const float *x = frame.in<float>(inputs[0]);
    const float *gamma = inputs[1] == kNone ? nullptr : frame.in<float>(inputs[1]);
    const float *beta = inputs[2] == kNone ? nullptr : frame.in<float>(inputs[2]);
    float *y = frame.out<float>(outputs[0]);
    const int64_t length = members * spatial;
    const double row_ns = static_cast<double>(length) * 4 * costs::kElementNs;
    frame.pool.run(rows, row_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        float *row = y + i * length;
        frame.kernels.normalize(x + i * length, nullptr, nullptr, row, length, eps_, true);
        for (int64_t j = 0; j < members; ++j) {
          const int64_t channel = i % groups * members + j;
          const Elementwise scale{Function::linear, gamma == nullptr ? factor_ : gamma[channel],
                                  beta == nullptr ? offset_ : beta[channel]};
          frame.kernels.elementwise(scale, row + j * spatial, row + j * spatial, spatial);
        }
      }
    });
  }

  bool may_overwrite(size_t input) const override { return input == 0; }

 private:
  GroupSizes sizes_;
  float eps_;
  float factor_;
  float offset_;
};

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
    const double pixel_ns = static_cast<double>(channels_) * costs::kFunctionNs;
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

}  // namespace

OperationPtr normalize_groups(TensorId from, TensorId gamma, TensorId beta, TensorId to, const GroupSizes &sizes,
                              float eps, float factor, float offset) {
  return std::make_unique<NormalizeGroups>(from, gamma, beta, to, sizes, eps, factor, offset);
}

OperationPtr l2_normalize(TensorId from, TensorId to, float eps) {
  return std::make_unique<L2Normalize>(from, to, eps);
}

OperationPtr local_response(TensorId from, TensorId to, int64_t radius, float alpha, float beta, float k) {
  return std::make_unique<LocalResponse>(from, to, radius, alpha, beta, k);
}

}  // namespace cpuacc
