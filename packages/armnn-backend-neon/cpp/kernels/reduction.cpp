/* SPDX-License-Identifier: MIT */
/* Reductions of whole rows: sums and extremes, softmax, normalisation. */
#include "kernels/column_reduction.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr float kLeast = 0x1p-100f; /* below, sums of squares may have lost all of them to underflow */

/* The first n lanes of x, and the others of filler. */
inline Floats filled(Floats x, int64_t n, Floats filler) {
  Ints lanes{};
  CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) lanes[i] = i;
  return lanes < splat_int(static_cast<int32_t>(n)) ? x : filler;
}

inline Floats load_filled(const float *x, int64_t n, float filler) {
  return filled(load_part(x, n), n, splat(filler));
}

inline float combine_lanes(Reduction reduction, Floats x) {
  return folded(x, [reduction](Floats a, Floats b) { return combine(reduction, a, b); });
}

float reduce_row(Reduction reduction, const float *x, int64_t n) {
  Floats sum = splat(neutral(reduction));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum = combine(reduction, sum, load(x + i));
  if (i < n) sum = combine(reduction, sum, load_filled(x + i, n - i, neutral(reduction)));
  const float result = combine_lanes(reduction, sum);
  if (reduction != Reduction::mean) return result;
  const bool is_finite = result - result == 0.0f;
  return is_finite || n == 0 ? result / static_cast<float>(n) : mean_in_double(x, n, 1);
}

void reduce_columns(Reduction reduction, const float *x, int64_t count, int64_t stride, float *y, int64_t n) {
  reduce_columns_of(reduction, x, count, stride, y, n);
}

/* What is not finite makes NaN of its product with 0. Several vectors side by side wait for no result of each other. */
Extremes extremes(const float *x, int64_t n) {
  constexpr int kWide = 4;
  Floats least[kWide], most[kWide], strange[kWide];
  CPUACC_UNROLL for (int v = 0; v < kWide; ++v) {
    least[v] = most[v] = splat(x[0]);
    strange[v] = Floats{};
  }
  const auto look_at = [&](int v, Floats each) {
    least[v] = minimum(each, least[v]);
    most[v] = maximum(each, most[v]);
    strange[v] += each * 0.0f;
  };
  int64_t i = 0;
  for (; i + kWide * kLanes <= n; i += kWide * kLanes) {
    CPUACC_UNROLL for (int v = 0; v < kWide; ++v) look_at(v, load(x + i + v * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) look_at(0, load(x + i));
  if (i < n) look_at(0, load_filled(x + i, n - i, x[0]));
  CPUACC_UNROLL for (int v = 1; v < kWide; ++v) {
    least[0] = minimum(least[v], least[0]);
    most[0] = maximum(most[v], most[0]);
    strange[0] += strange[v];
  }
  return {folded(least[0], minimum), folded(most[0], maximum), sum_of(strange[0]) == 0.0f};
}

/* The least or the largest; any number where one of them is NaN. */
template <typename F>
inline float extreme(const float *x, int64_t n, const F &function) {
  Floats most = splat(x[0]);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) most = function(load(x + i), most);
  if (i < n) most = function(load_filled(x + i, n - i, x[0]), most);
  return folded(most, function);
}

void softmax(const float *x, float *y, int64_t n, float beta, bool takes_logarithm) {
  if (n == 0) return;
  const float top = beta < 0.0f ? extreme(x, n, minimum) : extreme(x, n, maximum);
  const float size = beta < 0.0f ? -beta : beta;
  if (size < (takes_logarithm ? 1.0f : kLeast)) {
    /* A difference may overflow that times beta does not. */
    const float bottom = beta < 0.0f ? extreme(x, n, maximum) : extreme(x, n, minimum);
    if (!((top - bottom) * 0.0f == 0.0f)) {
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] * beta;
      return softmax(y, y, n, 1.0f, takes_logarithm);
    }
  }
  Floats sums{};
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = n - i;
    const bool is_whole = left >= kLanes;
    const Floats shifted = ((is_whole ? load(x + i) : load_filled(x + i, left, top)) - top) * beta;
    const Floats power = exponential(shifted);
    if (is_whole) {
      sums += power;
      store(y + i, takes_logarithm ? shifted : power);
    } else {
      store_part(y + i, takes_logarithm ? shifted : power, left);
      sums += filled(power, left, Floats{});
    }
  }
  const float sum = sum_of(sums);
  const float factor = takes_logarithm ? 1.0f : 1.0f / sum;
  const float shift = takes_logarithm ? logarithm(splat(sum))[0] : 0.0f;
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = n - i;
    if (left >= kLanes) {
      store(y + i, load(y + i) * factor - shift);
    } else {
      store_part(y + i, load_part(y + i, left) * factor - shift, left);
    }
  }
}

/* The sum of (x - mean)^2. */
inline float squares(const float *x, int64_t n, float mean) {
  Floats sum{};
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = n - i;
    const Floats off = (left >= kLanes ? load(x + i) : load_filled(x + i, left, mean)) - mean;
    sum += off * off;
  }
  return sum_of(sum);
}

/* The same in double, for rows whose squares float32 cannot hold. */
__attribute__((noinline)) void normalize_in_double(const float *x, const float *gamma, const float *beta,
                                                   float *y, int64_t n, float eps, bool subtracts_mean) {
  double mean = 0.0;
  if (subtracts_mean) {
    for (int64_t i = 0; i < n; ++i) mean += static_cast<double>(x[i]);
    mean /= static_cast<double>(n);
  }
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  const double root = __builtin_sqrt(sum / static_cast<double>(n) + static_cast<double>(eps));
  for (int64_t i = 0; i < n; ++i) {
    double z = (static_cast<double>(x[i]) - mean) / root;
    if (gamma != nullptr) z *= static_cast<double>(gamma[i]);
    if (beta != nullptr) z += static_cast<double>(beta[i]);
    y[i] = static_cast<float>(z);
  }
}

void normalize(const float *x, const float *gamma, const float *beta, float *y, int64_t n, float eps,
               bool subtracts_mean) {
  const float mean = subtracts_mean ? reduce_row(Reduction::mean, x, n) : 0.0f;
  const float variance = squares(x, n, mean) / static_cast<float>(n);
  if (!(variance + eps >= kLeast && variance < kInfinity)) {
    return normalize_in_double(x, gamma, beta, y, n, eps, subtracts_mean);
  }
  const float factor = 1.0f / square_root(splat(variance + eps))[0];
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = n - i;
    const bool is_whole = left >= kLanes;
    Floats z = ((is_whole ? load(x + i) : load_part(x + i, left)) - mean) * factor;
    if (gamma != nullptr) z *= is_whole ? load(gamma + i) : load_part(gamma + i, left);
    if (beta != nullptr) z += is_whole ? load(beta + i) : load_part(beta + i, left);
    is_whole ? store(y + i, z) : store_part(y + i, z, left);
  }
}

}  // namespace

void fill_reduction(Kernels &table) {
  table.reduce_row = reduce_row;
  table.extremes = extremes;
  table.reduce_columns = reduce_columns;
  table.softmax = softmax;
  table.normalize = normalize;
}

}  // namespace cpuacc::CPUACC_LEVEL
