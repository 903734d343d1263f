/* SPDX-License-Identifier: MIT */
#include "operations/convolution/convolution.h"

#include <algorithm>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* Vectors of multiply-adds per output and row of the window. */
double cost(const Windows &w, int64_t columns, int64_t lanes, int64_t together) {
  const int64_t vectors = ratio_up(together * columns, lanes);
  const int64_t rows = ratio_up(w.output_width, together);
  const auto sums = static_cast<double>(vectors * rows * (w.window_width + (together - 1) * w.stride_x));
  const bool is_even = rows * together == w.output_width;
  return sums / static_cast<double>(w.output_width) * (is_even ? 1.0 : costs::kRaggedBlock);
}

}  // namespace

int64_t outputs_per_block(const Windows &w, int64_t columns, int64_t lanes) {
  if (w.dilation_x != 1 || w.window_width == 1 || columns == 0 || w.stride_x == 0) return 1;
  const int64_t most = std::min(costs::kMostBlockColumns / columns, w.output_width);
  const double alone = w.output_width > 0 ? cost(w, columns, lanes, 1) : 0.0;
  int64_t best = 1;
  double least = costs::kWorthBlocking * alone;
  for (int64_t together = 2; together <= most; ++together) {
    const double now = cost(w, columns, lanes, together);
    if (now >= least) continue;
    least = now;
    best = together;
  }
  return best;
}

Windows blocked_windows(const Windows &windows, int64_t together) {
  Windows w = windows;
  w.window_width += (together - 1) * w.stride_x;
  w.output_width = ratio_up(w.output_width, together);
  w.stride_x *= together;
  const int64_t reach = (w.output_width - 1) * w.stride_x + w.window_width;
  w.pad_right = std::max(w.pad_right, reach - w.pad_left - w.width);
  return w;
}

}  // namespace cpuacc
