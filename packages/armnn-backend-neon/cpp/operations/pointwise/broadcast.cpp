/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/broadcast.h"

#include <algorithm>

#include "costs/costs.h"

namespace cpuacc {
namespace {

class BroadcastFunction final : public Pointwise {
 public:
  BroadcastFunction(std::vector<TensorId> operands, TensorId to, Iteration iteration, SpanFunction function,
                    double elements, SpanKind kind)
      : Pointwise(std::move(operands), {to}),
        iteration_(std::move(iteration)),
        function_(function),
        elements_(elements),
        kind_(kind) {}

  Description describe() const override {
    if (kind_ != SpanKind::whole_sum) return {};
    return BinaryArithmetic{Arithmetic::add, {iteration_.shape, iteration_.strides[0], iteration_.strides[1]}};
  }

  size_t prepare(const Setup &setup) override {
    for (const TensorId id : inputs) bytes_.push_back(static_cast<int64_t>(element_bytes(setup[id].type)));
    to_bytes_ = static_cast<int64_t>(element_bytes(setup[outputs[0]].type));
    return 0;
  }

  void run(const Frame &frame) const override {
    const Shape &shape = iteration_.shape;
    const size_t rank = shape.size();
    const int64_t length = shape[rank - 1];
    const int64_t pieces = ratio_up(length, costs::kChunkElements);
    const int64_t rows = elements(shape, 0, rank - 1);
    const double item_ns = static_cast<double>(std::min(length, costs::kChunkElements)) * elements_ * frame.element_ns();
    frame.for_each(rows * pieces, item_ns, [&](int64_t i, int32_t) {
      compute(frame, i / pieces, i % pieces * costs::kChunkElements);
    });
  }

  /* An operand with the strides of the output. */
  bool may_overwrite(size_t input) const override {
    return bytes_[input] == to_bytes_ && iteration_.strides[input] == strides_of(iteration_.shape);
  }
  std::optional<AccessPattern> access_pattern(const Graph &, size_t input) const override {
    return access_pattern_of(iteration_.shape, iteration_.strides[input]);
  }
  void compute_span(const Kernels &, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override {
    function_(operands, steps, to, n);
  }
  double in_elements() const override { return elements_; }

 private:
  void compute(const Frame &frame, int64_t number, int64_t first) const {
    const Shape &shape = iteration_.shape;
    const size_t last = shape.size() - 1;
    const void *operands[kMostOperands];
    int64_t steps[kMostOperands];
    for (size_t k = 0; k < inputs.size(); ++k) {
      const Shape &strides = iteration_.strides[k];
      int64_t place = first * strides[last];
      int64_t rest = number;
      for (size_t axis = last; axis-- > 0;) {
        place += rest % shape[axis] * strides[axis];
        rest /= shape[axis];
      }
      operands[k] = frame.in<std::byte>(inputs[k]) + place * bytes_[k];
      steps[k] = strides[last];
    }
    std::byte *to = frame.out<std::byte>(outputs[0]) + (number * shape[last] + first) * to_bytes_;
    function_(operands, steps, to, std::min(costs::kChunkElements, shape[last] - first));
  }

  Iteration iteration_;
  SpanFunction function_;
  double elements_;
  SpanKind kind_;
  std::vector<int64_t> bytes_; /* of an element of each operand */
  int64_t to_bytes_ = 0;
};

}  // namespace

/* Neighbouring axes that all operands walk through as through one become one. */
Iteration merged(const Iteration &from) {
  Iteration result{{}, std::vector<Shape>(from.strides.size())};
  for (size_t i = 0; i < from.shape.size(); ++i) {
    const int64_t size = from.shape[i];
    if (size == 1) continue;
    bool continues = !result.shape.empty();
    for (size_t k = 0; k < from.strides.size(); ++k) {
      continues = continues && result.strides[k].back() == from.strides[k][i] * size;
    }
    continues ? static_cast<void>(result.shape.back() *= size) : result.shape.push_back(size);
    for (size_t k = 0; k < from.strides.size(); ++k) {
      if (continues) result.strides[k].pop_back();
      result.strides[k].push_back(from.strides[k][i]);
    }
  }
  if (result.shape.empty()) {
    result.shape = {1};
    for (Shape &strides : result.strides) strides = {1};
  }
  return result;
}

OperationPtr broadcast_function(std::vector<TensorId> operands, TensorId to, Iteration iteration,
                                SpanFunction function, double elements, SpanKind kind) {
  return std::make_unique<BroadcastFunction>(std::move(operands), to, std::move(iteration), function, elements,
                                             kind);
}

}  // namespace cpuacc
