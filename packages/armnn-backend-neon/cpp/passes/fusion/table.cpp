/* SPDX-License-Identifier: MIT */
/* A function of the bytes that a producer stores. */
#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_table(const Candidate &candidate) {
  const auto *later = candidate.computes<ByteFunction>();
  if (later == nullptr) return nullptr;
  const auto [producer, slots] = candidate.producer(0);
  if (slots.table == nullptr) return nullptr;
  ByteFunction both{later->table};
  if (*slots.table) {
    for (size_t i = 0; i < both.table.size(); ++i) both.table[i] = later->table[(*slots.table)->table[i]];
  }
  *slots.table = both;
  return producer;
}

}  // namespace cpuacc
