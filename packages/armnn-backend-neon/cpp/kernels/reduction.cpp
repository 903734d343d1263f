/* SPDX-License-Identifier: MIT */
/* Reductions of whole rows: sums and extremes, softmax, normalization. */
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

constexpr int kTogether = 4; /* vectors of a row, so that none waits for the one before it */

/* A row reduced to one number in each lane. Args: start: what lanes begin with; filler: a number that changes nothing, behind the
 * last one; add: takes what a lane has and a number; merge: two lanes.
 */
template <typename Add, typename Merge>
inline Floats lanes_of_row(const float *x, int64_t n, float start, float filler, const Add &add, const Merge &merge) {
  Floats parts[kTogether];
  CPUACC_UNROLL for (int v = 0; v < kTogether; ++v) parts[v] = splat(start);
  int64_t i = 0;
  for (; i + kTogether * kLanes <= n; i += kTogether * kLanes) {
    CPUACC_UNROLL for (int v = 0; v < kTogether; ++v) parts[v] = add(parts[v], load(x + i + v * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) parts[0] = add(parts[0], load(x + i));
  if (i < n) parts[0] = add(parts[0], load_filled(x + i, n - i, filler));
  return merge(merge(parts[0], parts[1]), merge(parts[2], parts[3]));
}

template <Reduction kReduction>
float reduced_row(const float *x, int64_t n) {
  const auto merge = [](Floats a, Floats b) { return combine(kReduction, a, b); };
  return folded(lanes_of_row(x, n, neutral(kReduction), neutral(kReduction), merge, merge), merge);
}

/* Rows that are shorter than a register: lanes would be empty. kCount: of a row's numbers; 0: as count says. */
template <Reduction kReduction, int64_t kCount>
void reduce_short_rows(const float *x, int64_t rows, int64_t count, float *y) {
  const int64_t numbers = kCount > 0 ? kCount : count;
  for (int64_t i = 0; i < rows; ++i) {
    float result = neutral(kReduction);
    for (int64_t k = 0; k < numbers; ++k) result = combine(kReduction, result, x[i * numbers + k]);
    y[i] = result;
  }
}

template <Reduction kReduction>
void reduce_all_rows(const float *x, int64_t rows, int64_t count, float *y) {
  if (count == 2) return reduce_short_rows<kReduction, 2>(x, rows, count, y);
  if (count == 3) return reduce_short_rows<kReduction, 3>(x, rows, count, y);
  if (count == 4) return reduce_short_rows<kReduction, 4>(x, rows, count, y);
  if (count < kLanes) return reduce_short_rows<kReduction, 0>(x, rows, count, y);
  for (int64_t i = 0; i < rows; ++i) y[i] = reduced_row<kReduction>(x + i * count, count);
}

void reduce_rows(Reduction reduction, const float *x, int64_t rows, int64_t count, float *y) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::mean: reduce_all_rows<Reduction::sum>(x, rows, count, y); break;
    case Reduction::maximum: return reduce_all_rows<Reduction::maximum>(x, rows, count, y);
    case Reduction::minimum: return reduce_all_rows<Reduction::minimum>(x, rows, count, y);
    case Reduction::product: return reduce_all_rows<Reduction::product>(x, rows, count, y);
  }
  if (reduction == Reduction::sum) return;
  for (int64_t i = 0; i < rows; ++i) {
    const bool is_finite = y[i] - y[i] == 0.0f;
    y[i] = is_finite || count == 0 ? y[i] / static_cast<float>(count) : mean_in_double(x + i * count, count, 1);
  }
}

float reduce_row(Reduction reduction, const float *x, int64_t n) {
  float result;
  reduce_rows(reduction, x, 1, n, &result);
  return result;
}

void reduce_columns(Reduction reduction, const float *x, int64_t count, int64_t stride, float *y, int64_t n) {
  reduce_columns_of(reduction, x, count, stride, y, n);
}

/* The least or the largest; any number where one of them is NaN. */
template <bool kIsLeast>
inline float extreme(const float *x, int64_t n) {
  const auto function = [](Floats a, Floats b) { return kIsLeast ? minimum(a, b) : maximum(a, b); };
  const auto add = [&](Floats most, Floats numbers) { return function(numbers, most); };
  return folded(lanes_of_row(x, n, x[0], x[0], add, function), function);
}

/* The product of a number that is not finite with 0 is NaN. */
Extremes extremes(const float *x, int64_t n) {
  Floats low[kTogether], high[kTogether];
  Floats strange[kTogether] = {};
  CPUACC_UNROLL for (int v = 0; v < kTogether; ++v) low[v] = high[v] = splat(x[0]);
  const auto add = [&](int v, Floats numbers) {
    low[v] = minimum(low[v], numbers);
    high[v] = maximum(high[v], numbers);
    strange[v] += numbers * 0.0f;
  };
  int64_t i = 0;
  for (; i + kTogether * kLanes <= n; i += kTogether * kLanes) {
    CPUACC_UNROLL for (int v = 0; v < kTogether; ++v) add(v, load(x + i + v * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) add(0, load(x + i));
  if (i < n) add(0, load_filled(x + i, n - i, x[0]));
  const Floats least = minimum(minimum(low[0], low[1]), minimum(low[2], low[3]));
  const Floats largest = maximum(maximum(high[0], high[1]), maximum(high[2], high[3]));
  const Floats all = (strange[0] + strange[1]) + (strange[2] + strange[3]);
  return {folded(least, minimum), folded(largest, maximum), sum_of(all) == 0.0f};
}

inline float extreme(const float *x, int64_t n, bool is_least) {
  return is_least ? extreme<true>(x, n) : extreme<false>(x, n);
}

/* Writes e^(beta (x - top)), which is at most 1, or its logarithm; returns the sum of the former. Args: is_padded: y
 * holds whole vectors.
 */
inline float powers(const float *x, float *y, int64_t n, bool is_padded, float top, float beta, bool takes_logarithm) {
  Floats sums{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats shifted = (load(x + i) - top) * beta;
    const Floats power = exponential_below(shifted);
    sums += power;
    store(y + i, takes_logarithm ? shifted : power);
  }
  if (i < n) {
    const int64_t left = n - i;
    const Floats shifted = (load_filled(x + i, left, top) - top) * beta;
    const Floats power = exponential_below(shifted);
    sums += filled(power, left, Floats{});
    const Floats last = takes_logarithm ? shifted : power;
    is_padded ? store(y + i, last) : store_part(y + i, last, left);
  }
  return sum_of(sums);
}

/* Rows take turns in each step, as one alone would wait for what it is reduced to. What is between steps is in memory
 * of its own: a load from where part of a vector was just stored waits for that, even beside that part.
 */
constexpr int64_t kMostRows = 8;
constexpr int64_t kMostNumbers = 2048; /* of all rows; a longer row is alone, and there is nothing but y */

void softmax_together(const float *x, float *y, int64_t rows, int64_t n, float beta, bool takes_logarithm) {
  alignas(sizeof(Floats)) float room[kMostNumbers];
  float tops[kMostRows], sums[kMostRows];
  const int64_t whole = (n + kLanes - 1) / kLanes * kLanes;
  const bool is_padded = whole <= kMostNumbers;
  float *between = is_padded ? room : y;
  for (int64_t r = 0; r < rows; ++r) tops[r] = extreme(x + r * n, n, beta < 0.0f);
  for (int64_t r = 0; r < rows; ++r) {
    sums[r] = powers(x + r * n, between + r * whole, n, is_padded, tops[r], beta, takes_logarithm);
  }
  for (int64_t r = 0; r < rows; ++r, y += n, between += whole) {
    const float factor = takes_logarithm ? 1.0f : 1.0f / sums[r];
    const float shift = takes_logarithm ? logarithm(splat(sums[r]))[0] : 0.0f;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(y + i, load(between + i) * factor - shift);
    if (i == n) continue;
    const Floats last = is_padded ? load(between + i) : load_part(between + i, n - i);
    store_part(y + i, last * factor - shift, n - i);
  }
}

void softmax(const float *x, float *y, int64_t rows, int64_t n, float beta, bool takes_logarithm) {
  if (n == 0) return;
  const float size = beta < 0.0f ? -beta : beta;
  /* A difference may overflow that times beta does not. */
  const bool may_overflow = size < (takes_logarithm ? 1.0f : kLeast);
  const int64_t fitting = kMostNumbers / (n + kLanes - 1);
  const int64_t most = may_overflow || fitting == 0 ? 1 : fitting < kMostRows ? fitting : kMostRows;
  for (int64_t some; rows > 0; rows -= some, x += some * n, y += some * n) {
    some = rows < most ? rows : most;
    if (may_overflow && !((extreme(x, n, true) - extreme(x, n, false)) * 0.0f == 0.0f)) {
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] * beta;
      softmax_together(y, y, 1, n, 1.0f, takes_logarithm);
    } else {
      softmax_together(x, y, some, n, beta, takes_logarithm);
    }
  }
}

/* The sum of (x - mean)^2. */
inline float squares(const float *x, int64_t n, float mean) {
  const auto add = [&](Floats sum, Floats numbers) { return sum + (numbers - mean) * (numbers - mean); };
  return sum_of(lanes_of_row(x, n, 0.0f, mean, add, [](Floats a, Floats b) { return a + b; }));
}

/* Normalizes a row in double, for rows whose squares float32 cannot hold. */
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
  table.reduce_rows = reduce_rows;
  table.extremes = extremes;
  table.reduce_columns = reduce_columns;
  table.softmax = softmax;
  table.normalize = normalize;
}

}  // namespace cpuacc::CPUACC_LEVEL
