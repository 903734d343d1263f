/* SPDX-License-Identifier: MIT */
/* Functions of one element, vectorized. Bounds over the whole range are in tests/test_functions.py.
 *
 * The polynomials are least-squares fits on Chebyshev nodes, reweighted towards the least maximum.
 */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr float kLeastExponent = -104.0f; /* of e^x in float32: less gives 0 */

/* e^x = 2^n (1 + rest), for x from kLeastExponent to 104. */
struct Power {
  Floats n;
  Floats rest;
};

[[maybe_unused]] inline Power power_of_e(Floats x) {
  const Floats n = round_even(x * 1.44269504f);
  const Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Floats p = r * 1.990118636e-04f + 1.393363689e-03f;
  p = p * r + 8.333295613e-03f;
  p = p * r + 4.166646508e-02f;
  p = p * r + 1.666666673e-01f;
  p = p * r + 5.000000013e-01f;
  return {n, p * (r * r) + r};
}

/* For x from kLeastExponent to 89. */
[[maybe_unused]] inline Floats exponential_in_range(Floats x) {
  const Power power = power_of_e(x);
  return times_power_of_two(1.0f + power.rest, power.n);
}

/* For x up to 89. */
[[maybe_unused]] inline Floats exponential_below(Floats x) {
  return exponential_in_range(maximum(splat(kLeastExponent), x));
}

[[maybe_unused]] inline Floats exponential(Floats x) { return exponential_below(minimum(splat(89.0f), x)); }

/* x = m 2^e with m around 1. */
[[maybe_unused]] inline Floats logarithm(Floats x) {
  const Ints is_small = x < 1.17549435e-38f;
  const Floats scaled = is_small ? x * 8388608.0f : x;
  const Words bits = reinterpret_cast<Words>(scaled); /* those of negative numbers wrap around */
  const Ints e = reinterpret_cast<Ints>(bits - 0x3f3504f3u) >> 23;
  const Floats f = reinterpret_cast<Floats>(bits - (reinterpret_cast<Words>(e) << 23)) - 1.0f;
  Floats p = f * 7.188929682e-02f - 1.159234875e-01f;
  p = p * f + 1.165683168e-01f;
  p = p * f - 1.240769315e-01f;
  p = p * f + 1.425002997e-01f;
  p = p * f - 1.666863407e-01f;
  p = p * f + 2.000071080e-01f;
  p = p * f - 2.499998728e-01f;
  p = p * f + 3.333333112e-01f;
  const Floats k = __builtin_convertvector(e, Floats) - (is_small ? splat(23.0f) : Floats{});
  const Floats square = f * f;
  const Floats low = p * f * square - k * 2.12194440e-4f - 0.5f * square;
  Floats y = f + low + k * 0.693359375f;
  const Floats infinity = splat(__builtin_inff());
  y = x == infinity ? x : y;
  y = x == 0.0f ? -infinity : y;
  return x >= 0.0f ? y : splat(__builtin_nanf(""));
}

/* e^x - 1, which keeps the digits of small x, for x from kLeastExponent to 88. */
[[maybe_unused]] inline Floats less_one_in_range(Floats x) {
  const Power power = power_of_e(x);
  const Floats scale = times_power_of_two(splat(1.0f), power.n);
  return power.rest * scale + (scale - 1.0f);
}

/* For x up to 88. */
[[maybe_unused]] inline Floats exponential_less_one(Floats x) {
  return less_one_in_range(maximum(splat(kLeastExponent), minimum(splat(88.0f), x)));
}

/* (e^2x - 1) / (e^2x + 1). */
[[maybe_unused]] inline Floats hyperbolic_tangent(Floats x) {
  const Floats size = absolute(x);
  const Floats less_one = less_one_in_range(minimum(splat(20.0f), size + size)); /* from 10 on the nearest float is 1 */
  return with_sign_of(less_one / (less_one + 2.0f), x);
}

/* 2^-n / (2^-n + 1 + rest), where e^-x = 2^n (1 + rest): small values stay exact. From 20 on the nearest float is 1. */
[[maybe_unused]] inline Floats logistic(Floats x) {
  const Power power = power_of_e(-maximum(splat(kLeastExponent), minimum(splat(20.0f), x)));
  const Floats scale = times_power_of_two(splat(1.0f), -power.n);
  return scale / (scale + (1.0f + power.rest));
}

/* Near 0 by a polynomial, else 1 - q(x)^4, where q fits the fourth root of erfc. */
[[maybe_unused]] inline Floats error_function(Floats x) {
  const Floats s = x * x;
  Floats p = s * 7.787367940e-05f - 7.991524180e-04f;
  p = p * s + 5.186373834e-03f;
  p = p * s - 2.685287595e-02f;
  p = p * s + 1.128356531e-01f;
  p = p * s - 3.761262298e-01f;
  p = p * s + 1.283791661e-01f;
  const Floats near = x + x * p;
  const Floats t = absolute(x);
  const Floats bounded = minimum(splat(3.92f), t); /* from there on the nearest float is 1 */
  Floats q = bounded * -2.309836236e-05f + 1.911741565e-04f;
  q = q * bounded + 6.857301923e-04f;
  q = q * bounded - 1.240637805e-02f;
  q = q * bounded + 4.301087558e-02f;
  q = q * bounded - 1.631299406e-02f;
  q = q * bounded - 9.438522905e-02f;
  q = q * bounded - 2.930559814e-01f;
  q = q * bounded + 1.002065420e+00f;
  q = q * q;
  const Floats far = with_sign_of(1.0f - q * q, x);
  return t < 1.0f ? near : far;
}

/* ln(1 + e^x), without overflow. The quotient gives back what rounding took from the sum. */
[[maybe_unused]] inline Floats soft_plus(Floats x) {
  const Floats tail = exponential_below(-absolute(x));
  const Floats sum = 1.0f + tail;
  const Floats logarithm_of_sum = logarithm(sum) * (tail / (sum - 1.0f));
  const Floats y = (sum == 1.0f ? tail : logarithm_of_sum) + (x > 0.0f ? x : Floats{});
  return x == x ? y : x;
}

[[maybe_unused]] inline Floats bounded(Floats x, float upper, float lower) {
  return minimum(splat(upper), maximum(splat(lower), x));
}

[[maybe_unused]] inline __attribute__((always_inline)) Floats apply(const Elementwise &f, Floats x) {
  const Floats zero{};
  const Floats one = splat(1.0f);
  switch (f.function) {
    case Function::identity: return x;
    case Function::clamp: return bounded(x, f.a, f.b);
    case Function::sigmoid: return logistic(x);
    case Function::tanh: return f.a * hyperbolic_tangent(f.b * x);
    case Function::linear: return f.a * x + f.b;
    case Function::soft_relu: return soft_plus(x);
    case Function::leaky_relu: return x > zero ? x : f.a * x;
    case Function::abs: return absolute(x);
    case Function::sqrt: return square_root(x);
    case Function::square: return x * x;
    case Function::elu: return x >= zero ? x : f.a * exponential_less_one(x);
    case Function::hard_swish: return x * (bounded(x + 3.0f, 6.0f, 0.0f) * (1.0f / 6.0f));
    case Function::gelu: return x * 0.5f * (1.0f + error_function(x * 0.707106781f));
    case Function::soft_sign: return x / (1.0f + absolute(x));
    case Function::mish: return x * hyperbolic_tangent(soft_plus(x));
    case Function::selu: return f.b * (x > zero ? x : f.a * exponential_less_one(x));
    case Function::celu: return x > zero ? x : f.a * exponential_less_one(x / f.a);
    case Function::hard_sigmoid: return bounded(f.a * x + f.b, 1.0f, 0.0f);
    case Function::thresholded_relu: return x <= f.a ? zero : x;
    case Function::shrink: return x < -f.a ? x + f.b : (x <= f.a ? zero : x - f.b);
    case Function::swish: return x * logistic(f.a * x);
    /* 1 + tanh(y) is twice the logistic function of 2 y. */
    case Function::gelu_tanh: return x * logistic(1.59576912f * (x + 0.044715f * x * x * x));
    case Function::exp: return exponential(x);
    case Function::rsqrt: return 1.0f / square_root(x);
    case Function::negative: return -x;
    case Function::log: return logarithm(x);
    case Function::ceil: return ceil(x);
    case Function::floor: return floor(x);
    case Function::erf: return error_function(x);
    case Function::round: return round_even(x);
    case Function::sign: return x > zero ? one : (x < zero ? -one : x);
    case Function::reciprocal: return 1.0f / x;
  }
  return x;
}

/* A function that the compiler knows: loops over it hold no switch. */
template <Function F>
struct Known {
  float a;
  float b;
  Floats operator()(Floats x) const { return apply({F, a, b}, x); }
};

/* Calls body with the function as a Known. */
template <typename Body>
inline void with_known(const Elementwise &f, const Body &body) {
  switch (f.function) {
    case Function::identity: return body(Known<Function::identity>{f.a, f.b});
    case Function::clamp: return body(Known<Function::clamp>{f.a, f.b});
    case Function::sigmoid: return body(Known<Function::sigmoid>{f.a, f.b});
    case Function::tanh: return body(Known<Function::tanh>{f.a, f.b});
    case Function::linear: return body(Known<Function::linear>{f.a, f.b});
    case Function::soft_relu: return body(Known<Function::soft_relu>{f.a, f.b});
    case Function::leaky_relu: return body(Known<Function::leaky_relu>{f.a, f.b});
    case Function::abs: return body(Known<Function::abs>{f.a, f.b});
    case Function::sqrt: return body(Known<Function::sqrt>{f.a, f.b});
    case Function::square: return body(Known<Function::square>{f.a, f.b});
    case Function::elu: return body(Known<Function::elu>{f.a, f.b});
    case Function::hard_swish: return body(Known<Function::hard_swish>{f.a, f.b});
    case Function::gelu: return body(Known<Function::gelu>{f.a, f.b});
    case Function::soft_sign: return body(Known<Function::soft_sign>{f.a, f.b});
    case Function::mish: return body(Known<Function::mish>{f.a, f.b});
    case Function::selu: return body(Known<Function::selu>{f.a, f.b});
    case Function::celu: return body(Known<Function::celu>{f.a, f.b});
    case Function::hard_sigmoid: return body(Known<Function::hard_sigmoid>{f.a, f.b});
    case Function::thresholded_relu: return body(Known<Function::thresholded_relu>{f.a, f.b});
    case Function::shrink: return body(Known<Function::shrink>{f.a, f.b});
    case Function::swish: return body(Known<Function::swish>{f.a, f.b});
    case Function::gelu_tanh: return body(Known<Function::gelu_tanh>{f.a, f.b});
    case Function::exp: return body(Known<Function::exp>{f.a, f.b});
    case Function::rsqrt: return body(Known<Function::rsqrt>{f.a, f.b});
    case Function::negative: return body(Known<Function::negative>{f.a, f.b});
    case Function::log: return body(Known<Function::log>{f.a, f.b});
    case Function::ceil: return body(Known<Function::ceil>{f.a, f.b});
    case Function::floor: return body(Known<Function::floor>{f.a, f.b});
    case Function::erf: return body(Known<Function::erf>{f.a, f.b});
    case Function::round: return body(Known<Function::round>{f.a, f.b});
    case Function::sign: return body(Known<Function::sign>{f.a, f.b});
    case Function::reciprocal: return body(Known<Function::reciprocal>{f.a, f.b});
  }
}

/* In place, over n vectors. */
[[maybe_unused]] __attribute__((noinline)) void apply_all(const Elementwise &f, Floats *x, int64_t n) {
  with_known(f, [&](auto function) {
    for (int64_t i = 0; i < n; ++i) x[i] = function(x[i]);
  });
}

/* A function of sums in registers, then its scale and shift; the functions that most networks use stay there. */
template <int N>
inline void finish(const Elementwise &f, Floats (&sums)[N]) {
  if (f.function == Function::clamp) {
    CPUACC_UNROLL for (int i = 0; i < N; ++i) sums[i] = bounded(sums[i], f.a, f.b);
  } else if (f.function == Function::hard_swish) {
    const Known<Function::hard_swish> function{f.a, f.b};
    CPUACC_UNROLL for (int i = 0; i < N; ++i) sums[i] = function(sums[i]);
  } else if (f.function != Function::identity) {
    Floats spilled[N];
    CPUACC_UNROLL for (int i = 0; i < N; ++i) spilled[i] = sums[i];
    apply_all(f, spilled, N);
    CPUACC_UNROLL for (int i = 0; i < N; ++i) sums[i] = spilled[i];
  }
  if (f.is_scaled()) {
    CPUACC_UNROLL for (int i = 0; i < N; ++i) sums[i] = sums[i] * f.scale + f.shift;
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
