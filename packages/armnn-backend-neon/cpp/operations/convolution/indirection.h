/* SPDX-License-Identifier: MIT */
/* Windows as rows of a product: where each of their taps begins. */
#pragma once

#include <algorithm>

#include "costs/costs.h"
#include "operations/windows.h"

namespace cpuacc {

/* Where the taps of windows begin, asked for window after window; outside of the image stand zeros. */
template <typename Number>
class Indirection {
 public:
  Indirection(const Windows &windows, const Number *input, const Number *zeros)
      : w_(windows),
        input_(input),
        zeros_(zeros),
        step_x_(windows.dilation_x * windows.channels),
        step_y_(windows.dilation_y * windows.width * windows.channels),
        reach_x_((windows.window_width - 1) * windows.dilation_x + 1),
        reach_y_((windows.window_height - 1) * windows.dilation_y + 1) {}

  void operator()(int64_t row, const Number **pointers, int64_t stride) {
    if (row != next_) seek(row);
    const int64_t top = y_ * w_.stride_y - w_.pad_top;
    const int64_t left = x_ * w_.stride_x - w_.pad_left;
    const Number *corner = input_ + ((image_ * w_.height + top) * w_.width + left) * w_.channels;
    const bool is_inside =
        top >= 0 && left >= 0 && top + reach_y_ <= w_.height && left + reach_x_ <= w_.width;
    is_inside ? point_inside(corner, pointers, stride) : point_clipped(corner, top, left, pointers, stride);
    step();
  }

 private:
  void point_inside(const Number *corner, const Number **pointers, int64_t stride) const {
    for (int64_t i = 0; i < w_.window_height; ++i) {
      for (int64_t j = 0; j < w_.window_width; ++j) {
        *pointers = corner + i * step_y_ + j * step_x_;
        pointers += stride;
      }
    }
  }

  void point_clipped(const Number *corner, int64_t top, int64_t left, const Number **pointers,
                     int64_t stride) const {
    for (int64_t i = 0; i < w_.window_height; ++i) {
      const int64_t y = top + i * w_.dilation_y;
      const bool is_row = y >= 0 && y < w_.height;
      for (int64_t j = 0; j < w_.window_width; ++j) {
        const int64_t x = left + j * w_.dilation_x;
        const bool is_there = is_row && x >= 0 && x < w_.width;
        *pointers = is_there ? corner + i * step_y_ + j * step_x_ : zeros_;
        pointers += stride;
      }
    }
  }

  void seek(int64_t row) {
    x_ = row % w_.output_width;
    y_ = row / w_.output_width % w_.output_height;
    image_ = row / (w_.output_width * w_.output_height);
    next_ = row;
  }

  void step() {
    ++next_;
    if (++x_ < w_.output_width) return;
    x_ = 0;
    if (++y_ < w_.output_height) return;
    y_ = 0;
    ++image_;
  }

  const Windows &w_;
  const Number *input_;
  const Number *zeros_;
  int64_t step_x_, step_y_; /* from one tap to the next */
  int64_t reach_x_, reach_y_; /* of a window, in the image */
  int64_t next_ = -1;
  int64_t image_ = 0;
  int64_t y_ = 0;
  int64_t x_ = 0;
};

/* Whether each window is one pixel, and the next one the next pixel. */
inline bool are_pixels(const Windows &w) {
  return w.window_height == 1 && w.window_width == 1 && w.stride_y == 1 && w.stride_x == 1 &&
         w.output_height == w.height && w.output_width == w.width && w.pad_top == 0 && w.pad_left == 0;
}

/* Copies the rows that another finds, with fillers between, so that they do not crowd a few sets of
 * the nearest cache.
 */
class CopiedRows {
 public:
  CopiedRows(Indirection<float> found, float *to, int64_t depth) : found_(found), to_(to), depth_(depth) {}

  void operator()(int64_t row, const float **pointers, int64_t stride) {
    found_(row, pointers, stride);
    std::copy(*pointers, *pointers + depth_, to_);
    *pointers = to_;
    to_ += depth_ + costs::kRowFiller;
  }

 private:
  Indirection<float> found_;
  float *to_;
  int64_t depth_;
};

}  // namespace cpuacc
