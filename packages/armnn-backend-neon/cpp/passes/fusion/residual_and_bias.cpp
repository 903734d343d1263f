/* SPDX-License-Identifier: MIT */
/* The sum of what a producer computes and a residual of its shape, or a bias: the same row for all rows. */
#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_residual_and_bias(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<BinaryArithmetic>();
  if (arithmetic == nullptr || arithmetic->operation != Arithmetic::add) return nullptr;
  const Broadcast &broadcast = arithmetic->broadcast;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto [producer, slots] = candidate.producer(side);
    const TensorId other = candidate.operation.inputs[1 - side];
    const int64_t columns = broadcast.row_of(1 - side);
    if (slots.adds_residual != nullptr && broadcast.is_plain()) {
      *slots.adds_residual = true;
      producer->inputs.push_back(other);
      return producer;
    }
    if (slots.bias != nullptr && columns > 0 && columns == slots.columns) {
      *slots.bias = other;
      return producer;
    }
  }
  return nullptr;
}

}  // namespace cpuacc
