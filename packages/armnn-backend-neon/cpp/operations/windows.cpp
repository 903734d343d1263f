/* SPDX-License-Identifier: MIT */
/* Windows over an image of one column as windows over one of one row. */
#include "operations/windows.h"

#include <utility>

namespace cpuacc {

Windows column_as_row(const Windows &windows) {
  Windows w = windows;
  const bool is_column = w.width == 1 && w.output_width == 1 && w.window_width == 1 && w.pad_left == 0;
  if (!is_column) return w;
  std::swap(w.height, w.width);
  std::swap(w.output_height, w.output_width);
  std::swap(w.window_height, w.window_width);
  std::swap(w.stride_y, w.stride_x);
  std::swap(w.dilation_y, w.dilation_x);
  std::swap(w.pad_top, w.pad_left);
  std::swap(w.pad_bottom, w.pad_right);
  return w;
}

}  // namespace cpuacc
