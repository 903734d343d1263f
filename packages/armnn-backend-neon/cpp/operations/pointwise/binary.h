/* SPDX-License-Identifier: MIT */
/* Arithmetic and comparisons of two tensors, which may broadcast. */
#pragma once

#include <memory>
#include <vector>

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

/* Computes n contiguous elements of the output. steps[i] is the distance, in elements, between what two
 * neighboring elements of the output read of operand i.
 */
using SpanFunction = void (*)(const void *const *operands, const int64_t *steps, void *to, int64_t n);

/* The kinds of span functions: a plain function of elements, the sum of two Signed32, or arithmetic on the stored
 * numbers of operands that are quantized as the output is.
 */
enum class SpanKind { plain, whole_sum, in_output_steps };

/* An iteration over a dense output and operands, with the strides of each operand. */
struct Iteration {
  Shape shape;
  std::vector<Shape> strides; /* of each operand */
};

/* Merges neighboring axes that all operands step through as if they were one. */
Iteration merged(const Iteration &from);

OperationPtr broadcast_function(std::vector<TensorId> operands, TensorId to, Iteration iteration,
                                SpanFunction function, double elements, SpanKind kind);

template <typename To, typename From, typename F>
void unary_span(const void *const *operands, const int64_t *steps, void *to, int64_t n) {
  const auto *x = static_cast<const From *>(operands[0]);
  auto *z = static_cast<To *>(to);
  for (int64_t i = 0; i < n; ++i) z[i] = F::of(x[i * steps[0]]);
}

/* The usual steps have loops of their own, which the compiler turns into vector instructions. */
template <typename To, typename From, typename F>
void binary_span(const void *const *operands, const int64_t *steps, void *to, int64_t n) {
  const auto *x = static_cast<const From *>(operands[0]);
  const auto *y = static_cast<const From *>(operands[1]);
  auto *z = static_cast<To *>(to);
  if (steps[0] == 1 && steps[1] == 1) {
    for (int64_t i = 0; i < n; ++i) z[i] = F::of(x[i], y[i]);
  } else if (steps[0] == 1 && steps[1] == 0) {
    const From one = *y;
    for (int64_t i = 0; i < n; ++i) z[i] = F::of(x[i], one);
  } else if (steps[0] == 0 && steps[1] == 1) {
    const From one = *x;
    for (int64_t i = 0; i < n; ++i) z[i] = F::of(one, y[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) z[i] = F::of(x[i * steps[0]], y[i * steps[1]]);
  }
}

/* Functions of two operands of which either may be broadcast. */

struct BinaryOperands {
  TensorId x, y, to;
  Broadcast broadcast;
};

/* A function of two operands, span by span. */
class Binary : public Pointwise {
 public:
  Binary(const BinaryOperands &operands, int64_t element_bytes)
      : Pointwise({operands.x, operands.y}, {operands.to}),
        broadcast_(operands.broadcast),
        element_bytes_(element_bytes) {}

  void run(const Frame &frame) const override;
  /* Only an operand with the strides of the output. */
  bool may_overwrite(size_t input) const override;
  std::optional<AccessPattern> access_pattern(const Graph &, size_t input) const override {
    return access_pattern_of(broadcast_.shape, input == 0 ? broadcast_.x : broadcast_.y);
  }
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override {
    compute(kernels, operands[0], steps[0], operands[1], steps[1], to, n);
  }

 protected:
  /* A step is 1, or 0 for an operand that is one number. */
  virtual void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y,
                       int64_t y_step, void *z, int64_t n) const = 0;
  Broadcast broadcast_;

 private:
  /* Which operand is one short row, the same for all rows of the other; -1: neither. */
  int32_t repeated_side() const;
  /* Computes many rows at once, with as many copies of the repeated row. */
  void run_repeated(const Frame &frame, int32_t side) const;

  int64_t element_bytes_;
};

}  // namespace cpuacc
