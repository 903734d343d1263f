/* SPDX-License-Identifier: MIT */
/* Functions of elements of any data type, their operands broadcast. */
#pragma once

#include <memory>
#include <vector>

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

/* Computes n contiguous elements; a step of an operand is how many of its elements apart
 * two neighbours read.
 */
using SpanFunction = void (*)(const void *const *operands, const int64_t *steps, void *to, int64_t n);

/* What a span function is beside a function of elements: the sum of two Signed32, or one of bytes in
 * steps of the output.
 */
enum class SpanKind { plain, whole_sum, in_output_steps };

/* An iteration over a dense output and operands with the strides of each. */
struct Iteration {
  Shape shape;
  std::vector<Shape> strides; /* of each operand */
};

/* Neighbouring axes that all operands step through as through one become one. */
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

}  // namespace cpuacc
