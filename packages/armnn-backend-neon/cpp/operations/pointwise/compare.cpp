/* SPDX-License-Identifier: MIT */
/* Truth values: comparisons, logic, and the choice between two operands. */
#include <functional>
#include <limits>

#include "graph/data_types.h"
#include "layers/registry.h"
#include "operations/pointwise/broadcast.h"

namespace cpuacc {
namespace {

/* A relation of the standard library as a function of elements. */
template <template <typename> class Relation>
struct Holds {
  template <typename T>
  static Truth of(T x, T y) { return {Relation<T>()(x, y)}; }
  static Truth of(Truth x, Truth y) { return {Relation<uint8_t>()(x, y)}; }
};

template <template <typename> class Relation>
SpanFunction comparison(armnn_data_type type) {
  if (type == ARMNN_BOOLEAN) return binary_span<Truth, Truth, Holds<Relation>>;
  return visit_number(type, [](auto tag) -> SpanFunction {
    return binary_span<Truth, typename decltype(tag)::Type, Holds<Relation>>;
  });
}

void require_truth(const Lowering &l) {
  require(l.output().type == ARMNN_BOOLEAN, "the output must be Boolean");
}

SpanFunction relation_of(int64_t number, armnn_data_type type) {
  switch (number) {
    case ARMNN_COMPARISON_OPERATION_EQUAL: return comparison<std::equal_to>(type);
    case ARMNN_COMPARISON_OPERATION_GREATER: return comparison<std::greater>(type);
    case ARMNN_COMPARISON_OPERATION_GREATER_OR_EQUAL: return comparison<std::greater_equal>(type);
    case ARMNN_COMPARISON_OPERATION_LESS: return comparison<std::less>(type);
    case ARMNN_COMPARISON_OPERATION_LESS_OR_EQUAL: return comparison<std::less_equal>(type);
    case ARMNN_COMPARISON_OPERATION_NOT_EQUAL: return comparison<std::not_equal_to>(type);
    default: throw Refusal{"this relation is not computed here"};
  }
}

void lower_comparison(Lowering &l) {
  require_one_type(l);
  require_truth(l);
  const int64_t number = l.layer().integer(ARMNN_PARAMETER(ARMNN_COMPARISON_OPERATION));
  lower_span_function(l, relation_of(number, l.input(0).type), kElementNs);
}

struct Or {
  static Truth of(Truth x, Truth y) { return {static_cast<uint8_t>(x | y)}; }
};
struct And {
  static Truth of(Truth x, Truth y) { return {static_cast<uint8_t>(x & y)}; }
};
struct Xor {
  static Truth of(Truth x, Truth y) { return {static_cast<uint8_t>(x ^ y)}; }
};

SpanFunction logic_of(int64_t number) {
  switch (number) {
    case ARMNN_LOGICAL_BINARY_OPERATION_LOGICAL_AND: return binary_span<Truth, Truth, And>;
    case ARMNN_LOGICAL_BINARY_OPERATION_LOGICAL_OR: return binary_span<Truth, Truth, Or>;
    case ARMNN_LOGICAL_BINARY_OPERATION_LOGICAL_XOR: return binary_span<Truth, Truth, Xor>;
    default: throw Refusal{"this function is not computed here"};
  }
}

void lower_logic(Lowering &l) {
  require_one_type(l);
  require_truth(l);
  require(l.input(0).type == ARMNN_BOOLEAN, "the operands must be Boolean", 0);
  lower_span_function(l, logic_of(l.layer().integer(ARMNN_PARAMETER(ARMNN_LOGICAL_BINARY_OPERATION))),
                      kElementNs);
}

template <typename T>
void select(const void *const *operands, const int64_t *steps, void *to, int64_t n) {
  const auto *condition = static_cast<const Truth *>(operands[0]);
  const auto *x = static_cast<const T *>(operands[1]);
  const auto *y = static_cast<const T *>(operands[2]);
  auto *z = static_cast<T *>(to);
  for (int64_t i = 0; i < n; ++i) {
    z[i] = condition[i * steps[0]] ? x[i * steps[1]] : y[i * steps[2]];
  }
}

SpanFunction selection(size_t element_bytes) {
  switch (element_bytes) {
    case 1: return select<uint8_t>;
    case 2: return select<uint16_t>;
    case 4: return select<uint32_t>;
    default: return select<uint64_t>;
  }
}

void lower_where(Lowering &l) {
  require(l.input(0).type == ARMNN_BOOLEAN, "the condition must be Boolean", 0);
  for (const int32_t i : {1, 2}) {
    const Value &operand = l.input(static_cast<size_t>(i));
    require(operand.type == l.output().type &&
                operand.quantization.scales == l.output().quantization.scales &&
                operand.quantization.zero_points == l.output().quantization.zero_points &&
                operand.quantization.axis < 0,
            "it must have the output's data type and quantisation", i);
  }
  lower_span_function(l, selection(element_bytes(l.output().type)), 4 * kElementNs);
}

struct IsNan {
  template <typename T>
  static Truth of(T x) { return {x != x}; }
};

template <bool IsPositive, bool IsNegative>
struct IsInfinite {
  template <typename T>
  static Truth of(T x) {
    return {(IsPositive && x == std::numeric_limits<T>::infinity()) ||
            (IsNegative && x == -std::numeric_limits<T>::infinity())};
  }
};

template <typename F>
void lower_test(Lowering &l) {
  require_truth(l);
  const armnn_data_type type = l.input(0).type;
  lower_span_function(l,
                      type == ARMNN_FLOAT32   ? unary_span<Truth, float, F>
                      : type == ARMNN_FLOAT64 ? unary_span<Truth, double, F>
                                              : nullptr,
                      kElementNs);
}

void lower_is_infinite(Lowering &l) {
  const bool is_positive = l.layer().integer(ARMNN_PARAMETER(ARMNN_IS_INF_DETECT_POSITIVE)) != 0;
  const bool is_negative = l.layer().integer(ARMNN_PARAMETER(ARMNN_IS_INF_DETECT_NEGATIVE)) != 0;
  if (is_positive) return is_negative ? lower_test<IsInfinite<true, true>>(l) : lower_test<IsInfinite<true, false>>(l);
  is_negative ? lower_test<IsInfinite<false, true>>(l) : lower_test<IsInfinite<false, false>>(l);
}

}  // namespace

std::vector<LayerType> comparing_layers() {
  return {
      {ARMNN_LAYER_COMPARISON, lower_comparison},
      {ARMNN_LAYER_IS_INF, lower_is_infinite},
      {ARMNN_LAYER_IS_NAN, lower_test<IsNan>},
      {ARMNN_LAYER_LOGICAL_BINARY, lower_logic},
      {ARMNN_LAYER_WHERE, lower_where},
  };
}

}  // namespace cpuacc
