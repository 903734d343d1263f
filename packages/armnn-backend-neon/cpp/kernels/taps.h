/* SPDX-License-Identifier: MIT */
/* Which taps of a window lie inside of an image. */
#ifndef CPUACC_KERNELS_TAPS_H_
#define CPUACC_KERNELS_TAPS_H_

#include "kernels/functions.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

/* The taps first .. last - 1 of a window that begins at start and has step between taps lie in
 * 0 .. size - 1.
 */
struct Range {
  int64_t first, last;
};

[[maybe_unused]] inline Range taps_inside(int64_t start, int64_t step, int64_t taps, int64_t size) {
  int64_t first = start < 0 ? (-start + step - 1) / step : 0;
  int64_t last = start >= size ? 0 : (size - start + step - 1) / step;
  if (last > taps) last = taps;
  if (first > last) first = last;
  return {first, last};
}

[[maybe_unused]] inline Floats load_some(const float *p, int64_t n) { return n >= kLanes ? load(p) : load_part(p, n); }

[[maybe_unused]] inline void store_some(float *p, Floats x, int64_t n) {
  n >= kLanes ? store(p, x) : store_part(p, x, n);
}

}  // namespace
}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
