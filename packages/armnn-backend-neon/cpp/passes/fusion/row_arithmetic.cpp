/* SPDX-License-Identifier: MIT */
/* What a producer computes, times the same row for all rows, or plus one. */
#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_row_arithmetic(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<BinaryArithmetic>();
  if (arithmetic == nullptr) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto [producer, slots] = candidate.producer(side);
    bool *slot = arithmetic->operation == Arithmetic::multiply ? slots.multiplies_row
                 : arithmetic->operation == Arithmetic::add    ? slots.adds_row
                                                               : nullptr;
    const int64_t columns = arithmetic->broadcast.row_of(1 - side);
    if (slot == nullptr || columns == 0 || columns != slots.columns) continue;
    *slot = true;
    producer->inputs.push_back(candidate.operation.inputs[1 - side]);
    return producer;
  }
  return nullptr;
}

}  // namespace cpuacc
