/* SPDX-License-Identifier: MIT */
#include "operations/convolution/convolution.h"

#include <algorithm>

#include "costs/costs.h"

namespace cpuacc {

int64_t most_outputs_per_block(const Windows &w, int64_t columns) {
  if (w.dilation_x != 1 || w.window_width == 1 || columns == 0 || w.stride_x == 0) return 1;
  return std::min(costs::kMostBlockColumns / columns, w.output_width);
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

Windows padded_windows(const Windows &windows) {
  Windows w = windows;
  w.height += w.pad_top + w.pad_bottom;
  w.width += w.pad_left + w.pad_right;
  w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = 0;
  return w;
}

}  // namespace cpuacc
