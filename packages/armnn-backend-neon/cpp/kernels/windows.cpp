/* SPDX-License-Identifier: MIT */
/* Sliding windows over channels-last images: depthwise convolution and pooling. */
#include "kernels/functions.h"
#include "kernels/level.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

constexpr int64_t kBlock = 4; /* outputs side by side that share their weights */

/* The taps first .. last - 1 of a window that begins at start and has step between taps lie in
 * 0 .. size - 1.
 */
struct Range {
  int64_t first, last;
};

inline Range taps_inside(int64_t start, int64_t step, int64_t taps, int64_t size) {
  int64_t first = start < 0 ? (-start + step - 1) / step : 0;
  int64_t last = start >= size ? 0 : (size - start + step - 1) / step;
  if (last > taps) last = taps;
  if (first > last) first = last;
  return {first, last};
}

inline Floats load_some(const float *p, int64_t n) { return n >= kLanes ? load(p) : load_part(p, n); }

inline void store_some(float *p, Floats x, int64_t n) {
  n >= kLanes ? store(p, x) : store_part(p, x, n);
}

/* One output where the window may reach outside. */
inline void depthwise_one(const DepthwiseRow &row, Range rows, int64_t x, int64_t c, int64_t n) {
  const int64_t left = row.left + x * row.stride_x;
  const Range columns = taps_inside(left, row.dilation_x, row.window_width, row.width);
  Floats sum = row.bias == nullptr ? Floats{} : load_some(row.bias + c, n);
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const int64_t y = row.top + i * row.dilation_y;
    for (int64_t j = columns.first; j < columns.last; ++j) {
      const int64_t place = y * row.width + left + j * row.dilation_x;
      sum += load_some(row.input + place * row.channels + c, n) *
             load_some(row.weights + (i * row.window_width + j) * row.channels + c, n);
    }
  }
  apply_all(row.function, &sum, 1);
  store_some(row.output + x * row.channels + c, sum, n);
}

inline void finish(const Elementwise &f, Floats (&sums)[kBlock]) {
  if (f.function == Function::identity) return;
  if (f.function == Function::clamp) {
    CPUACC_UNROLL for (int64_t b = 0; b < kBlock; ++b) sums[b] = bounded(sums[b], f.a, f.b);
  } else if (f.function == Function::hard_swish) {
    const Known<Function::hard_swish> function{f.a, f.b};
    CPUACC_UNROLL for (int64_t b = 0; b < kBlock; ++b) sums[b] = function(sums[b]);
  } else {
    Floats spilled[kBlock];
    CPUACC_UNROLL for (int64_t b = 0; b < kBlock; ++b) spilled[b] = sums[b];
    apply_all(f, spilled, kBlock);
    CPUACC_UNROLL for (int64_t b = 0; b < kBlock; ++b) sums[b] = spilled[b];
  }
}

/* kBlock outputs whose windows lie inside; the widths are constants where they can be, so that
 * neighbouring windows share their loads. 0: known at run time only.
 */
template <int W, int S>
inline void depthwise_block(const DepthwiseRow &row, Range rows, int64_t x, int64_t c) {
  const int64_t channels = row.channels;
  const int64_t left = row.left + x * row.stride_x;
  Floats sums[kBlock];
  const Floats bias = row.bias == nullptr ? Floats{} : load(row.bias + c);
  CPUACC_UNROLL for (int64_t b = 0; b < kBlock; ++b) sums[b] = bias;
  for (int64_t i = rows.first; i < rows.last; ++i) {
    const int64_t y = row.top + i * row.dilation_y;
    const float *line = row.input + (y * row.width + left) * channels + c;
    const float *weights = row.weights + i * row.window_width * channels + c;
    if constexpr (W != 0) {
      constexpr int kLoads = (kBlock - 1) * S + W;
      Floats pixels[kLoads];
      CPUACC_UNROLL for (int p = 0; p < kLoads; ++p) pixels[p] = load(line + p * channels);
      CPUACC_UNROLL for (int j = 0; j < W; ++j) {
        const Floats weight = load(weights + j * channels);
        CPUACC_UNROLL for (int64_t b = 0; b < kBlock; ++b) sums[b] += pixels[b * S + j] * weight;
      }
    } else {
      for (int64_t j = 0; j < row.window_width; ++j) {
        const Floats weight = load(weights + j * channels);
        const float *pixel = line + j * row.dilation_x * channels;
        CPUACC_UNROLL for (int64_t b = 0; b < kBlock; ++b) {
          sums[b] += load(pixel + b * row.stride_x * channels) * weight;
        }
      }
    }
  }
  finish(row.function, sums);
  CPUACC_UNROLL for (int64_t b = 0; b < kBlock; ++b) {
    store(row.output + (x + b) * channels + c, sums[b]);
  }
}

template <int W, int S>
void depthwise(const DepthwiseRow &row) {
  const Range rows = taps_inside(row.top, row.dilation_y, row.window_height, row.height);
  const int64_t reach = (row.window_width - 1) * row.dilation_x;
  for (int64_t c = 0; c < row.channels; c += kLanes) {
    const int64_t n = row.channels - c;
    int64_t x = 0;
    while (x < row.output_width) {
      const int64_t left = row.left + x * row.stride_x;
      const int64_t last = left + (kBlock - 1) * row.stride_x + reach;
      if (n >= kLanes && x + kBlock <= row.output_width && left >= 0 && last < row.width) {
        depthwise_block<W, S>(row, rows, x, c);
        x += kBlock;
      } else {
        depthwise_one(row, rows, x, c, n);
        x += 1;
      }
    }
  }
}

void depthwise_row(const DepthwiseRow &row) {
  const bool is_dense = row.dilation_x == 1;
  if (is_dense && row.window_width == 3 && row.stride_x == 1) return depthwise<3, 1>(row);
  if (is_dense && row.window_width == 3 && row.stride_x == 2) return depthwise<3, 2>(row);
  if (is_dense && row.window_width == 5 && row.stride_x == 1) return depthwise<5, 1>(row);
  if (is_dense && row.window_width == 5 && row.stride_x == 2) return depthwise<5, 2>(row);
  return depthwise<0, 0>(row);
}

/* How many elements of a window count in the divisor, along one axis. */
inline int64_t counted(int64_t start, int64_t step, int64_t taps, int64_t padded_end) {
  const int64_t inside = start >= padded_end ? 0 : (padded_end - start + step - 1) / step;
  return inside < taps ? inside : taps;
}

inline void pool_one(const PoolingRow &row, Range rows, int64_t counted_rows, int64_t x) {
  const int64_t left = row.left + x * row.stride_x;
  const Range columns = taps_inside(left, row.dilation_x, row.window_width, row.width);
  const int64_t inside = (rows.last - rows.first) * (columns.last - columns.first);
  const int64_t with_padding =
      counted_rows * counted(left, row.dilation_x, row.window_width, row.padded_right);
  const int64_t count = row.counts_padding ? with_padding : inside;
  const float factor = count > 0 ? 1.0f / static_cast<float>(count) : 0.0f;
  const bool takes_maximum = row.pooling == Pooling::maximum;
  for (int64_t c = 0; c < row.channels; c += kLanes) {
    const int64_t n = row.channels - c;
    Floats sum = takes_maximum && inside > 0 ? splat(-__builtin_inff()) : Floats{};
    for (int64_t i = rows.first; i < rows.last; ++i) {
      const int64_t y = row.top + i * row.dilation_y;
      const float *line = row.input + (y * row.width + left) * row.channels + c;
      for (int64_t j = columns.first; j < columns.last; ++j) {
        const Floats value = load_some(line + j * row.dilation_x * row.channels, n);
        if (takes_maximum) {
          sum = value <= sum ? sum : value;
        } else {
          sum += row.pooling == Pooling::l2 ? value * value : value;
        }
      }
    }
    if (!takes_maximum) sum *= factor;
    if (row.pooling == Pooling::l2) sum = square_root(sum);
    store_some(row.output + x * row.channels + c, sum, n);
  }
}

void pooling_row(const PoolingRow &row) {
  const Range rows = taps_inside(row.top, row.dilation_y, row.window_height, row.height);
  const int64_t counted_rows = counted(row.top, row.dilation_y, row.window_height, row.padded_bottom);
  for (int64_t x = 0; x < row.output_width; ++x) pool_one(row, rows, counted_rows, x);
}

}  // namespace

void fill_windows(Kernels &table) {
  table.depthwise_row = depthwise_row;
  table.pooling_row = pooling_row;
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
