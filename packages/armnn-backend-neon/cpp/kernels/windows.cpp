/* SPDX-License-Identifier: MIT */
/* Pooling: sliding windows over channels-last images. */
#include "kernels/level.h"
#include "kernels/taps.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

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
  table.pooling_row = pooling_row;
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
