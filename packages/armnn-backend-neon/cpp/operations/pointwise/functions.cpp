/* SPDX-License-Identifier: MIT */
/* Functions of spans, by data type, and the operation on float32 or Float16. */
#include "operations/pointwise/functions.h"

#include <cmath>
#include <type_traits>

#include "armnn/layers.h"
#include "costs/costs.h"
#include "graph/data_types.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

/* The library's function of a floating point number. */
template <double (*Double)(double), float (*Single)(float)>
struct Library {
  static double of(double x) { return Double(x); }
  static float of(float x) { return Single(x); }
};

template <typename F>
SpanFunction of_floats(armnn_data_type type) {
  if (type == ARMNN_FLOAT32) return unary_span<float, float, F>;
  return type == ARMNN_FLOAT64 ? static_cast<SpanFunction>(unary_span<double, double, F>) : nullptr;
}

struct InverseRoot {
  template <typename T>
  static T of(T x) { return T(1) / std::sqrt(x); }
};

struct Reciprocal {
  template <typename T>
  static T of(T x) { return T(1) / x; }
};

/* Negates integers as unsigned ones, so that the lowest integer is its own negative. */
struct Negative {
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(0 - static_cast<uint64_t>(x));
    else return -x;
  }
};

struct Magnitude {
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) return x < 0 ? Negative::of(x) : x;
    else return std::fabs(x);
  }
};

struct Sign {
  template <typename T>
  static T of(T x) { return x > 0 ? T(1) : x < 0 ? static_cast<T>(-1) : x; }
};

struct Itself {
  template <typename T>
  static T of(T x) { return x; }
};

struct BitwiseNot {
  template <typename T>
  static T of(T x) { return static_cast<T>(~x); }
};

struct LogicalNot {
  static Truth of(Truth x) { return {!x}; }
};

template <typename F>
SpanFunction of_integers(armnn_data_type type) {
  return visit_integer(type, [](auto tag) -> SpanFunction {
    using T = typename decltype(tag)::Type;
    return unary_span<T, T, F>;
  });
}

SpanFunction function_of_floats(int64_t operation, armnn_data_type type) {
  switch (operation) {
    case ARMNN_UNARY_OPERATION_ABS: return of_floats<Magnitude>(type);
    case ARMNN_UNARY_OPERATION_EXP: return of_floats<Library<std::exp, std::exp>>(type);
    case ARMNN_UNARY_OPERATION_SQRT: return of_floats<Library<std::sqrt, std::sqrt>>(type);
    case ARMNN_UNARY_OPERATION_RSQRT: return of_floats<InverseRoot>(type);
    case ARMNN_UNARY_OPERATION_NEG: return of_floats<Negative>(type);
    case ARMNN_UNARY_OPERATION_LOG: return of_floats<Library<std::log, std::log>>(type);
    case ARMNN_UNARY_OPERATION_SIN: return of_floats<Library<std::sin, std::sin>>(type);
    case ARMNN_UNARY_OPERATION_CEIL: return of_floats<Library<std::ceil, std::ceil>>(type);
    case ARMNN_UNARY_OPERATION_ERF: return of_floats<Library<std::erf, std::erf>>(type);
    case ARMNN_UNARY_OPERATION_ROUND: return of_floats<Library<std::nearbyint, std::nearbyint>>(type);
    case ARMNN_UNARY_OPERATION_SIGN: return of_floats<Sign>(type);
    case ARMNN_UNARY_OPERATION_COS: return of_floats<Library<std::cos, std::cos>>(type);
    case ARMNN_UNARY_OPERATION_TAN: return of_floats<Library<std::tan, std::tan>>(type);
    case ARMNN_UNARY_OPERATION_ASIN: return of_floats<Library<std::asin, std::asin>>(type);
    case ARMNN_UNARY_OPERATION_ACOS: return of_floats<Library<std::acos, std::acos>>(type);
    case ARMNN_UNARY_OPERATION_ATAN: return of_floats<Library<std::atan, std::atan>>(type);
    case ARMNN_UNARY_OPERATION_SINH: return of_floats<Library<std::sinh, std::sinh>>(type);
    case ARMNN_UNARY_OPERATION_COSH: return of_floats<Library<std::cosh, std::cosh>>(type);
    case ARMNN_UNARY_OPERATION_ASINH: return of_floats<Library<std::asinh, std::asinh>>(type);
    case ARMNN_UNARY_OPERATION_ACOSH: return of_floats<Library<std::acosh, std::acosh>>(type);
    case ARMNN_UNARY_OPERATION_ATANH: return of_floats<Library<std::atanh, std::atanh>>(type);
    case ARMNN_UNARY_OPERATION_RECIPROCAL: return of_floats<Reciprocal>(type);
    default: return nullptr;
  }
}

SpanFunction function_of_integers(int64_t operation, armnn_data_type type) {
  switch (operation) {
    case ARMNN_UNARY_OPERATION_ABS: return of_integers<Magnitude>(type);
    case ARMNN_UNARY_OPERATION_NEG: return of_integers<Negative>(type);
    case ARMNN_UNARY_OPERATION_CEIL:
    case ARMNN_UNARY_OPERATION_ROUND: return of_integers<Itself>(type);
    case ARMNN_UNARY_OPERATION_SIGN: return of_integers<Sign>(type);
    case ARMNN_UNARY_OPERATION_BITWISE_NOT: return of_integers<BitwiseNot>(type);
    default: return nullptr;
  }
}

}  // namespace

SpanFunction element_function(int64_t operation, armnn_data_type type) {
  if (operation == ARMNN_UNARY_OPERATION_LOGICAL_NOT) {
    return type == ARMNN_BOOLEAN ? static_cast<SpanFunction>(unary_span<Truth, Truth, LogicalNot>) : nullptr;
  }
  const bool is_float = type == ARMNN_FLOAT32 || type == ARMNN_FLOAT64;
  return is_float ? function_of_floats(operation, type) : function_of_integers(operation, type);
}

namespace {

template <typename T>
constexpr bool kIsFloat32 = std::is_same_v<T, float>;

/* A function of each element, of float32 or, stored as uint16_t, of Float16 at levels that compute in it. */
template <typename T>
class Apply final : public Unary {
 public:
  Apply(Io io, const Elementwise &function) : Unary(io), function_(function) {}

  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    const auto *x = static_cast<const T *>(operands[0]);
    if constexpr (kIsFloat32<T>) kernels.elementwise(function_, x, static_cast<T *>(to), n);
    else kernels.float16_elementwise(function_, x, static_cast<T *>(to), n);
  }
  double in_elements() const override { return kIsFloat32<T> ? costs::kFunctionElements : costs::kOneElement; }
  Description describe() const override { return function_; }

 private:
  Elementwise function_;
};

template <typename T>
class Combine final : public Binary {
 public:
  Combine(const BinaryOperands &operands, Arithmetic operation)
      : Binary(operands, sizeof(T)), operation_(operation) {}

  Description describe() const override { return BinaryArithmetic{operation_, broadcast_}; }
  bool takes_bfloat16() const override { return kIsFloat32<T>; }
  void compute_numbers(const Kernels &kernels, const FloatInput *operands, FloatOutput to, int64_t n) const override {
    kernels.arithmetic_of_bfloat16(operation_, operands[0], operands[1], to, n);
  }

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    const auto *left = static_cast<const T *>(x);
    const auto *right = static_cast<const T *>(y);
    if constexpr (kIsFloat32<T>) kernels.arithmetic(operation_, left, x_step, right, y_step, static_cast<T *>(z), n);
    else kernels.float16_arithmetic(operation_, left, x_step, right, y_step, static_cast<T *>(z), n);
  }

  Arithmetic operation_;
};

/* Whether the result is rounded at most once, and parameters are not. */
bool is_exact(const Kernels &kernels, const Elementwise &f) {
  switch (f.function) {
    case Function::abs:
    case Function::negative:
    case Function::sqrt:
    case Function::square: return true;
    case Function::clamp: return is_float16(kernels, f.a) && is_float16(kernels, f.b);
    case Function::linear: /* a sum or a product; both together could be rounded twice in float32 */
      return is_float16(kernels, f.a) && is_float16(kernels, f.b) &&
             (f.b == 0.0f || std::abs(f.a) == 1.0f);
    default: return false;
  }
}

class Prelu final : public Binary {
 public:
  explicit Prelu(const BinaryOperands &operands) : Binary(operands, sizeof(float)) {}

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.prelu(static_cast<const float *>(x), x_step, static_cast<const float *>(y), y_step,
                  static_cast<float *>(z), n);
  }
};

}  // namespace

OperationPtr apply_function(Io io, const Elementwise &function) {
  return std::make_unique<Apply<float>>(io, function);
}

OperationPtr float16_function(const Kernels &kernels, Io io, const Elementwise &function) {
  return is_exact(kernels, function) ? std::make_unique<Apply<uint16_t>>(io, function) : nullptr;
}

OperationPtr combine(const BinaryOperands &operands, Arithmetic operation) {
  return std::make_unique<Combine<float>>(operands, operation);
}

OperationPtr float16_arithmetic(const BinaryOperands &operands, Arithmetic operation) {
  if (operation == Arithmetic::squared_difference) return nullptr; /* in float32 it is rounded twice */
  return std::make_unique<Combine<uint16_t>>(operands, operation);
}

OperationPtr prelu(const BinaryOperands &operands) { return std::make_unique<Prelu>(operands); }

}  // namespace cpuacc
