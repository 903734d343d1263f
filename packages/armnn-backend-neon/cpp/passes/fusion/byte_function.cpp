/* SPDX-License-Identifier: MIT */
/* A clamp, or another function, of the bytes that a producer stores. */
#include <algorithm>

#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_byte_function(const Candidate &candidate) {
  const auto *later = candidate.computes<ByteFunction>();
  if (later == nullptr) return nullptr;
  const auto [producer, slots] = candidate.producer(0);
  if (later->bounds && slots.lowest != nullptr) {
    *slots.lowest = std::max(*slots.lowest, later->bounds->lowest);
    *slots.highest = std::min(*slots.highest, later->bounds->highest);
    return producer;
  }
  if (slots.table == nullptr) return nullptr;
  ByteFunction both{later->table};
  if (*slots.table) {
    for (size_t i = 0; i < both.table.size(); ++i) both.table[i] = later->table[(*slots.table)->table[i]];
  }
  *slots.table = both;
  return producer;
}

}  // namespace cpuacc
