/* SPDX-License-Identifier: MIT */
/* Windows as rows of a product: where each of their taps begins. */
#pragma once

#include <algorithm>

#include "costs/costs.h"
#include "operations/gemm/gemm.h"
#include "operations/windows.h"

namespace cpuacc {

constexpr int64_t kLeastRun = 4; /* windows side by side, from where on they are pointed at together */

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

  /* Writes the pointers of count windows from row on: tap t of window i is pointers[t * stride + i]. */
  void point(int64_t row, int64_t count, const Number **pointers, int64_t stride) {
    if (w_.output_width < kLeastRun) {
      for (int64_t i = 0; i < count; ++i) (*this)(row + i, pointers + i, stride);
      return;
    }
    if (row != next_) seek(row);
    for (int64_t done = 0; done < count;) {
      const int64_t run = std::min(count - done, w_.output_width - x_);
      point_run(run, pointers + done, stride);
      done += run;
      next_ += run - 1;
      x_ += run - 1;
      step();
    }
  }

 private:
  /* Windows of one line of outputs: a tap's pointers are equally far apart. */
  void point_run(int64_t count, const Number **pointers, int64_t stride) const {
    const int64_t top = y_ * w_.stride_y - w_.pad_top;
    const int64_t left = x_ * w_.stride_x - w_.pad_left;
    const int64_t reach = (count - 1) * w_.stride_x;
    const int64_t step = w_.stride_x * w_.channels;
    for (int64_t i = 0; i < w_.window_height; ++i) {
      const int64_t y = top + i * w_.dilation_y;
      const bool is_row = y >= 0 && y < w_.height;
      const Number *line = input_ + (image_ * w_.height + y) * w_.width * w_.channels;
      for (int64_t j = 0; j < w_.window_width; ++j, pointers += stride) {
        const int64_t x = left + j * w_.dilation_x;
        if (!is_row) {
          std::fill_n(pointers, count, zeros_);
        } else if (x >= 0 && x + reach < w_.width) {
          const Number *first = line + x * w_.channels;
          for (int64_t k = 0; k < count; ++k) pointers[k] = first + k * step;
        } else {
          point_some(line, x, count, pointers);
        }
      }
    }
  }

  /* Writes the pointers of a tap that is outside of the line for some windows. Args: x: of the first one. */
  void point_some(const Number *line, int64_t x, int64_t count, const Number **pointers) const {
    for (int64_t k = 0; k < count; ++k, x += w_.stride_x) {
      pointers[k] = x >= 0 && x < w_.width ? line + x * w_.channels : zeros_;
    }
  }

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

/* Tile by tile. */
template <typename Number>
void point_rows(const Tiling::Range &range, int64_t taps, int64_t height, const Number **pointers,
                Indirection<Number> &windows) {
  for (int64_t row = range.first_row; row < range.last_row; row += height, pointers += taps * height) {
    windows.point(row, std::min(height, range.last_row - row), pointers, height);
  }
}

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
