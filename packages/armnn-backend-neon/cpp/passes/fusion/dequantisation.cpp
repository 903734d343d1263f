/* SPDX-License-Identifier: MIT */
/* Accumulators as float32, and their product with one number. */
#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_dequantisation(const Candidate &candidate) {
  const Operation &operation = candidate.operation;
  if (candidate.computes<Conversion>() != nullptr) {
    const auto [producer, slots] = candidate.producer(0);
    const bool is_float = candidate.graph[operation.outputs[0]].type == ARMNN_FLOAT32;
    if (!is_float || slots.dequantises == nullptr) return nullptr;
    *slots.dequantises = true;
    return producer;
  }
  const auto *arithmetic = candidate.computes<BinaryArithmetic>();
  if (arithmetic == nullptr || arithmetic->operation != Arithmetic::multiply) return nullptr;
  const auto count = [&](TensorId id) { return candidate.graph[id].count(); };
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId scale = operation.inputs[1 - side];
    if (count(scale) != 1 || count(operation.inputs[side]) != count(operation.outputs[0])) continue;
    const auto [producer, slots] = candidate.producer(side);
    if (slots.scale == nullptr) return nullptr;
    *slots.scale = scale;
    return producer;
  }
  return nullptr;
}

}  // namespace cpuacc
