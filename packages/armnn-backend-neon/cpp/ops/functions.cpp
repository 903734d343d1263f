/* SPDX-License-Identifier: MIT */
/* Functions of one element that no kernel has: of integers, Boolean and Float64, and rare ones. */
#include <cmath>
#include <type_traits>

#include "ops/broadcasting.h"
#include "ops/elementwise.h"
#include "ops/types.h"

namespace cpuacc {
namespace {

/* The library's function of a floating point number. */
template <double (*Wide)(double), float (*Narrow)(float)>
struct Library {
  static double of(double x) { return Wide(x); }
  static float of(float x) { return Narrow(x); }
};

template <typename F>
Line of_floats(armnn_data_type type) {
  if (type == ARMNN_FLOAT32) return unary_line<float, float, F>;
  return type == ARMNN_FLOAT64 ? static_cast<Line>(unary_line<double, double, F>) : nullptr;
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
Line of_integers(armnn_data_type type) {
  return visit_integer(type, [](auto tag) -> Line {
    using T = typename decltype(tag)::Type;
    return unary_line<T, T, F>;
  });
}

Line function_of_floats(int64_t operation, armnn_data_type type) {
  switch (operation) {
    case 0: return of_floats<Magnitude>(type);
    case 1: return of_floats<Library<std::exp, std::exp>>(type);
    case 2: return of_floats<Library<std::sqrt, std::sqrt>>(type);
    case 3: return of_floats<InverseRoot>(type);
    case 4: return of_floats<Negative>(type);
    case 6: return of_floats<Library<std::log, std::log>>(type);
    case 7: return of_floats<Library<std::sin, std::sin>>(type);
    case 8: return of_floats<Library<std::ceil, std::ceil>>(type);
    case 1000: return of_floats<Library<std::erf, std::erf>>(type);
    case 1001: return of_floats<Library<std::nearbyint, std::nearbyint>>(type);
    case 1002: return of_floats<Sign>(type);
    case 1003: return of_floats<Library<std::cos, std::cos>>(type);
    case 1004: return of_floats<Library<std::tan, std::tan>>(type);
    case 1005: return of_floats<Library<std::asin, std::asin>>(type);
    case 1006: return of_floats<Library<std::acos, std::acos>>(type);
    case 1007: return of_floats<Library<std::atan, std::atan>>(type);
    case 1008: return of_floats<Library<std::sinh, std::sinh>>(type);
    case 1009: return of_floats<Library<std::cosh, std::cosh>>(type);
    case 1010: return of_floats<Library<std::asinh, std::asinh>>(type);
    case 1011: return of_floats<Library<std::acosh, std::acosh>>(type);
    case 1012: return of_floats<Library<std::atanh, std::atanh>>(type);
    case 1013: return of_floats<Reciprocal>(type);
    default: return nullptr;
  }
}

Line function_of_integers(int64_t operation, armnn_data_type type) {
  switch (operation) {
    case 0: return of_integers<Magnitude>(type);
    case 4: return of_integers<Negative>(type);
    case 8:
    case 1001: return of_integers<Itself>(type);
    case 1002: return of_integers<Sign>(type);
    case 1014: return of_integers<BitwiseNot>(type);
    default: return nullptr;
  }
}

}  // namespace

void lower_other_function(Lowering &l, int64_t operation) {
  const armnn_data_type type = l.input(0).type;
  require(l.output().type == type, "the output must have the data type of the input");
  constexpr int64_t kLogicalNot = 5;
  Line line = nullptr;
  if (operation == kLogicalNot) {
    if (type == ARMNN_BOOLEAN) line = unary_line<Truth, Truth, LogicalNot>;
  } else if (type == ARMNN_FLOAT32 || type == ARMNN_FLOAT64) {
    line = function_of_floats(operation, type);
  } else {
    line = function_of_integers(operation, type);
  }
  lower_line(l, line, 10 * kFunctionNs);
}

}  // namespace cpuacc
