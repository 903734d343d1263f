/* SPDX-License-Identifier: MIT */
/* Reductions of columns: y[i] of x[j * stride + i]. */
#pragma once

#include "kernels/functions.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr float kInfinity = __builtin_inff();

/* One number, as float32. */
[[maybe_unused]] inline float number(const float *x) { return *x; }
[[maybe_unused]] inline float number(const Bfloat16 *x) {
  const uint32_t bits = static_cast<uint32_t>(x->bits) << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

/* The mean of n numbers in double, for means that overflowed or are NaN in float32. */
template <typename Number>
__attribute__((noinline)) float mean_in_double(const Number *x, int64_t n, int64_t stride) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(number(x + i * stride));
  return static_cast<float>(sum / static_cast<double>(n));
}

/* NaN stays. T: Floats or float. */
template <typename T>
inline T larger_or_last(T x, T y) {
  return x != x ? x : (y <= x ? x : y);
}
template <typename T>
inline T smaller_or_last(T x, T y) {
  return x != x ? x : (y >= x ? x : y);
}

template <typename T>
inline T combine(Reduction reduction, T x, T y) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean: return x + y;
    case Reduction::maximum: return larger_or_last(x, y);
    case Reduction::minimum: return smaller_or_last(x, y);
    case Reduction::product: return x * y;
  }
  return x;
}

[[maybe_unused]] inline float neutral(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean: return 0.0f;
    case Reduction::maximum: return -kInfinity;
    case Reduction::minimum: return kInfinity;
    case Reduction::product: return 1.0f;
  }
  return 0.0f;
}

/* Where the means of columns are not finite, they are computed again. */
template <typename Number>
__attribute__((noinline)) void repair_means(const Number *x, int64_t count, int64_t stride, float *y, int64_t n) {
  for (int64_t i = 0; i < n && count > 0; ++i) {
    if (!(y[i] - y[i] == 0.0f)) y[i] = mean_in_double(x + i, count, stride);
  }
}

/* Several vectors of columns at a time, so that memory is read in long runs; returns how many columns
 * are done.
 */
template <typename Number>
inline int64_t reduce_wide_columns(Reduction reduction, const Number *x, int64_t count, int64_t stride,
                                   float *y, int64_t n, Floats &strange) {
  constexpr int kWide = 6;
  int64_t i = 0;
  for (; i + kWide * kLanes <= n; i += kWide * kLanes) {
    Floats sums[kWide];
    CPUACC_UNROLL for (int v = 0; v < kWide; ++v) sums[v] = splat(neutral(reduction));
    for (int64_t j = 0; j < count; ++j) {
      const Number *p = x + j * stride + i;
      CPUACC_UNROLL for (int v = 0; v < kWide; ++v) {
        sums[v] = combine(reduction, sums[v], get(All{}, p + v * kLanes));
      }
    }
    const float divisor = reduction == Reduction::mean ? static_cast<float>(count) : 1.0f;
    CPUACC_UNROLL for (int v = 0; v < kWide; ++v) {
      store(y + i + v * kLanes, sums[v] / divisor);
      strange += sums[v] * 0.0f;
    }
  }
  return i;
}

template <typename Number>
void reduce_columns_of(Reduction reduction, const Number *x, int64_t count, int64_t stride, float *y, int64_t n) {
  Floats strange{}; /* becomes NaN where a result is not finite */
  int64_t i = reduce_wide_columns(reduction, x, count, stride, y, n, strange);
  for (; i < n; i += kLanes) {
    const int64_t left = n - i;
    Floats sum = splat(neutral(reduction));
    for (int64_t j = 0; j < count; ++j) {
      const Number *p = x + j * stride + i;
      sum = combine(reduction, sum, left >= kLanes ? get(All{}, p) : get(First{left}, p));
    }
    if (reduction == Reduction::mean) sum /= static_cast<float>(count);
    strange += sum * 0.0f;
    left >= kLanes ? store(y + i, sum) : store_part(y + i, sum, left);
  }
  if (reduction == Reduction::mean && sum_of(strange) != 0.0f) repair_means(x, count, stride, y, n);
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
