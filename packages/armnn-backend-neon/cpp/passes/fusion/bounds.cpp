/* SPDX-License-Identifier: MIT */
/* A clamp of the bytes that a producer stores. */
#include <algorithm>

#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_bounds(const Candidate &candidate) {
  const auto *function = candidate.computes<ByteFunction>();
  if (function == nullptr || !function->bounds) return nullptr;
  const auto [producer, slots] = candidate.producer(0);
  if (slots.lowest == nullptr) return nullptr;
  *slots.lowest = std::max(*slots.lowest, function->bounds->lowest);
  *slots.highest = std::min(*slots.highest, function->bounds->highest);
  return producer;
}

}  // namespace cpuacc
