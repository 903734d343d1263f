/* SPDX-License-Identifier: MIT */
/* Rows of outputs of a convolution without dilation along x: which of them see only the image, and what
 * the others see, with its surroundings.
 */
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "costs/costs.h"
#include "graph/ir.h"
#include "operations/windows.h"

namespace cpuacc {

/* Outputs first .. last - 1 of a row, and where they see what: the window's row first_tap + t begins, for
 * the first of them, at image + t * tap_step.
 */
template <typename T>
struct SeenOutputs {
  int64_t first;
  int64_t last;
  const T *image;
  int64_t first_tap;
  int64_t taps;
  int64_t tap_step;
};

/* Copies numbers of an image as they are. */
struct Copied {
  template <typename T>
  void operator()(const T *from, int64_t n, T *to) const { std::copy_n(from, n, to); }
};

/* Args: Seen: the type of the numbers that windows see: the image's, or the one that copies convert them to. */
template <typename T, typename Seen = T>
class ImageRows {
 public:
  /* Args: outside: the number around the image, as windows see it. skips_rows: whether rows of a window outside of
   * the image are left out. overreads: elements behind a window that are read and do not count.
   */
  ImageRows(const Windows &windows, Seen outside, bool skips_rows, int64_t overreads)
      : w_(windows), outside_(outside), skips_rows_(skips_rows), overreads_(overreads) {
    const int64_t room = w_.width + w_.pad_left - w_.window_width;
    first_ = std::min(ratio_up(w_.pad_left, w_.stride_x), w_.output_width);
    const int64_t last = room < 0 ? 0 : std::min(room / w_.stride_x + 1, w_.output_width);
    last_ = std::max(first_, last);
    is_narrow_ = w_.output_width <= costs::kNarrowImage && last_ - first_ < w_.output_width;
  }

  /* The bytes of the strip that each thread needs. */
  size_t strip_bytes() const {
    const bool holds_rows = kIsCopied || is_narrow_ || !skips_rows_ || overreads_ > 0;
    const int64_t most = holds_rows ? w_.output_width : std::max(first_, w_.output_width - last_);
    const int64_t count = strip_width(most) * w_.channels * w_.window_height + overreads_;
    return aligned_bytes(static_cast<size_t>(count) * sizeof(Seen));
  }

  /* Calls see(SeenOutputs) for all outputs of a row of all images. Args: move: copies elements. */
  template <typename See, typename Move = Copied>
  void row(const T *images, int64_t row, Seen *strip, const See &see, const Move &move = {}) const {
    const T *image = images + row / w_.output_height * w_.height * w_.width * w_.channels;
    const int64_t top = row % w_.output_height * w_.stride_y - w_.pad_top;
    const Taps taps = taps_at(top);
    const bool is_whole = taps.first == 0 && taps.last == w_.window_height;
    const bool is_last_image = row / w_.output_height + 1 == w_.batch;
    const bool ends_there = is_last_image && top + (w_.window_height - 1) * w_.dilation_y + 1 >= w_.height;
    const Taps all{0, w_.window_height};
    if ((!is_whole && !skips_rows_) || (ends_there && overreads_ > 0)) {
      return copy(image, top, all, 0, w_.output_width, strip, see, move);
    }
    if constexpr (kIsCopied) {
      copy(image, top, skips_rows_ ? taps : all, 0, w_.output_width, strip, see, move);
    } else {
      if (is_narrow_) return copy(image, top, taps, 0, w_.output_width, strip, see, move);
      copy(image, top, taps, 0, first_, strip, see, move);
      if (first_ < last_) {
        const int64_t y = top + taps.first * w_.dilation_y;
        const int64_t left = first_ * w_.stride_x - w_.pad_left;
        see(SeenOutputs<Seen>{first_, last_, image + (y * w_.width + left) * w_.channels, taps.first,
                              taps.last - taps.first, w_.dilation_y * w_.width * w_.channels});
      }
      copy(image, top, taps, last_, w_.output_width, strip, see, move);
    }
  }

 private:
  static constexpr bool kIsCopied = !std::is_same_v<T, Seen>;

  struct Taps {
    int64_t first, last;
  };

  /* The rows of a window inside of the image. */
  Taps taps_at(int64_t top) const {
    const int64_t below = w_.height - top; /* rows of the image from the window's first one on */
    const int64_t first = std::min(top < 0 ? ratio_up(-top, w_.dilation_y) : 0, w_.window_height);
    const int64_t last = below <= 0 ? 0 : std::min(ratio_up(below, w_.dilation_y), w_.window_height);
    return {first, std::max(first, last)};
  }

  /* Columns that so many outputs side by side see. */
  int64_t strip_width(int64_t outputs) const {
    return outputs == 0 ? 0 : (outputs - 1) * w_.stride_x + w_.window_width;
  }

  /* Outputs that see beyond the image: their numbers are gathered in the strip. */
  template <typename See, typename Move>
  void copy(const T *image, int64_t top, Taps taps, int64_t first, int64_t last, Seen *strip, const See &see,
            const Move &move) const {
    if (first == last) return;
    const int64_t width = strip_width(last - first);
    const int64_t left = first * w_.stride_x - w_.pad_left;
    const int64_t begin = std::clamp<int64_t>(left, 0, w_.width);
    const int64_t end = std::clamp<int64_t>(left + width, begin, w_.width);
    const int64_t before = std::clamp<int64_t>(begin - left, 0, width) * w_.channels;
    const int64_t there = (end - begin) * w_.channels;
    for (int64_t t = taps.first; t < taps.last; ++t) {
      const int64_t y = top + t * w_.dilation_y;
      Seen *to = strip + (t - taps.first) * width * w_.channels;
      if (y < 0 || y >= w_.height) {
        std::fill_n(to, width * w_.channels, outside_);
        continue;
      }
      std::fill_n(to, before, outside_);
      move(image + (y * w_.width + begin) * w_.channels, there, to + before);
      std::fill(to + before + there, to + width * w_.channels, outside_);
    }
    see(SeenOutputs<Seen>{first, last, strip, taps.first, taps.last - taps.first, width * w_.channels});
  }

  Windows w_;
  Seen outside_;
  bool skips_rows_;
  int64_t overreads_;
  int64_t first_; /* outputs first_ .. last_ - 1 of a row see no column outside of the image */
  int64_t last_;
  bool is_narrow_; /* a row is copied whole: its ends alone would be short tiles */
};

}  // namespace cpuacc
