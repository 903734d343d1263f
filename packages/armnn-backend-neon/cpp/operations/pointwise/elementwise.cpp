/* SPDX-License-Identifier: MIT */
/* Functions of floats and of pairs of floats, with broadcasting. */
#include <algorithm>
#include <cmath>

#include "layers/registry.h"
#include "operations/pointwise/binary.h"
#include "operations/pointwise/elementwise.h"
#include "operations/pointwise/float16.h"
#include "operations/pointwise/pointwise.h"

namespace cpuacc {
namespace {

class Apply final : public Unary {
 public:
  Apply(TensorId from, TensorId to, Elementwise function) : Unary(from, to), function_(function) {}

  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    kernels.elementwise(function_, static_cast<const float *>(operands[0]), static_cast<float *>(to), n);
  }
  double element_ns() const override { return kFunctionNs; }

  Description describe() const override { return function_; }

 private:
  Elementwise function_;
};

class Combine final : public Binary {
 public:
  Combine(TensorId x, TensorId y, TensorId to, Broadcast broadcast, Arithmetic operation)
      : Binary(x, y, to, std::move(broadcast), sizeof(float)), operation_(operation) {}

  Description describe() const override { return BinaryArithmetic{operation_, broadcast_}; }

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.arithmetic(operation_, static_cast<const float *>(x), x_step, static_cast<const float *>(y),
                       y_step, static_cast<float *>(z), n);
  }

  Arithmetic operation_;
};

class Slopes final : public Binary {
 public:
  Slopes(TensorId x, TensorId y, TensorId to, Broadcast broadcast)
      : Binary(x, y, to, std::move(broadcast), sizeof(float)) {}

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.prelu(static_cast<const float *>(x), x_step, static_cast<const float *>(y), y_step,
                  static_cast<float *>(z), n);
  }
};

/* The arithmetic with one number as a function of the other operand, which it may be part of what
 * made it; identity if it is none.
 */
Elementwise as_function(Arithmetic operation, float number, bool is_left) {
  switch (operation) {
    case Arithmetic::add: return {Function::linear, 1.0f, number};
    case Arithmetic::multiply: return {Function::linear, number, 0.0f};
    case Arithmetic::subtract:
      return is_left ? Elementwise{Function::linear, -1.0f, number}
                     : Elementwise{Function::linear, 1.0f, -number};
    case Arithmetic::divide:
      if (is_left || !std::isnormal(1.0f / number)) return {Function::identity, 0.0f, 0.0f};
      return {Function::linear, 1.0f / number, 0.0f}; /* at most half a step off */
    default: return {Function::identity, 0.0f, 0.0f};
  }
}

/* Whether an operand is one number and the other one has the output's shape: then that is lowered. */
bool lower_with_number(Lowering &l, Arithmetic operation) {
  for (size_t i = 0; i < 2; ++i) {
    const Value &one = l.input(i);
    if (!one.is_constant() || elements(one.shape) != 1) continue;
    if (l.input(1 - i).is_constant() || l.input(1 - i).shape != l.output().shape) continue;
    const Elementwise function =
        as_function(operation, *static_cast<const float *>(one.read()), i == 0);
    if (function.function == Function::identity) continue;
    const Order order = l.order(1 - i);
    const TensorId from = l.in(1 - i, order);
    l.add<Apply>(from, l.out(0, order), function);
    return true;
  }
  return false;
}

struct AppliedFunction {
  TensorId from;
  Elementwise function;
};

/* By which function of another one a tensor is made; nullopt: it is made in another way. */
std::optional<AppliedFunction> function_to(const Graph &graph, TensorId to) {
  const auto &operations = graph.operations;
  const auto makes = [&](const auto &operation) { return operation->outputs[0] == to; };
  const auto found = std::find_if(operations.rbegin(), operations.rend(), makes);
  if (found == operations.rend()) return std::nullopt;
  const Description description = (*found)->describe();
  const auto *function = std::get_if<Elementwise>(&description);
  if (function == nullptr) return std::nullopt;
  return AppliedFunction{(*found)->inputs[0], *function};
}

/* Whether the product of two tensors is x * sigmoid(a * x): then that is lowered, which computes the
 * same numbers and may be part of what makes x. What nobody reads any more goes.
 */
bool lower_swish(Lowering &l, const Operands &operands) {
  if (!operands.broadcast.is_plain()) return false;
  const Graph &graph = l.graph();
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId x = operands.tensors[side];
    const std::optional<AppliedFunction> gate = function_to(graph, operands.tensors[1 - side]);
    if (!gate || gate->function.function != Function::sigmoid) continue;
    float a = 1.0f;
    if (gate->from != x) {
      const std::optional<AppliedFunction> scaling = function_to(graph, gate->from);
      if (!scaling || scaling->from != x) continue;
      if (scaling->function.function != Function::linear || scaling->function.b != 0.0f) continue;
      a = scaling->function.a;
    }
    l.add<Apply>(x, l.out(0, operands.order), Elementwise{Function::swish, a, 0.0f});
    return true;
  }
  return false;
}

void lower_arithmetic(Lowering &l, Arithmetic operation) {
  require_floats(l);
  if (lower_with_number(l, operation)) return;
  const Operands operands = operands_of(l);
  if (operation == Arithmetic::multiply && lower_swish(l, operands)) return;
  l.add<Combine>(operands.tensors[0], operands.tensors[1], l.out(0, operands.order), operands.broadcast,
                 operation);
}

void lower_prelu(Lowering &l) {
  require_floats(l);
  const Operands operands = operands_of(l);
  l.add<Slopes>(operands.tensors[0], operands.tensors[1], l.out(0, operands.order), operands.broadcast);
}

/* By the numbers of ElementwiseBinary. */
std::optional<Arithmetic> arithmetic_of(int64_t number) {
  switch (number) {
    case ARMNN_BINARY_OPERATION_ADD: return Arithmetic::add;
    case ARMNN_BINARY_OPERATION_DIV: return Arithmetic::divide;
    case ARMNN_BINARY_OPERATION_MAXIMUM: return Arithmetic::maximum;
    case ARMNN_BINARY_OPERATION_MINIMUM: return Arithmetic::minimum;
    case ARMNN_BINARY_OPERATION_MUL: return Arithmetic::multiply;
    case ARMNN_BINARY_OPERATION_SUB: return Arithmetic::subtract;
    case ARMNN_BINARY_OPERATION_SQ_DIFF: return Arithmetic::squared_difference;
    default: return std::nullopt;
  }
}

void lower_binary(Lowering &l, int64_t number) {
  const std::optional<Arithmetic> operation = arithmetic_of(number);
  const bool has_kernel = l.input(0).type == ARMNN_FLOAT32 && operation;
  has_kernel ? lower_arithmetic(l, *operation) : lower_other_arithmetic(l, number);
}

void lower_function(Lowering &l, Elementwise function) {
  require_floats(l);
  const Order order = l.common_order();
  const TensorId from = l.in(0, order);
  l.add<Apply>(from, l.out(0, order), function);
}

/* By the numbers of ElementwiseUnary; identity stands for what is not computed here. */
Function unary_of(int64_t number) {
  switch (number) {
    case ARMNN_UNARY_OPERATION_ABS: return Function::abs;
    case ARMNN_UNARY_OPERATION_EXP: return Function::exp;
    case ARMNN_UNARY_OPERATION_SQRT: return Function::sqrt;
    case ARMNN_UNARY_OPERATION_RSQRT: return Function::rsqrt;
    case ARMNN_UNARY_OPERATION_NEG: return Function::negative;
    case ARMNN_UNARY_OPERATION_LOG: return Function::log;
    case ARMNN_UNARY_OPERATION_CEIL: return Function::ceil;
    case ARMNN_UNARY_OPERATION_ERF: return Function::erf;
    case ARMNN_UNARY_OPERATION_ROUND: return Function::round;
    case ARMNN_UNARY_OPERATION_SIGN: return Function::sign;
    case ARMNN_UNARY_OPERATION_RECIPROCAL: return Function::reciprocal;
    default: return Function::identity;
  }
}

void lower_unary(Lowering &l) {
  const int64_t number = l.layer().integer(ARMNN_PARAMETER(ARMNN_ELEMENTWISE_UNARY_OPERATION));
  const Function function = unary_of(number);
  const bool has_kernel = l.input(0).type == ARMNN_FLOAT32 && function != Function::identity;
  has_kernel ? lower_function(l, {function, 0.0f, 0.0f}) : lower_other_function(l, number);
}

}  // namespace

Elementwise activation_of(int64_t number, float a, float b) {
  constexpr float kMost = __builtin_inff();
  switch (number) {
    case ARMNN_ACTIVATION_FUNCTION_SIGMOID: return {Function::sigmoid, a, b};
    case ARMNN_ACTIVATION_FUNCTION_TANH: return {Function::tanh, a, b};
    case ARMNN_ACTIVATION_FUNCTION_LINEAR: return {Function::linear, a, b};
    case ARMNN_ACTIVATION_FUNCTION_RELU: return {Function::clamp, kMost, 0.0f};
    case ARMNN_ACTIVATION_FUNCTION_BOUNDED_RELU: return {Function::clamp, a, b};
    case ARMNN_ACTIVATION_FUNCTION_SOFT_RELU: return {Function::soft_relu, a, b};
    case ARMNN_ACTIVATION_FUNCTION_LEAKY_RELU: return {Function::leaky_relu, a, b};
    case ARMNN_ACTIVATION_FUNCTION_ABS: return {Function::abs, a, b};
    case ARMNN_ACTIVATION_FUNCTION_SQRT: return {Function::sqrt, a, b};
    case ARMNN_ACTIVATION_FUNCTION_SQUARE: return {Function::square, a, b};
    case ARMNN_ACTIVATION_FUNCTION_ELU: return {Function::elu, a, b};
    case ARMNN_ACTIVATION_FUNCTION_HARD_SWISH: return {Function::hard_swish, a, b};
    case ARMNN_ACTIVATION_FUNCTION_GELU: return {Function::gelu, a, b};
    case ARMNN_ACTIVATION_FUNCTION_SOFT_SIGN: return {Function::soft_sign, a, b};
    case ARMNN_ACTIVATION_FUNCTION_MISH: return {Function::mish, a, b};
    case ARMNN_ACTIVATION_FUNCTION_SELU: return {Function::selu, a, b};
    case ARMNN_ACTIVATION_FUNCTION_CELU: return {Function::celu, a, b};
    case ARMNN_ACTIVATION_FUNCTION_HARD_SIGMOID: return {Function::hard_sigmoid, a, b};
    case ARMNN_ACTIVATION_FUNCTION_THRESHOLDED_RELU: return {Function::thresholded_relu, a, b};
    case ARMNN_ACTIVATION_FUNCTION_SHRINK: return {Function::shrink, a, b};
    case ARMNN_ACTIVATION_FUNCTION_SWISH: return {Function::swish, a, b};
    case ARMNN_ACTIVATION_FUNCTION_GELU_TANH: return {Function::gelu_tanh, a, b};
    default: return {Function::identity, a, b};
  }
}

namespace {

void lower_activation(Lowering &l) {
  const Layer &layer = l.layer();
  const Elementwise function = activation_of(layer.integer(ARMNN_PARAMETER(ARMNN_ACTIVATION_FUNCTION)),
                                             static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_ACTIVATION_A))),
                                             static_cast<float>(layer.real(ARMNN_PARAMETER(ARMNN_ACTIVATION_B))));
  require(function.function != Function::identity, "this function is not computed here");
  lower_function(l, function);
}

}  // namespace

std::vector<LayerType> elementwise_layers() {
  return {
      {ARMNN_LAYER_ACTIVATION, lower_activation},
      {ARMNN_LAYER_ADDITION, [](Lowering &l) { lower_binary(l, ARMNN_BINARY_OPERATION_ADD); }},
      {ARMNN_LAYER_DIVISION, [](Lowering &l) { lower_binary(l, ARMNN_BINARY_OPERATION_DIV); }},
      {ARMNN_LAYER_ELEMENTWISE_BINARY,
       [](Lowering &l) { lower_binary(l, l.layer().integer(ARMNN_PARAMETER(ARMNN_ELEMENTWISE_BINARY_OPERATION))); }},
      {ARMNN_LAYER_ELEMENTWISE_UNARY, lower_unary},
      {ARMNN_LAYER_FLOOR, [](Lowering &l) { lower_function(l, {Function::floor, 0.0f, 0.0f}); }},
      {ARMNN_LAYER_MAXIMUM, [](Lowering &l) { lower_binary(l, ARMNN_BINARY_OPERATION_MAXIMUM); }},
      {ARMNN_LAYER_MINIMUM, [](Lowering &l) { lower_binary(l, ARMNN_BINARY_OPERATION_MINIMUM); }},
      {ARMNN_LAYER_MULTIPLICATION, [](Lowering &l) { lower_binary(l, ARMNN_BINARY_OPERATION_MUL); }},
      {ARMNN_LAYER_PRELU, lower_prelu},
      {ARMNN_LAYER_SUBTRACTION, [](Lowering &l) { lower_binary(l, ARMNN_BINARY_OPERATION_SUB); }},
  };
}

}  // namespace cpuacc
