/* SPDX-License-Identifier: MIT */
/* Softmax, normalization of rows and channels, local response. */
#include "operations/reduction/reduction.h"

#include <algorithm>
#include <cmath>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* The base of operations on each row of numbers side by side. */
class Rows : public Operation {
 public:
  /* Args: elements: the time of a number, in times of costs::element; length: of a row, 0 for that of the last axis. */
  Rows(std::vector<TensorId> inputs, TensorId to, double elements, int64_t length = 0)
      : Operation(std::move(inputs), {to}), length_(length), elements_(elements) {}

  size_t prepare(const Setup &setup) override {
    const Tensor &out = setup[outputs[0]];
    if (length_ == 0) length_ = out.shape.back();
    rows_ = length_ == 0 ? 0 : out.count() / length_;
    return 0;
  }

  void run(const Frame &frame) const override {
    const double row_ns = static_cast<double>(length_) * elements_ * frame.element_ns();
    frame.pool.run(rows_, row_ns, [&](int64_t begin, int64_t end, int32_t thread) {
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
  double elements_;
  int64_t rows_ = 0;
};

class Softmax final : public Rows {
 public:
  Softmax(Io io, float beta, bool takes_logarithm)
      : Rows({io.from}, io.to, costs::kFunctionElements), beta_(beta), takes_logarithm_(takes_logarithm) {}

 private:
  void compute(const Some &rows, const float *x, float *y) const override {
    rows.frame.kernels.softmax(x, y, rows.end - rows.begin, length_, beta_, takes_logarithm_);
  }

  float beta_;
  bool takes_logarithm_;
};

class Normalize final : public Rows {
 public:
  Normalize(const WeightedTensors &t, int64_t length, float eps, bool subtracts_mean)
      : Rows({t.input, t.weights, t.bias}, t.out, 3 * costs::kOneElement, length),
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
      : Rows({t.input, t.weights, t.bias}, t.out, 4 * costs::kOneElement, sizes.members * sizes.spatial),
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

/* Normalization of the channels of each pixel by their squares. */
class Pixels : public Rows {
 public:
  explicit Pixels(Io io) : Rows({io.from}, io.to, costs::kFunctionElements) {}

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
  L2Normalize(Io io, float eps) : Pixels(io), eps_(eps) {}


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

/* y = sums and those of the places at most radius steps away. */
void add_neighbors(const Kernels &kernels, const float *sums, float *y, int64_t length, int64_t step, int64_t radius) {
  std::copy(sums, sums + length, y);
  for (int64_t away = step; away <= radius * step && away < length; away += step) {
    kernels.arithmetic(Arithmetic::add, y, 1, sums + away, 1, y, length - away);
    kernels.arithmetic(Arithmetic::add, y + away, 1, sums, 1, y + away, length - away);
  }
}

/* The numbers times the response to the sums that y holds. */
void respond(const Kernels &kernels, const LocalResponseRule &rule, const float *x, float *y, int64_t n) {
  kernels.elementwise({Function::linear, rule.alpha, rule.k}, y, y, n);
  if (rule.beta == 0.5f) {
    kernels.elementwise({Function::rsqrt, 0.0f, 0.0f}, y, y, n);
  } else if (rule.beta == 1.0f) {
    kernels.elementwise({Function::reciprocal, 0.0f, 0.0f}, y, y, n);
  } else {
    kernels.elementwise({Function::log, 0.0f, 0.0f}, y, y, n);
    kernels.elementwise({Function::linear, -rule.beta, 0.0f}, y, y, n);
    kernels.elementwise({Function::exp, 0.0f, 0.0f}, y, y, n);
  }
  kernels.arithmetic(Arithmetic::multiply, x, 1, y, 1, y, n);
}

float respond_in_double(const LocalResponseRule &rule, float x, double sum) {
  const double scale = static_cast<double>(rule.k) + static_cast<double>(rule.alpha) * sum;
  return static_cast<float>(static_cast<double>(x) * std::pow(scale, -static_cast<double>(rule.beta)));
}

double square_in_double(float x) { return static_cast<double>(x) * static_cast<double>(x); }

class LocalResponse final : public Pixels {
 public:
  LocalResponse(Io io, const LocalResponseRule &rule) : Pixels(io), rule_(rule) {}

  bool may_overwrite(size_t) const override { return false; } /* sums are written before all is read */

 private:
  void compute_pixel(const Kernels &kernels, const float *x, float *squares, float *y) const override {
    if (!std::isfinite(kernels.reduce_row(Reduction::sum, squares, length_))) return compute_in_double(x, y);
    add_neighbors(kernels, squares, y, length_, 1, rule_.radius);
    respond(kernels, rule_, x, y, length_);
  }

  void compute_in_double(const float *x, float *y) const {
    for (int64_t i = 0; i < length_; ++i) {
      double sum = 0.0;
      const int64_t last = std::min(i + rule_.radius, length_ - 1);
      for (int64_t j = std::max<int64_t>(i - rule_.radius, 0); j <= last; ++j) sum += square_in_double(x[j]);
      y[i] = respond_in_double(rule_, x[i], sum);
    }
  }

  LocalResponseRule rule_;
};

/* Local response normalization over neighboring pixels of a channel; the channels are last. */
class SpatialResponse final : public Operation {
 public:
  SpatialResponse(Io io, const Shape &image, const LocalResponseRule &rule)
      : Operation(io),
        rows_(image[0] * image[1]),
        height_(image[1]),
        channels_(image[3]),
        length_(image[2] * image[3]),
        rule_(rule) {}

  size_t prepare(const Setup &setup) override { return row_bytes() * static_cast<size_t>(setup.threads); }

  void run(const Frame &frame) const override {
    const auto lines = static_cast<double>(4 * rule_.radius + 2);
    const double row_ns = static_cast<double>(length_) * (lines + costs::kFunctionElements) * frame.element_ns();
    frame.for_each(rows_, row_ns, [&](int64_t i, int32_t thread) {
      compute_row(frame, i, frame.scratch_of<float>(thread, row_bytes()));
    });
  }

 private:
  size_t row_bytes() const { return aligned_bytes(static_cast<size_t>(length_) * sizeof(float)); }

  void compute_row(const Frame &frame, int64_t row, float *sums) const {
    const Kernels &kernels = frame.kernels;
    const int64_t y = row % height_;
    const int64_t above = std::min(rule_.radius, y);
    const int64_t below = std::min(rule_.radius, height_ - 1 - y);
    const float *from = frame.in<float>(inputs[0]) + row * length_;
    float *to = frame.out<float>(outputs[0]) + row * length_;
    std::fill_n(sums, length_, 0.0f);
    for (int64_t away = -above; away <= below; ++away) {
      const float *line = from + away * length_;
      kernels.multiply_add(line, line, sums, length_);
    }
    add_neighbors(kernels, sums, to, length_, channels_, rule_.radius);
    if (std::isfinite(kernels.reduce_row(Reduction::sum, to, length_))) return respond(kernels, rule_, from, to, length_);
    for (int64_t i = 0; i < length_; ++i) to[i] = respond_in_double(rule_, from[i], sum_in_double(from, i, above, below));
  }

  double sum_in_double(const float *row, int64_t place, int64_t above, int64_t below) const {
    double sum = 0.0;
    for (int64_t away = -rule_.radius; away <= rule_.radius; ++away) {
      const int64_t i = place + away * channels_;
      if (i < 0 || i >= length_) continue;
      for (int64_t line = -above; line <= below; ++line) sum += square_in_double(row[line * length_ + i]);
    }
    return sum;
  }

  int64_t rows_, height_, channels_, length_;
  LocalResponseRule rule_;
};

}  // namespace

OperationPtr softmax(Io io, float beta, bool takes_logarithm) {
  return std::make_unique<Softmax>(io, beta, takes_logarithm);
}

OperationPtr normalize(const WeightedTensors &tensors, int64_t length, float eps, bool subtracts_mean) {
  return std::make_unique<Normalize>(tensors, length, eps, subtracts_mean);
}

OperationPtr normalize_groups(const WeightedTensors &tensors, const GroupSizes &sizes, float eps, float factor,
                              float offset) {
  return std::make_unique<NormalizeGroups>(tensors, sizes, eps, factor, offset);
}

OperationPtr l2_normalize(Io io, float eps) { return std::make_unique<L2Normalize>(io, eps); }

OperationPtr local_response(Io io, const LocalResponseRule &rule) {
  return std::make_unique<LocalResponse>(io, rule);
}

OperationPtr spatial_response(Io io, const Shape &image, const LocalResponseRule &rule) {
  return std::make_unique<SpatialResponse>(io, image, rule);
}

}  // namespace cpuacc
