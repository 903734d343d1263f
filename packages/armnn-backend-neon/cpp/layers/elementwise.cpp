/* SPDX-License-Identifier: MIT */
/* Functions and arithmetic of elements, comparisons and logic. */
#include <algorithm>
#include <cmath>
#include <optional>

#include "costs/costs.h"
#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "layers/lowering/pointwise.h"
#include "operations/pointwise/functions.h"

namespace cpuacc {
namespace {

/* The arithmetic with one number as a function of the other operand, which it may be part of what
 * made it; identity if it is none.
 */
Elementwise as_function(Arithmetic operation, float number, bool is_left) {
  switch (operation) {
    case Arithmetic::add: return {Function::linear, 1.0f, number};
    case Arithmetic::multiply: return {Function::linear, number, 0.0f};
    case Arithmetic::subtract:
      return is_left ? Elementwise{Function::linear, -1.0f, number} : Elementwise{Function::linear, 1.0f, -number};
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
    const Elementwise function = as_function(operation, *static_cast<const float *>(one.read()), i == 0);
    if (function.function == Function::identity) continue;
    const Order order = l.order(1 - i);
    l.add(apply_function({l.in(1 - i, order), l.out(0, order)}, function));
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
 * same numbers and may be part of what makes x. The operations that lose their readers are dropped later.
 */
bool lower_swish(Lowering &l, const BinaryOperands &operands) {
  if (!operands.broadcast.is_plain()) return false;
  const Graph &graph = l.graph();
  for (const auto &[x, other] : {std::pair(operands.x, operands.y), std::pair(operands.y, operands.x)}) {
    const std::optional<AppliedFunction> gate = function_to(graph, other);
    if (!gate || gate->function.function != Function::sigmoid) continue;
    float a = 1.0f;
    if (gate->from != x) {
      const std::optional<AppliedFunction> scaling = function_to(graph, gate->from);
      if (!scaling || scaling->from != x) continue;
      if (scaling->function.function != Function::linear || scaling->function.b != 0.0f) continue;
      a = scaling->function.a;
    }
    l.add(apply_function({x, operands.to}, {Function::swish, a, 0.0f}));
    return true;
  }
  return false;
}

void lower_arithmetic(Lowering &l, Arithmetic operation) {
  require_floats(l);
  if (lower_with_number(l, operation)) return;
  const BinaryOperands operands = operands_of(l);
  if (operation == Arithmetic::multiply && lower_swish(l, operands)) return;
  l.add(combine(operands, operation));
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

/* Arithmetic of data types and functions that have no kernel. */
void lower_other_arithmetic(Lowering &l, int64_t operation) {
  require_one_type(l);
  require(l.output().type == l.input(0).type, "the output must have the data type of the operands");
  const bool adds_whole = operation == ARMNN_BINARY_OPERATION_ADD && l.input(0).type == ARMNN_SIGNED32;
  lower_span_function(l, arithmetic_function(operation, l.input(0).type),
                      is_costly(operation) ? 10 * costs::kFunctionElements : costs::kOneElement,
                      adds_whole ? SpanKind::whole_sum : SpanKind::plain);
}

void lower_binary(Lowering &l, int64_t number) {
  const std::optional<Arithmetic> operation = arithmetic_of(number);
  const bool has_kernel = l.input(0).type == ARMNN_FLOAT32 && operation;
  has_kernel ? lower_arithmetic(l, *operation) : lower_other_arithmetic(l, number);
}

/* (x + y) * factor + offset; of two outputs the first one is the inner sum. */
void lower_fused(Lowering &l) {
  require_floats(l);
  require(l.integer(ARMNN_PARAMETER(ARMNN_FUSED_FUSED_KERNEL_TYPE)) == ARMNN_FUSED_KERNEL_TYPE_ADD_MUL_ADD,
          "only AddMulAdd is computed here");
  const size_t last = l.layer().outputs.size() - 1;
  const Shape &shape = l.output(last).shape;
  const auto shape_of = [&](size_t i) { return l.input(i).shape; };
  const TensorId x = l.in(0);
  const TensorId y = l.in(1);
  const TensorId sum = last == 0 ? l.temporary(ARMNN_FLOAT32, shape) : l.out(0);
  l.add(combine({x, y, sum, broadcast_of(shape_of(0), shape_of(1), shape)}, Arithmetic::add));
  const TensorId product = l.temporary(ARMNN_FLOAT32, shape);
  l.add(combine({sum, l.in(2), product, broadcast_of(shape, shape_of(2), shape)}, Arithmetic::multiply));
  const TensorId offset = l.in(3);
  l.add(combine({product, offset, l.out(last), broadcast_of(shape, shape_of(3), shape)}, Arithmetic::add));
}

/* By the numbers of ElementwiseUnary; identity: not computed here. */
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

/* Functions of data types that have no kernel. */
void lower_other_function(Lowering &l, int64_t operation) {
  const armnn_data_type type = l.input(0).type;
  require(l.output().type == type, "the output must have the data type of the input");
  lower_span_function(l, element_function(operation, type), 10 * costs::kFunctionElements);
}

void lower_unary(Lowering &l) {
  const int64_t number = l.integer(ARMNN_PARAMETER(ARMNN_ELEMENTWISE_UNARY_OPERATION));
  const Function function = unary_of(number);
  const bool has_kernel = l.input(0).type == ARMNN_FLOAT32 && function != Function::identity;
  has_kernel ? lower_function(l, {function, 0.0f, 0.0f}) : lower_other_function(l, number);
}

float real_number(const Value &value) {
  const uint8_t byte = *static_cast<const uint8_t *>(value.read());
  const int32_t stored = is_signed_int8(value.type) ? static_cast<int8_t>(byte) : byte;
  return static_cast<float>(stored - value.quantization.zero_points[0]) * value.quantization.scales[0];
}

/* Whether an operand is one number and the other one has the output's shape: then that is lowered. */
bool lower_int8_with_number(Lowering &l, Arithmetic operation) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Value &one = l.input(i);
    const Value &other = l.input(1 - i);
    if (!one.is_constant() || elements(one.shape) != 1 || !is_int8(one)) continue;
    if (other.is_constant() || other.shape != l.output().shape) continue;
    const float number = real_number(one);
    const bool is_left = i == 0;
    const auto function = [=](const Kernels &kernels, float *real) {
      is_left ? kernels.arithmetic(operation, &number, 0, real, 1, real, 256)
              : kernels.arithmetic(operation, real, 1, &number, 0, real, 256);
    };
    lower_table(l, 1 - i, function);
    return true;
  }
  return false;
}

/* The larger of the factors has 21 bits: sums of two such products fit into 32. */
void lower_addition(Lowering &l, int32_t sign) {
  const Int8Params params = int8_pair_params_of(l);
  const Quantization &x = l.input(0).quantization;
  const Quantization &y = l.input(1).quantization;
  const float x_scale = x.scales[0] / l.output().quantization.scales[0];
  const float y_scale = y.scales[0] / l.output().quantization.scales[0];
  const float larger = std::max(x_scale, y_scale);
  require(larger >= 1.0f / 1024.0f && larger < 256.0f, "the scales are too far apart");
  Int8Addition addition{};
  addition.shift = 20 - std::ilogb(larger);
  addition.x_factor = static_cast<int32_t>(std::lrint(std::ldexp(x_scale, addition.shift)));
  addition.y_factor = sign * static_cast<int32_t>(std::lrint(std::ldexp(y_scale, addition.shift)));
  addition.bias =
      (1 << (addition.shift - 1)) - addition.x_factor * x.zero_points[0] - addition.y_factor * y.zero_points[0];
  addition.is_signed = params.left_is_signed;
  addition.requantization = params.requantization();
  l.add(int8_binary(operands_of(l), addition));
}

void lower_binary_multiplication(Lowering &l) {
  const Int8Params params = int8_pair_params_of(l);
  const Quantization &x = l.input(0).quantization;
  const Quantization &y = l.input(1).quantization;
  const Int8Multiplication multiplication{x.zero_points[0],
                                          y.zero_points[0],
                                          x.scales[0] * y.scales[0] / l.output().quantization.scales[0],
                                          params.left_is_signed,
                                          params.requantization()};
  l.add(int8_binary(operands_of(l), multiplication));
}

/* The extremes of operands in steps of the output: rounding keeps the order of numbers. */
void lower_int8_min_max(Lowering &l, int64_t number) {
  require(is_int8(l.output()), "the output must have 8 bits");
  const armnn_data_type stored = is_signed_int8(l.output().type) ? ARMNN_SIGNED8 : ARMNN_UNSIGNED8;
  lower_span_function(l, arithmetic_function(number, stored), costs::kOneElement, SpanKind::in_output_steps);
}

/* By the numbers of ElementwiseBinary. */
void lower_int8_binary(Lowering &l, int64_t number) {
  const std::optional<Arithmetic> operation = arithmetic_of(number);
  require(operation.has_value(), "this operation is not computed in integers");
  if (lower_int8_with_number(l, *operation)) return;
  switch (*operation) {
    case Arithmetic::add: return lower_addition(l, 1);
    case Arithmetic::subtract: return lower_addition(l, -1);
    case Arithmetic::multiply: return lower_binary_multiplication(l);
    case Arithmetic::maximum:
    case Arithmetic::minimum: return lower_int8_min_max(l, number);
    default: throw Refusal{"this operation of two tensors is not computed in integers"};
  }
}

/* A layer type that is one of these. */
template <int64_t kNumber>
void lower_as(Lowering &l) { lower_binary(l, kNumber); }
template <int64_t kNumber>
void lower_int8_as(Lowering &l) { lower_int8_binary(l, kNumber); }

int64_t binary_operation(const Lowering &l) { return l.integer(ARMNN_PARAMETER(ARMNN_ELEMENTWISE_BINARY_OPERATION)); }

void require_truth(const Lowering &l) { require(l.output().type == ARMNN_BOOLEAN, "the output must be Boolean"); }

void lower_comparison(Lowering &l) {
  require_one_type(l);
  require_truth(l);
  const int64_t number = l.integer(ARMNN_PARAMETER(ARMNN_COMPARISON_OPERATION));
  lower_span_function(l, comparison_function(number, l.input(0).type), costs::kOneElement);
}

void lower_logic(Lowering &l) {
  require_one_type(l);
  require_truth(l);
  require(l.input(0).type == ARMNN_BOOLEAN, "the operands must be Boolean", 0);
  lower_span_function(l, logical_function(l.integer(ARMNN_PARAMETER(ARMNN_LOGICAL_BINARY_OPERATION))),
                      costs::kOneElement);
}

void lower_where(Lowering &l) {
  require(l.input(0).type == ARMNN_BOOLEAN, "the condition must be Boolean", 0);
  for (const int32_t i : {1, 2}) {
    const Value &operand = l.input(static_cast<size_t>(i));
    require(is_alike(operand, l.output()) && operand.quantization.axis < 0,
            "it must have the output's data type and quantization", i);
  }
  lower_span_function(l, select_function(element_bytes(l.output().type)), 4 * costs::kOneElement);
}

void lower_is_nan(Lowering &l) {
  require_truth(l);
  lower_span_function(l, is_nan_function(l.input(0).type), costs::kOneElement);
}

void lower_is_infinite(Lowering &l) {
  require_truth(l);
  const bool is_positive = l.flag(ARMNN_PARAMETER(ARMNN_IS_INF_DETECT_POSITIVE));
  const bool is_negative = l.flag(ARMNN_PARAMETER(ARMNN_IS_INF_DETECT_NEGATIVE));
  lower_span_function(l, is_infinite_function(l.input(0).type, is_positive, is_negative), costs::kOneElement);
}

}  // namespace

std::vector<LayerType> elementwise_layers() {
  return {
      {ARMNN_LAYER_ADDITION, lower_as<ARMNN_BINARY_OPERATION_ADD>, lower_int8_as<ARMNN_BINARY_OPERATION_ADD>},
      {ARMNN_LAYER_COMPARISON, lower_comparison},
      {ARMNN_LAYER_DIVISION, lower_as<ARMNN_BINARY_OPERATION_DIV>, lower_int8_as<ARMNN_BINARY_OPERATION_DIV>},
      {ARMNN_LAYER_ELEMENTWISE_BINARY, [](Lowering &l) { lower_binary(l, binary_operation(l)); },
       [](Lowering &l) { lower_int8_binary(l, binary_operation(l)); }},
      {ARMNN_LAYER_ELEMENTWISE_UNARY, lower_unary},
      {ARMNN_LAYER_FLOOR, [](Lowering &l) { lower_function(l, {Function::floor, 0.0f, 0.0f}); }},
      {ARMNN_LAYER_FUSED, lower_fused},
      {ARMNN_LAYER_IS_INF, lower_is_infinite},
      {ARMNN_LAYER_IS_NAN, lower_is_nan},
      {ARMNN_LAYER_LOGICAL_BINARY, lower_logic},
      {ARMNN_LAYER_MAXIMUM, lower_as<ARMNN_BINARY_OPERATION_MAXIMUM>, lower_int8_as<ARMNN_BINARY_OPERATION_MAXIMUM>},
      {ARMNN_LAYER_MINIMUM, lower_as<ARMNN_BINARY_OPERATION_MINIMUM>, lower_int8_as<ARMNN_BINARY_OPERATION_MINIMUM>},
      {ARMNN_LAYER_MULTIPLICATION, lower_as<ARMNN_BINARY_OPERATION_MUL>, lower_int8_as<ARMNN_BINARY_OPERATION_MUL>},
      {ARMNN_LAYER_SUBTRACTION, lower_as<ARMNN_BINARY_OPERATION_SUB>, lower_int8_as<ARMNN_BINARY_OPERATION_SUB>},
      {ARMNN_LAYER_WHERE, lower_where},
  };
}

}  // namespace cpuacc
