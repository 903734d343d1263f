/* SPDX-License-Identifier: MIT */
/* Functions of two operands of which either may be broadcast. */
#pragma once

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

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
  /* An operand with the strides of the output. */
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
  /* Many rows at once, beside copies of the repeated one. */
  void run_repeated(const Frame &frame, int32_t side) const;

  int64_t element_bytes_;
};

}  // namespace cpuacc
