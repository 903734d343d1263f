/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/functions.h"

#include <functional>
#include <limits>

#include "armnn/layers.h"
#include "graph/data_types.h"
#include "graph/shape.h"

namespace cpuacc {
namespace {

/* A relation or, of truth values, another function of the standard library. */
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
SpanFunction test_of(armnn_data_type type) {
  if (type == ARMNN_FLOAT32) return unary_span<Truth, float, F>;
  return type == ARMNN_FLOAT64 ? static_cast<SpanFunction>(unary_span<Truth, double, F>) : nullptr;
}

}  // namespace

SpanFunction comparison_function(int64_t number, armnn_data_type type) {
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

SpanFunction logical_function(int64_t number) {
  switch (number) {
    case ARMNN_LOGICAL_BINARY_OPERATION_LOGICAL_AND: return binary_span<Truth, Truth, Holds<std::bit_and>>;
    case ARMNN_LOGICAL_BINARY_OPERATION_LOGICAL_OR: return binary_span<Truth, Truth, Holds<std::bit_or>>;
    case ARMNN_LOGICAL_BINARY_OPERATION_LOGICAL_XOR: return binary_span<Truth, Truth, Holds<std::bit_xor>>;
    default: throw Refusal{"this function is not computed here"};
  }
}

SpanFunction select_function(size_t element_bytes) {
  return visit_width(element_bytes, [](auto tag) -> SpanFunction { return select<typename decltype(tag)::Type>; });
}

SpanFunction is_nan_function(armnn_data_type type) { return test_of<IsNan>(type); }

SpanFunction is_infinite_function(armnn_data_type type, bool is_positive, bool is_negative) {
  if (is_positive)
    return is_negative ? test_of<IsInfinite<true, true>>(type) : test_of<IsInfinite<true, false>>(type);
  return is_negative ? test_of<IsInfinite<false, true>>(type) : test_of<IsInfinite<false, false>>(type);
}

}  // namespace cpuacc
