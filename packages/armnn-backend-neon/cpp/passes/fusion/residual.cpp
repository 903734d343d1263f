/* SPDX-License-Identifier: MIT */
/* The sum of what a producer computes and another tensor of the same shape. */
#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_residual(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<BinaryArithmetic>();
  if (arithmetic == nullptr || arithmetic->operation != Arithmetic::add) return nullptr;
  if (!arithmetic->broadcast.is_plain()) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto [producer, slots] = candidate.producer(side);
    if (slots.adds_residual == nullptr) continue;
    *slots.adds_residual = true;
    producer->inputs.push_back(candidate.operation.inputs[1 - side]);
    return producer;
  }
  return nullptr;
}

}  // namespace cpuacc
