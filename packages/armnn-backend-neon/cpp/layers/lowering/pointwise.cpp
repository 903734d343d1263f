/* SPDX-License-Identifier: MIT */
/* Lowering of functions, and of operands that are broadcast. */
#include "layers/lowering/pointwise.h"

#include "layers/lowering/int8.h"
#include "operations/pointwise/functions.h"

namespace cpuacc {
namespace {

/* The strides of an operand along the axes of the output in memory. */
Shape strides_along(const Shape &shape, const Order &order, const Order &output_order) {
  Shape logical(output_order.size(), 0);
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    if (shape[axis] != 1) logical[axis + output_order.size() - shape.size()] = step;
    step *= shape[axis];
  }
  return in_memory(logical, output_order);
}

/* Whether an operand broadcasts to the output. */
bool broadcasts(const Shape &shape, const Shape &to) {
  if (shape.size() > to.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = to[to.size() - shape.size() + i];
    if (shape[i] != 1 && shape[i] != size) return false;
  }
  return true;
}

}  // namespace

void lower_span_function(Lowering &l, SpanFunction function, double elements, SpanKind kind) {
  const Shape &shape = l.output().shape;
  require(function != nullptr, std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  const Order order = l.common_order();
  Iteration iteration{in_memory(shape, order), {}};
  std::vector<TensorId> operands;
  for (size_t i = 0; i < l.input_count(); ++i) {
    const Shape &given = l.input(i).shape;
    require(broadcasts(given, shape), "it does not broadcast to the output", static_cast<int32_t>(i));
    const Order own = given.size() == shape.size() ? order : plain_order(given.size());
    iteration.strides.push_back(strides_along(given, own, order));
    operands.push_back(kind == SpanKind::in_output_steps ? requantized(l, i, own) : l.in(i, own));
  }
  l.add(broadcast_function(std::move(operands), l.out(0, order), merged(iteration), function, elements, kind));
}

void require_one_type(const Lowering &l) {
  for (size_t i = 1; i < l.input_count(); ++i) {
    require(l.input(i).type == l.input(0).type, "all operands must have one data type", static_cast<int32_t>(i));
  }
}

BinaryOperands operands_of(Lowering &l) {
  const Shape &shape = l.output().shape;
  for (const Order &order : {l.common_order(), plain_order(shape.size())}) {
    Order orders[2];
    Iteration iteration{in_memory(shape, order), {}};
    for (size_t i = 0; i < 2; ++i) {
      const size_t rank = l.input(i).shape.size();
      orders[i] = rank == shape.size() ? order : plain_order(rank);
      iteration.strides.push_back(strides_along(l.input(i).shape, orders[i], order));
    }
    iteration = merged(iteration);
    const Broadcast broadcast{iteration.shape, iteration.strides[0], iteration.strides[1]};
    const bool fits = broadcast.x.back() <= 1 && broadcast.y.back() <= 1;
    if (fits || is_plain(order)) return {l.in(0, orders[0]), l.in(1, orders[1]), l.out(0, order), broadcast};
  }
  throw Refusal{"the operands do not broadcast"};
}

Broadcast broadcast_of(const Shape &x, const Shape &y, const Shape &to) {
  require(broadcasts(x, to) && broadcasts(y, to), "the operands do not broadcast to the output");
  const Order order = plain_order(to.size());
  const Iteration iteration = merged(
      {to, {strides_along(x, plain_order(x.size()), order), strides_along(y, plain_order(y.size()), order)}});
  return {iteration.shape, iteration.strides[0], iteration.strides[1]};
}

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

void lower_function(Lowering &l, Elementwise function) {
  require_floats(l);
  l.add(apply_function(l.io(l.common_order()), function));
}

}  // namespace cpuacc
