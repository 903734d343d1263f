/* SPDX-License-Identifier: MIT */
/* Sliding windows over images, channels last: sizes, strides and padding. */
#pragma once

#include <cstdint>

namespace cpuacc {

struct Windows {
  int64_t batch, height, width, channels; /* of the input */
  int64_t output_height, output_width;
  int64_t window_height, window_width;
  int64_t stride_y, stride_x;
  int64_t dilation_y, dilation_x;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
};

/* The windows with height and width exchanged, if all that they see is one column: kernels take
 * outputs of a row side by side.
 */
Windows column_as_row(const Windows &windows);

}  // namespace cpuacc
