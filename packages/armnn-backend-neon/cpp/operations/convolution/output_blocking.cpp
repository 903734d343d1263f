/* SPDX-License-Identifier: MIT */
#include "operations/convolution/output_blocking.h"

#include <algorithm>

namespace cpuacc {
namespace {

constexpr int64_t kMostColumns = 32;
constexpr double kWorthIt = 0.8;
constexpr double kCopyCost = 1.1; /* where the last row reaches beyond the image, the output is copied */

/* Vectors of multiply-adds per output and row of the window. */
double cost(const Windows &w, int64_t columns, int64_t lanes, int64_t together) {
  const int64_t vectors = (together * columns + lanes - 1) / lanes;
  const int64_t rows = (w.output_width + together - 1) / together;
  const auto sums = static_cast<double>(vectors * rows * (w.window_width + (together - 1) * w.stride_x));
  const bool is_even = rows * together == w.output_width;
  return sums / static_cast<double>(w.output_width) * (is_even ? 1.0 : kCopyCost);
}

}  // namespace

int64_t outputs_per_block(const Windows &w, int64_t columns, int64_t lanes) {
  if (w.dilation_x != 1 || w.window_width == 1 || columns == 0 || w.stride_x == 0) return 1;
  const int64_t most = std::min(kMostColumns / columns, w.output_width);
  const double alone = w.output_width > 0 ? cost(w, columns, lanes, 1) : 0.0;
  int64_t best = 1;
  double least = kWorthIt * alone;
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
  w.output_width = (w.output_width + together - 1) / together;
  w.stride_x *= together;
  const int64_t reach = (w.output_width - 1) * w.stride_x + w.window_width;
  w.pad_right = std::max(w.pad_right, reach - w.pad_left - w.width);
  return w;
}

TensorId blocked_weights(Lowering &l, const Windows &w, int64_t depth, bool is_depth_last, int64_t together) {
  const float *weights = l.constant(1, "the weights");
  const int64_t columns = l.input(1).shape[0];
  const int64_t taps = w.window_height * w.window_width;
  const int64_t width = w.window_width + (together - 1) * w.stride_x;
  const Shape shape{together * columns, w.window_height, width, depth};
  std::vector<float> result(static_cast<size_t>(elements(shape)));
  for (int64_t row = 0; row < together * columns; ++row) {
    const int64_t shift = row / columns * w.stride_x;
    const float *from = weights + row % columns * taps * depth;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t place = (row * w.window_height + t / w.window_width) * width + t % w.window_width;
      float *to = result.data() + (place + shift) * depth;
      for (int64_t c = 0; c < depth; ++c) to[c] = from[is_depth_last ? t * depth + c : c * taps + t];
    }
  }
  return l.constant_tensor(shape, result);
}

}  // namespace cpuacc
