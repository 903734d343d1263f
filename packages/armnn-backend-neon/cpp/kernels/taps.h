/* SPDX-License-Identifier: MIT */
/* The taps of a window inside of an image. */
#pragma once

#include "kernels/functions.h"

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

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
