/* SPDX-License-Identifier: MIT */
/* Truth values: comparisons, logic, and the choice between two operands. */
#include <functional>
#include <limits>

#include "ops/broadcasting.h"
#include "ops/registry.h"
#include "ops/types.h"

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
Line comparison(armnn_data_type type) {
  if (type == ARMNN_BOOLEAN) return pair_line<Truth, Truth, Holds<Relation>>;
  return visit_number(type, [](auto tag) -> Line {
    return pair_line<Truth, typename decltype(tag)::Type, Holds<Relation>>;
  });
}

void require_truth(const Lowering &l) {
  require(l.output().type == ARMNN_BOOLEAN, "the output must be Boolean");
}

void lower_comparison(Lowering &l) {
  require_one_type(l);
  require_truth(l);
  using Choice = Line (*)(armnn_data_type);
  constexpr Choice kRelations[] = {comparison<std::equal_to>, comparison<std::greater>,
                                   comparison<std::greater_equal>, comparison<std::less>,
                                   comparison<std::less_equal>, comparison<std::not_equal_to>};
  const int64_t number = l.layer().integer("operation", 0);
  require(number >= 0 && number < 6, "this relation is not computed here");
  lower_line(l, kRelations[number](l.input(0).type), kElementNs);
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

void lower_logic(Lowering &l) {
  require_one_type(l);
  require_truth(l);
  require(l.input(0).type == ARMNN_BOOLEAN, "the operands must be Boolean", 0);
  constexpr int64_t kXor = 1000;
  const int64_t number = l.layer().integer("operation", 0);
  require(number == 0 || number == 1 || number == kXor, "this function is not computed here");
  lower_line(l, number == 0 ? pair_line<Truth, Truth, And>
                : number == 1 ? pair_line<Truth, Truth, Or> : pair_line<Truth, Truth, Xor>,
             kElementNs);
}

template <typename T>
void choose(const void *const *operands, const int64_t *steps, void *to, int64_t n) {
  const auto *condition = static_cast<const Truth *>(operands[0]);
  const auto *x = static_cast<const T *>(operands[1]);
  const auto *y = static_cast<const T *>(operands[2]);
  auto *z = static_cast<T *>(to);
  for (int64_t i = 0; i < n; ++i) {
    z[i] = condition[i * steps[0]] ? x[i * steps[1]] : y[i * steps[2]];
  }
}

Line choice(size_t element_bytes) {
  switch (element_bytes) {
    case 1: return choose<uint8_t>;
    case 2: return choose<uint16_t>;
    case 4: return choose<uint32_t>;
    default: return choose<uint64_t>;
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
  lower_line(l, choice(element_bytes(l.output().type)), 4 * kElementNs);
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
  lower_line(l, type == ARMNN_FLOAT32   ? unary_line<Truth, float, F>
                : type == ARMNN_FLOAT64 ? unary_line<Truth, double, F>
                                        : nullptr,
             kElementNs);
}

void lower_is_infinite(Lowering &l) {
  const bool is_positive = l.layer().integer("detect_positive", 1) != 0;
  const bool is_negative = l.layer().integer("detect_negative", 1) != 0;
  if (is_positive) return is_negative ? lower_test<IsInfinite<true, true>>(l) : lower_test<IsInfinite<true, false>>(l);
  is_negative ? lower_test<IsInfinite<false, true>>(l) : lower_test<IsInfinite<false, false>>(l);
}

}  // namespace

std::vector<LayerType> comparing_layers() {
  return {
      {"Comparison", lower_comparison}, {"IsInf", lower_is_infinite}, {"IsNaN", lower_test<IsNan>},
      {"LogicalBinary", lower_logic},   {"Where", lower_where},
  };
}

}  // namespace cpuacc
