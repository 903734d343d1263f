/* SPDX-License-Identifier: MIT */
/* Pooling: sliding windows over channels-last images. */
#pragma once

#include "kernels/functions.h"
#include "kernels/taps.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* The taps of one output inside of the image, and the factor of their sum. */
struct Taps {
  Range rows, columns;
  int64_t left;
  float factor;
};

/* N vectors of channels from c on. Sums that are not finite, and NaN that a maximum may have lost, make NaN of strange.
 * Args: kKeepsNan: whether a maximum loses none, which takes twice as long.
 */
template <Pooling P, bool kKeepsNan, int N, typename Row, typename Lanes>
inline void pool_vectors(const Row &row, const Taps &taps, int64_t x, int64_t c, const Lanes &lanes,
                         Floats &strange) {
  const bool has_taps = taps.rows.first < taps.rows.last && taps.columns.first < taps.columns.last;
  Floats sums[N];
  Floats seen[N]; /* the sum of all values */
  CPUACC_UNROLL for (int v = 0; v < N; ++v) {
    seen[v] = Floats{};
    sums[v] = P == Pooling::maximum && has_taps ? splat(-__builtin_inff()) : Floats{};
  }
  for (int64_t i = taps.rows.first; i < taps.rows.last; ++i) {
    const int64_t y = row.top + i * row.dilation_y;
    const auto *line = row.input + (y * row.width + taps.left) * row.channels + c;
    for (int64_t j = taps.columns.first; j < taps.columns.last; ++j) {
      const auto *pixel = line + j * row.dilation_x * row.channels;
      CPUACC_UNROLL for (int v = 0; v < N; ++v) {
        const Floats value = get(lanes, pixel + v * kLanes);
        if constexpr (P == Pooling::maximum && !kKeepsNan) {
          sums[v] = maximum(value, sums[v]);
          seen[v] += value;
        } else if constexpr (P == Pooling::maximum) {
          const Floats larger = value <= sums[v] ? sums[v] : value;
          sums[v] = sums[v] != sums[v] ? sums[v] : larger; /* NaN stays */
        } else {
          sums[v] += P == Pooling::l2 ? value * value : value;
        }
      }
    }
  }
  CPUACC_UNROLL for (int v = 0; v < N; ++v) {
    if constexpr (P != Pooling::maximum) sums[v] *= taps.factor;
    if constexpr (P == Pooling::l2) sums[v] = square_root(sums[v]);
    if constexpr (P != Pooling::maximum) strange += sums[v] * 0.0f;
    if constexpr (P == Pooling::maximum && !kKeepsNan) strange = seen[v] == seen[v] ? strange : seen[v];
    put(lanes, row.output + x * row.channels + c + v * kLanes, sums[v]);
  }
}

struct OutputWindow {
  Taps taps;
  int64_t count; /* of elements, in the divisor of an average */
};

template <Pooling P, typename Row>
inline OutputWindow window_of(const Row &row, const Range &rows, int64_t counted_rows, int64_t x) {
  const int64_t left = row.left + x * row.stride_x;
  const Range columns = taps_inside(left, row.dilation_x, row.window_width, row.width);
  const int64_t inside = (rows.last - rows.first) * (columns.last - columns.first);
  const int64_t with_padding = counted_rows * counted(left, row.dilation_x, row.window_width, row.padded_right);
  const int64_t count = row.counts_padding ? with_padding : inside;
  const bool divides = P != Pooling::maximum && count > 0;
  return {{rows, columns, left, divides ? 1.0f / static_cast<float>(count) : 0.0f}, count};
}

/* One output in double, for sums that float32 cannot hold. */
template <Pooling P, typename Row>
void pool_in_double(const Row &row, const OutputWindow &window, int64_t x) {
  const Taps &taps = window.taps;
  const First one{1};
  for (int64_t c = 0; c < row.channels; ++c) {
    double sum = 0.0;
    for (int64_t i = taps.rows.first; i < taps.rows.last; ++i) {
      const auto *line = row.input + ((row.top + i * row.dilation_y) * row.width + taps.left) * row.channels + c;
      for (int64_t j = taps.columns.first; j < taps.columns.last; ++j) {
        const double value = static_cast<double>(get(one, line + j * row.dilation_x * row.channels)[0]);
        sum += P == Pooling::l2 ? value * value : value;
      }
    }
    if (window.count > 0) sum /= static_cast<double>(window.count);
    put(one, row.output + x * row.channels + c, splat(static_cast<float>(P == Pooling::l2 ? __builtin_sqrt(sum) : sum)));
  }
}

/* All outputs of a row; returns whether none of them is strange. */
template <Pooling P, bool kKeepsNan, typename Row>
bool pool_outputs(const Row &row, const Range &rows, int64_t counted_rows) {
  constexpr int kTogether = 4;
  Floats strange{};
  for (int64_t x = 0; x < row.output_width; ++x) {
    const Taps taps = window_of<P>(row, rows, counted_rows, x).taps;
    int64_t c = 0;
    for (; c + kTogether * kLanes <= row.channels; c += kTogether * kLanes) {
      pool_vectors<P, kKeepsNan, kTogether>(row, taps, x, c, All{}, strange);
    }
    for (; c + kLanes <= row.channels; c += kLanes) pool_vectors<P, kKeepsNan, 1>(row, taps, x, c, All{}, strange);
    if (c < row.channels) pool_vectors<P, kKeepsNan, 1>(row, taps, x, c, First{row.channels - c}, strange);
  }
  return sum_of(strange) == 0.0f;
}

template <Pooling P, typename Row>
void pool(const Row &row) {
  const Range rows = taps_inside(row.top, row.dilation_y, row.window_height, row.height);
  const int64_t counted_rows = counted(row.top, row.dilation_y, row.window_height, row.padded_bottom);
  if (pool_outputs<P, false>(row, rows, counted_rows)) return;
  if constexpr (P == Pooling::maximum) {
    pool_outputs<P, true>(row, rows, counted_rows);
  } else {
    for (int64_t x = 0; x < row.output_width; ++x) {
      pool_in_double<P>(row, window_of<P>(row, rows, counted_rows, x), x);
    }
  }
}

template <typename Row>
void pool_row(const Row &row) {
  switch (row.pooling) {
    case Pooling::maximum: return pool<Pooling::maximum>(row);
    case Pooling::average: return pool<Pooling::average>(row);
    case Pooling::l2: return pool<Pooling::l2>(row);
  }
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
