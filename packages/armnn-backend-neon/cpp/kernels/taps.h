/* SPDX-License-Identifier: MIT */
/* The taps of a window inside of an image. */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* The taps first .. last - 1 of a window that begins at start and has step between taps are in
 * 0 .. size - 1.
 */
struct Range {
  int64_t first, last;
};

[[maybe_unused]] inline Range taps_inside(int64_t start, int64_t step, int64_t taps, int64_t size) {
  if (start >= 0 && start + (taps - 1) * step < size) return {0, taps}; /* most windows need no division */
  int64_t first = start < 0 ? (-start + step - 1) / step : 0;
  int64_t last = start >= size ? 0 : (size - start + step - 1) / step;
  if (last > taps) last = taps;
  if (first > last) first = last;
  return {first, last};
}

/* How many elements of a window count in the divisor, along one axis. */
[[maybe_unused]] inline int64_t counted(int64_t start, int64_t step, int64_t taps, int64_t padded_end) {
  if (start + (taps - 1) * step < padded_end) return taps;
  const int64_t inside = start >= padded_end ? 0 : (padded_end - start + step - 1) / step;
  return inside < taps ? inside : taps;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
