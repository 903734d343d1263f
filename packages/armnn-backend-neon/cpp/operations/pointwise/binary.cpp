/* SPDX-License-Identifier: MIT */
/* Arithmetic and comparisons of two tensors. */
#include "operations/pointwise/binary.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "armnn/layers.h"
#include "costs/costs.h"
#include "graph/data_types.h"
#include "graph/shape.h"
#include "operations/pointwise/functions.h"

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

  /* Only an operand with the strides of the output. */
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

bool Binary::may_overwrite(size_t input) const {
  return (input == 0 ? broadcast_.x : broadcast_.y) == strides_of(broadcast_.shape);
}

int32_t Binary::repeated_side() const {
  const Broadcast &b = broadcast_;
  for (const int32_t side : {0, 1}) {
    const int64_t length = b.row_of(static_cast<size_t>(side));
    if (length > 0 && 2 * length * element_bytes_ <= costs::kRepeatedBytes) return side;
  }
  return -1;
}

void Binary::run_repeated(const Frame &frame, int32_t side) const {
  const std::byte *operands[] = {frame.in<std::byte>(inputs[0]), frame.in<std::byte>(inputs[1])};
  auto *z = frame.out<std::byte>(outputs[0]);
  const int64_t rows = broadcast_.shape[0];
  const int64_t length = broadcast_.shape[1];
  const int64_t bytes = length * element_bytes_;
  const int64_t times = costs::kRepeatedBytes / bytes;
  const double item_ns = static_cast<double>(times * length) * frame.element_ns();
  frame.pool.run(ratio_up(rows, times), item_ns, [&](int64_t begin, int64_t end, int32_t) {
    alignas(64) std::byte repeated[costs::kRepeatedBytes];
    for (int64_t i = 0; i < times; ++i) {
      std::memcpy(repeated + i * bytes, operands[side], static_cast<size_t>(bytes));
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * times;
      const int64_t n = std::min(times, rows - first) * length;
      const std::byte *x = side == 0 ? repeated : operands[0] + first * bytes;
      const std::byte *y = side == 0 ? operands[1] + first * bytes : repeated;
      compute(frame.kernels, x, 1, y, 1, z + first * bytes, n);
    }
  });
}

void Binary::run(const Frame &frame) const {
  if (const int32_t side = repeated_side(); side >= 0) return run_repeated(frame, side);
  const auto *x = frame.in<std::byte>(inputs[0]);
  const auto *y = frame.in<std::byte>(inputs[1]);
  auto *z = frame.out<std::byte>(outputs[0]);
  const size_t rank = broadcast_.shape.size();
  const int64_t length = broadcast_.shape[rank - 1];
  const int64_t x_step = broadcast_.x[rank - 1];
  const int64_t y_step = broadcast_.y[rank - 1];
  const int64_t pieces = ratio_up(length, costs::kChunkElements);
  const int64_t rows = elements(broadcast_.shape, 0, rank - 1);
  const double item_ns = static_cast<double>(std::min(length, costs::kChunkElements)) * frame.element_ns();
  frame.for_each(rows * pieces, item_ns, [&](int64_t i, int32_t) {
    const int64_t first = i % pieces * costs::kChunkElements;
    int64_t number = i / pieces;
    int64_t at_x = first * x_step;
    int64_t at_y = first * y_step;
    const int64_t at_z = number * length + first;
    for (size_t axis = rank - 1; axis-- > 0;) {
      const int64_t index = number % broadcast_.shape[axis];
      number /= broadcast_.shape[axis];
      at_x += index * broadcast_.x[axis];
      at_y += index * broadcast_.y[axis];
    }
    compute(frame.kernels, x + at_x * element_bytes_, x_step, y + at_y * element_bytes_, y_step,
            z + at_z * element_bytes_, std::min(costs::kChunkElements, length - first));
  });
}

namespace {

/* The unsigned type in which an integer is computed, so that it wraps around. */
template <typename T>
using Modular = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T>;

/* A function object of the standard library; on integers it wraps around. */
template <template <typename> class F>
struct Wrapping {
  template <typename T>
  static T of(T x, T y) {
    if constexpr (kIsInteger<T>) return static_cast<T>(F<Modular<T>>()(Modular<T>(x), Modular<T>(y)));
    else return F<T>()(x, y);
  }
};

struct SquaredDifference {
  template <typename T>
  static T of(T x, T y) {
    const T difference = Wrapping<std::minus>::of(x, y);
    return Wrapping<std::multiplies>::of(difference, difference);
  }
};

/* Whether the machine's division has no answer: by zero, or of the lowest number by -1. */
template <typename T>
bool is_undivided(T x, T y) {
  return y == 0 || (std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == T(-1));
}

struct Divide {
  template <typename T>
  static T of(T x, T y) {
    if constexpr (!kIsInteger<T>) return x / y;
    else if (is_undivided(x, y)) return y == 0 ? T(0) : x;
    else return static_cast<T>(x / y);
  }
};

struct FloorDivide {
  template <typename T>
  static T of(T x, T y) {
    if constexpr (!kIsInteger<T>) return std::floor(x / y);
    else if (is_undivided(x, y)) return y == 0 ? T(0) : x;
    else return static_cast<T>(x / y - ((x % y != 0) && ((x < 0) != (y < 0))));
  }
};

/* The remainder with the sign of the dividend. */
struct FractionalModulo {
  template <typename T>
  static T of(T x, T y) {
    if constexpr (!kIsInteger<T>) return std::fmod(x, y);
    else return is_undivided(x, y) ? T(0) : static_cast<T>(x % y);
  }
};

/* The remainder with the sign of the divisor. */
struct Modulo {
  template <typename T>
  static T of(T x, T y) {
    const T rest = FractionalModulo::of(x, y);
    if (rest == 0) {
      if constexpr (kIsInteger<T>) return T(0);
      else return std::copysign(T(0), y);
    }
    return (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
  }
};

struct Larger {
  template <typename T>
  static T of(T x, T y) { return x != x || x > y ? x : y; }
};

struct Smaller {
  template <typename T>
  static T of(T x, T y) { return x != x || x < y ? x : y; }
};

/* Powers. With a negative exponent, only those of the integers 1 and -1 are whole; others become 0. */
struct Power {
  template <typename T>
  static T of(T x, T y) {
    if constexpr (!kIsInteger<T>) {
      return std::pow(x, y);
    } else {
      if (std::is_signed_v<T> && y < 0) {
        return x == T(1) ? x : x == T(-1) ? static_cast<T>(y % 2 == 0 ? 1 : -1) : T(0);
      }
      Modular<T> result = 1;
      Modular<T> base = Modular<T>(x);
      for (auto rest = static_cast<uint64_t>(y); rest != 0; rest >>= 1, base *= base) {
        if (rest & 1) result *= base;
      }
      return static_cast<T>(result);
    }
  }
};

/* Whether a shift leaves nothing but the sign. */
template <typename T>
bool shifts_out(T by) {
  return static_cast<uint64_t>(by) >= 8 * sizeof(T);
}

struct ShiftLeft {
  template <typename T>
  static T of(T x, T y) { return shifts_out(y) ? T(0) : static_cast<T>(Modular<T>(x) << y); }
};

struct ShiftRight {
  template <typename T>
  static T of(T x, T y) { return shifts_out(y) ? T(x < 0 ? -1 : 0) : static_cast<T>(x >> y); }
};

template <typename F>
SpanFunction of_numbers(armnn_data_type type) {
  return visit_number(type, [](auto tag) -> SpanFunction {
    using T = typename decltype(tag)::Type;
    return binary_span<T, T, F>;
  });
}

template <typename F>
SpanFunction binary_of_integers(armnn_data_type type) {
  return visit_integer(type, [](auto tag) -> SpanFunction {
    using T = typename decltype(tag)::Type;
    return binary_span<T, T, F>;
  });
}

}  // namespace

SpanFunction arithmetic_function(int64_t operation, armnn_data_type type) {
  switch (operation) {
    case ARMNN_BINARY_OPERATION_ADD: return of_numbers<Wrapping<std::plus>>(type);
    case ARMNN_BINARY_OPERATION_DIV: return of_numbers<Divide>(type);
    case ARMNN_BINARY_OPERATION_MAXIMUM: return of_numbers<Larger>(type);
    case ARMNN_BINARY_OPERATION_MINIMUM: return of_numbers<Smaller>(type);
    case ARMNN_BINARY_OPERATION_MUL: return of_numbers<Wrapping<std::multiplies>>(type);
    case ARMNN_BINARY_OPERATION_SUB: return of_numbers<Wrapping<std::minus>>(type);
    case ARMNN_BINARY_OPERATION_SQ_DIFF: return of_numbers<SquaredDifference>(type);
    case ARMNN_BINARY_OPERATION_POWER: return of_numbers<Power>(type);
    case ARMNN_BINARY_OPERATION_MOD: return of_numbers<Modulo>(type);
    case ARMNN_BINARY_OPERATION_FMOD: return of_numbers<FractionalModulo>(type);
    case ARMNN_BINARY_OPERATION_FLOOR_DIV: return of_numbers<FloorDivide>(type);
    case ARMNN_BINARY_OPERATION_BITWISE_AND: return binary_of_integers<Wrapping<std::bit_and>>(type);
    case ARMNN_BINARY_OPERATION_BITWISE_OR: return binary_of_integers<Wrapping<std::bit_or>>(type);
    case ARMNN_BINARY_OPERATION_BITWISE_XOR: return binary_of_integers<Wrapping<std::bit_xor>>(type);
    case ARMNN_BINARY_OPERATION_SHIFT_LEFT: return binary_of_integers<ShiftLeft>(type);
    case ARMNN_BINARY_OPERATION_SHIFT_RIGHT: return binary_of_integers<ShiftRight>(type);
    default: return nullptr;
  }
}

bool is_costly(int64_t operation) {
  switch (operation) {
    case ARMNN_BINARY_OPERATION_ADD:
    case ARMNN_BINARY_OPERATION_MAXIMUM:
    case ARMNN_BINARY_OPERATION_MINIMUM:
    case ARMNN_BINARY_OPERATION_MUL:
    case ARMNN_BINARY_OPERATION_SUB:
    case ARMNN_BINARY_OPERATION_SQ_DIFF: return false;
    default: return true;
  }
}

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
