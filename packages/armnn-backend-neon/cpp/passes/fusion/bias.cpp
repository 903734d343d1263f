/* SPDX-License-Identifier: MIT */
/* The sum of each row that a producer computes and one row of numbers. */
#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_bias(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<BinaryArithmetic>();
  if (arithmetic == nullptr || arithmetic->operation != Arithmetic::add) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const int64_t columns = arithmetic->broadcast.row_of(side);
    if (columns == 0) continue;
    const auto [producer, slots] = candidate.producer(1 - side);
    if (slots.bias == nullptr || slots.columns != columns) continue;
    *slots.bias = candidate.operation.inputs[side];
    return producer;
  }
  return nullptr;
}

}  // namespace cpuacc
