/* SPDX-License-Identifier: MIT */
/* Quantization: real values to stored integers, and back. */
#include "kernels/functions.h"
#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* As many 16-bit elements as there are floats in a register. */
typedef int16_t FewShorts __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));

template <typename T>
inline Ints load_stored(const T *x) {
  if constexpr (sizeof(T) == 1) {
    return widened<T>(reinterpret_cast<const uint8_t *>(x));
  } else {
    FewShorts stored;
    std::memcpy(&stored, x, sizeof stored);
    return __builtin_convertvector(stored, Ints);
  }
}

/* The first n of numbers that fit into the type. */
template <typename T>
inline void store_stored(T *y, Ints numbers, int64_t n) {
  if constexpr (sizeof(T) == 1) {
    const Bytes stored = narrowed(numbers);
    std::memcpy(y, &stored, static_cast<size_t>(n));
  } else {
    const FewShorts stored = __builtin_convertvector(numbers, FewShorts);
    std::memcpy(y, &stored, static_cast<size_t>(n) * sizeof(T));
  }
}

template <typename T>
void dequantize(const void *from, float *y, int64_t n, float scale, int32_t zero_point) {
  const T *x = static_cast<const T *>(from);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store(y + i, __builtin_convertvector(load_stored(x + i) - zero_point, Floats) * scale);
  }
  for (; i < n; ++i) y[i] = static_cast<float>(static_cast<int32_t>(x[i]) - zero_point) * scale;
}

template <int V>
void rows_to_float32(const int8_t *x, const float *steps, float *y, int64_t rows) {
  Floats of_column[V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) of_column[v] = load(steps + v * kLanes);
  for (int64_t i = 0; i < rows; ++i) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      store(y, __builtin_convertvector(load_stored(x), Floats) * of_column[v]);
      x += kLanes;
      y += kLanes;
    }
  }
}

void dequantize_s8_panel(const int8_t *x, const float *steps, float *y, int64_t rows, int64_t row) {
  row == kLanes ? rows_to_float32<1>(x, steps, y, rows) : rows_to_float32<kVectors>(x, steps, y, rows);
}

/* To the nearest whole number, ties away from zero: the added number is the largest one below 0.5,
 * so that only ties and what is above them reach the next one.
 */
inline Ints rounded(Floats x) {
  return __builtin_convertvector(x + with_sign_of(splat(0.49999997f), x), Ints);
}

/* NaN becomes zero. */
template <typename T>
void quantize(const float *x, void *to, int64_t n, float scale, int32_t zero_point) {
  constexpr int32_t kLowest = T(-1) < T(0) ? -(1 << (8 * sizeof(T) - 1)) : 0;
  constexpr int32_t kHighest = kLowest + (1 << (8 * sizeof(T))) - 1;
  const auto lowest = static_cast<float>(int64_t{kLowest} - zero_point);
  const auto highest = static_cast<float>(int64_t{kHighest} - zero_point);
  T *y = static_cast<T *>(to);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = n - i < kLanes ? n - i : kLanes;
    const Floats real = (left == kLanes ? load(x + i) : load_part(x + i, left)) / scale;
    const Ints whole = rounded(bounded(real == real ? real : Floats{}, highest, lowest)) + zero_point;
    if (left == kLanes) {
      store_stored(y + i, whole, kLanes); /* a known count is one store */
    } else {
      store_stored(y + i, whole, left);
    }
  }
}

/* To unsigned bytes, rounded as ONNX does: ties go to the even neighbor; NaN becomes the zero point. */
void quantize_to_even(const float *x, uint8_t *y, int64_t n, float scale, int32_t zero_point) {
  const float lowest = static_cast<float>(-zero_point);
  const float highest = static_cast<float>(255 - zero_point);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = n - i < kLanes ? n - i : kLanes;
    Floats steps = round_even((left == kLanes ? load(x + i) : load_part(x + i, left)) / scale);
    steps = steps == steps ? steps : Floats{};
    steps = minimum(maximum(steps, splat(lowest)), splat(highest));
    const Bytes stored = narrowed(__builtin_convertvector(steps, Ints) + zero_point);
    left == kLanes ? store_bytes(y + i, stored) : store_bytes(y + i, stored, left);
  }
}

/* Sums are kept as they are after each term. */
struct AllKept {
  Floats operator()(Floats sum) const { return sum; }
};

struct WholeSteps {
  Floats scale, lowest, highest;
  Floats operator()(Floats sum) const {
    const Floats steps = minimum(maximum(sum / scale, lowest), highest);
    return __builtin_convertvector(rounded(steps), Floats) * scale;
  }
};

/* V vectors of sums, which run side by side; each product is rounded before it is added. */
template <int V, typename Memory, typename Keep>
void add_terms(const SumsInSteps &s, int64_t first, const Memory &memory, const Keep &keep) {
  Floats sums[V];
  CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[v] = memory.get(s.sums + first + v * kLanes);
  const float *weights = s.weights + first;
  for (int64_t k = 0; k < s.depth; ++k, weights += s.stride) {
    const float factor = s.row[k];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      sums[v] = keep(sums[v] + hidden(factor * memory.get(weights + v * kLanes)));
    }
  }
  CPUACC_UNROLL for (int v = 0; v < V; ++v) memory.put(s.sums + first + v * kLanes, sums[v]);
}

template <typename Keep>
void add_all_terms(const SumsInSteps &s, const Keep &keep) {
  constexpr int kTogether = 4;
  int64_t i = 0;
  for (; i + kTogether * kLanes <= s.n; i += kTogether * kLanes) add_terms<kTogether>(s, i, All{}, keep);
  for (; i + kLanes <= s.n; i += kLanes) add_terms<1>(s, i, All{}, keep);
  if (i < s.n) add_terms<1>(s, i, First{s.n - i}, keep);
}

void accumulate_requantized(const SumsInSteps &s) {
  if (s.scale == 0.0f) return add_all_terms(s, AllKept{});
  add_all_terms(s, WholeSteps{splat(s.scale), splat(s.lowest), splat(s.highest)});
}

}  // namespace

void fill_quantize(Kernels &table) {
  table.dequantize_s8_panel = dequantize_s8_panel;
  table.dequantize[static_cast<int>(Integer::unsigned8)] = dequantize<uint8_t>;
  table.dequantize[static_cast<int>(Integer::signed8)] = dequantize<int8_t>;
  table.dequantize[static_cast<int>(Integer::signed16)] = dequantize<int16_t>;
  table.quantize[static_cast<int>(Integer::unsigned8)] = quantize<uint8_t>;
  table.quantize[static_cast<int>(Integer::signed8)] = quantize<int8_t>;
  table.quantize[static_cast<int>(Integer::signed16)] = quantize<int16_t>;
  table.quantize_to_even = quantize_to_even;
  table.accumulate_requantized = accumulate_requantized;
}

}  // namespace cpuacc::CPUACC_LEVEL
