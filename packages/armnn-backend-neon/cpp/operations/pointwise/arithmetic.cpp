/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/functions.h"

#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include "armnn/layers.h"
#include "graph/data_types.h"

namespace cpuacc {
namespace {

/* What an integer is computed in, so that it wraps around. */
template <typename T>
using Modular = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T>;

/* A function of the standard library; that of integers wraps around. */
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

/* Of negative powers of integers only those of 1 and -1 are whole. */
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

}  // namespace cpuacc
