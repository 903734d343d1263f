/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/functions.h"

#include <cmath>
#include <type_traits>

#include "armnn/layers.h"
#include "graph/data_types.h"

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

/* Negated by its magnitude, so that the lowest integer is its own negative. */
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

}  // namespace cpuacc
