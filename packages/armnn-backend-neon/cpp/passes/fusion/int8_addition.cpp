/* SPDX-License-Identifier: MIT */
/* The weighted sum of the bytes that a producer stores and another tensor of the same shape. */
#include <utility>

#include "passes/fusion/rules.h"

namespace cpuacc {

Operation *fuse_int8_addition(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<Int8Arithmetic>();
  if (arithmetic == nullptr || !arithmetic->is_plain) return nullptr;
  const auto *addition = std::get_if<Int8Addition>(&arithmetic->operation);
  if (addition == nullptr) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto [producer, slots] = candidate.producer(side);
    if (slots.addition == nullptr) continue;
    *slots.addition = *addition;
    if (side == 1) std::swap((*slots.addition)->x_factor, (*slots.addition)->y_factor);
    producer->inputs.push_back(candidate.operation.inputs[1 - side]);
    return producer;
  }
  return nullptr;
}

}  // namespace cpuacc
