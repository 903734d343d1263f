/* SPDX-License-Identifier: MIT */
#pragma once

#include <cstdint>

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Prefetcher: brings weights into the second cache, a line at a time, while others are multiplied: all at once, they would wait for
 * each other.
 */
class Prefetcher {
 public:
  CPUACC_INLINE explicit Prefetcher(const void *begin) : next_(static_cast<const char *>(begin)) {}

  CPUACC_INLINE void fetch() {
    constexpr int64_t kLine = 64;
    __builtin_prefetch(next_, 0, 2);
    next_ += kLine;
  }

 private:
  const char *next_;
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
