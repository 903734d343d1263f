/* SPDX-License-Identifier: MIT */
/* Operations that compute a span of their output from spans of their operands. */
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "costs/costs.h"
#include "graph/ir.h"

namespace cpuacc {

/* The element of an operand that element i of the output reads: (i / inner) % period. */
struct AccessPattern {
  int64_t inner;
  int64_t period;

  bool is_dense(int64_t count) const { return inner == 1 && period == count; }
};

/* The access pattern of an operand with these strides and a dense output, if there is one. */
std::optional<AccessPattern> access_pattern_of(const Shape &shape, const Shape &strides);

class Pointwise : public Operation {
 public:
  static constexpr size_t kMostOperands = 5;

  using Operation::Operation;

  /* How it reads an operand; nullopt: not by an access pattern. */
  virtual std::optional<AccessPattern> access_pattern(const Graph &graph, size_t input) const = 0;
  /* Computes n contiguous elements. A step is 1, or 0 for an operand that is one number
   * for all of them.
   */
  virtual void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                            int64_t n) const = 0;
  /* Whether compute_numbers, at a level that multiplies bfloat16, does the same with bfloat16. */
  virtual bool takes_bfloat16() const { return false; }
  virtual void compute_numbers(const Kernels &, const FloatInput *, FloatOutput, int64_t) const {}
  /* The time of one number, as a multiple of costs::element. */
  virtual double in_elements() const { return costs::kOneElement; }
};

/* Computes each element from the one at the same place. */
class Unary : public Pointwise {
 public:
  using Pointwise::Pointwise;

  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;
  bool may_overwrite(size_t) const override { return true; }
  std::optional<AccessPattern> access_pattern(const Graph &graph, size_t input) const override;

 private:
  int64_t count_ = 0;
  int64_t from_bytes_ = 0; /* of an element */
  int64_t to_bytes_ = 0;
};

}  // namespace cpuacc
