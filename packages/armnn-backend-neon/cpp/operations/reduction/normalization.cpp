/* SPDX-License-Identifier: MIT */
#include "operations/reduction/reduction.h"

#include <algorithm>
#include <cmath>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* What becomes of each row of numbers side by side. */
class Rows : public Operation {
 public:
  /* Args: number_ns: what one takes; length: of a row, 0 for that of the last axis. */
  Rows(std::vector<TensorId> inputs, TensorId to, double number_ns, int64_t length = 0)
      : Operation(std::move(inputs), {to}), length_(length), number_ns_(number_ns) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &out = setup[outputs[0]];
    if (length_ == 0) length_ = out.shape.back();
    rows_ = length_ == 0 ? 0 : out.count() / length_;
    return 0;
  }

  void run(const Frame &frame) const override {
    frame.pool.run(rows_, static_cast<double>(length_) * number_ns_, [&](int64_t begin, int64_t end, int32_t thread) {
      const int64_t first = begin * length_;
      compute({frame, begin, end, thread}, frame.in<float>(inputs[0]) + first, frame.out<float>(outputs[0]) + first);
    });
  }

  bool may_overwrite(size_t input) const override { return input == 0; }

 protected:
  struct Some {
    const Frame &frame;
    int64_t begin, end;
    int32_t thread;
  };
  /* Args: x, y: of the first of the rows. */
  virtual void compute(const Some &rows, const float *x, float *y) const = 0;

  int64_t length_;

 private:
  double number_ns_;
  int64_t rows_ = 0;
};

class Softmax final : public Rows {
 public:
  Softmax(Ends ends, float beta, bool takes_logarithm)
      : Rows({ends.from}, ends.to, costs::kFunctionNs), beta_(beta), takes_logarithm_(takes_logarithm) {}

 private:
  void compute(const Some &rows, const float *x, float *y) const override {
    for (int64_t i = rows.begin; i < rows.end; ++i, x += length_, y += length_) {
      rows.frame.kernels.softmax(x, y, length_, beta_, takes_logarithm_);
    }
  }

  float beta_;
  bool takes_logarithm_;
};

class Normalize final : public Rows {
 public:
  Normalize(const WeightedTensors &t, int64_t length, float eps, bool subtracts_mean)
      : Rows({t.input, t.weights, t.bias}, t.out, 3 * costs::kElementNs, length),
        eps_(eps),
        subtracts_mean_(subtracts_mean) {}

 private:
  void compute(const Some &rows, const float *x, float *y) const override {
    const float *gamma = rows.frame.in<float>(inputs[1]);
    const float *beta = rows.frame.in<float>(inputs[2]);
    for (int64_t i = rows.begin; i < rows.end; ++i, x += length_, y += length_) {
      rows.frame.kernels.normalize(x, gamma, beta, y, length_, eps_, subtracts_mean_);
    }
  }

  float eps_;
  bool subtracts_mean_;
};

/* Rows of [members, spatial], each by its own mean and variance, then each member by its factor and offset. */
class NormalizeGroups final : public Rows {
 public:
  NormalizeGroups(const WeightedTensors &t, GroupSizes sizes, float eps, float factor, float offset)
      : Rows({t.input, t.weights, t.bias}, t.out, 4 * costs::kElementNs, sizes.members * sizes.spatial),
        sizes_(sizes),
        eps_(eps),
        factor_(factor),
        offset_(offset) {}

 private:
  void compute(const Some &rows, const float *x, float *y) const override {
    const Kernels &kernels = rows.frame.kernels;
    const float *gamma = rows.frame.in<float>(inputs[1]);
    const float *beta = rows.frame.in<float>(inputs[2]);
    for (int64_t i = rows.begin; i < rows.end; ++i, x += length_) {
      kernels.normalize(x, nullptr, nullptr, y, length_, eps_, true);
      for (int64_t j = 0; j < sizes_.members; ++j, y += sizes_.spatial) {
        const int64_t channel = i % sizes_.groups * sizes_.members + j;
        const Elementwise scale{Function::linear, gamma == nullptr ? factor_ : gamma[channel],
                                beta == nullptr ? offset_ : beta[channel]};
        kernels.elementwise(scale, y, y, sizes_.spatial);
      }
    }
  }

  GroupSizes sizes_;
  float eps_;
  float factor_;
  float offset_;
};

/* Of the channels of each pixel, by their squares. */
class Pixels : public Rows {
 public:
  explicit Pixels(Ends ends) : Rows({ends.from}, ends.to, costs::kFunctionNs) {}

  size_t prepare(const Setup &setup) override {
    Rows::prepare(setup);
    return static_cast<size_t>(length_ * setup.threads) * sizeof(float);
  }

 protected:
  /* Writes y; may overwrite the squares. */
  virtual void compute_pixel(const Kernels &kernels, const float *x, float *squares, float *y) const = 0;

 private:
  void compute(const Some &rows, const float *x, float *y) const override {
    auto *squares = rows.frame.scratch_of<float>(rows.thread, static_cast<size_t>(length_) * sizeof(float));
    for (int64_t i = rows.begin; i < rows.end; ++i, x += length_, y += length_) {
      rows.frame.kernels.arithmetic(Arithmetic::multiply, x, 1, x, 1, squares, length_);
      compute_pixel(rows.frame.kernels, x, squares, y);
    }
  }
};

/* Whether float32 held the sum of squares: neither overflow nor underflow took it. */
bool is_held(float squares) { return squares >= 0x1p-100f && squares < HUGE_VALF; }

class L2Normalize final : public Pixels {
 public:
  L2Normalize(Ends ends, float eps) : Pixels(ends), eps_(eps) {}


 private:
  void compute_pixel(const Kernels &kernels, const float *x, float *squares, float *y) const override {
    const float sum = kernels.reduce_row(Reduction::sum, squares, length_);
    const float square = sum < eps_ ? eps_ : sum;
    if (!is_held(square)) return compute_in_double(x, y);
    const float factor = 1.0f / std::sqrt(square);
    kernels.elementwise({Function::linear, factor, 0.0f}, x, y, length_);
  }

  void compute_in_double(const float *x, float *y) const {
    double sum = 0.0;
    for (int64_t i = 0; i < length_; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const double root = std::sqrt(sum < static_cast<double>(eps_) ? static_cast<double>(eps_) : sum);
    for (int64_t i = 0; i < length_; ++i) y[i] = static_cast<float>(static_cast<double>(x[i]) / root);
  }

  float eps_;
};

/* x * (k + alpha * sum of the neighbours' squares)^-beta */
class LocalResponse final : public Pixels {
 public:
  LocalResponse(Ends ends, int64_t radius, float alpha, float beta, float k)
      : Pixels(ends), radius_(radius), alpha_(alpha), beta_(beta), k_(k) {}

  bool may_overwrite(size_t) const override { return false; } /* it writes sums before it has read all */

 private:
  void compute_pixel(const Kernels &kernels, const float *x, float *squares, float *y) const override {
    if (!std::isfinite(kernels.reduce_row(Reduction::sum, squares, length_))) return compute_in_double(x, y);
    std::copy(squares, squares + length_, y);
    for (int64_t away = 1; away <= std::min(radius_, length_ - 1); ++away) {
      kernels.arithmetic(Arithmetic::add, y, 1, squares + away, 1, y, length_ - away);
      kernels.arithmetic(Arithmetic::add, y + away, 1, squares, 1, y + away, length_ - away);
    }
    kernels.elementwise({Function::linear, alpha_, k_}, y, y, length_);
    if (beta_ == 0.5f) {
      kernels.elementwise({Function::rsqrt, 0.0f, 0.0f}, y, y, length_);
    } else if (beta_ == 1.0f) {
      kernels.elementwise({Function::reciprocal, 0.0f, 0.0f}, y, y, length_);
    } else {
      kernels.elementwise({Function::log, 0.0f, 0.0f}, y, y, length_);
      kernels.elementwise({Function::linear, -beta_, 0.0f}, y, y, length_);
      kernels.elementwise({Function::exp, 0.0f, 0.0f}, y, y, length_);
    }
    kernels.arithmetic(Arithmetic::multiply, x, 1, y, 1, y, length_);
  }

  void compute_in_double(const float *x, float *y) const {
    for (int64_t i = 0; i < length_; ++i) {
      double sum = 0.0;
      const int64_t last = std::min(i + radius_, length_ - 1);
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

OperationPtr softmax(Ends ends, float beta, bool takes_logarithm) {
  return std::make_unique<Softmax>(ends, beta, takes_logarithm);
}

OperationPtr normalize(const WeightedTensors &tensors, int64_t length, float eps, bool subtracts_mean) {
  return std::make_unique<Normalize>(tensors, length, eps, subtracts_mean);
}

OperationPtr normalize_groups(const WeightedTensors &tensors, const GroupSizes &sizes, float eps, float factor,
                              float offset) {
  return std::make_unique<NormalizeGroups>(tensors, sizes, eps, factor, offset);
}

OperationPtr l2_normalize(Ends ends, float eps) { return std::make_unique<L2Normalize>(ends, eps); }

OperationPtr local_response(Ends ends, int64_t radius, float alpha, float beta, float k) {
  return std::make_unique<LocalResponse>(ends, radius, alpha, beta, k);
}

}  // namespace cpuacc
