/* SPDX-License-Identifier: MIT */
/* Arithmetic of bytes and a function of the same bytes, which is a function of them as well. */
#include <numeric>

#include "operations/quantised/quantised.h"
#include "passes/fusion/rules.h"

namespace cpuacc {
Operation *fuse_byte_pair(const Candidate &candidate) {
  const auto *arithmetic = candidate.computes<Int8Arithmetic>();
  if (arithmetic == nullptr) return nullptr;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId other = candidate.operation.inputs[1 - side];
    const auto [producer, slots] = candidate.producer(side);
    if (producer == nullptr || producer->inputs.size() != 1 || producer->inputs[0] != other) continue;
    const Description description = producer->describe();
    const auto *function = std::get_if<ByteFunction>(&description);
    if (function == nullptr) continue;
    ByteTable same;
    std::iota(same.begin(), same.end(), uint8_t{0});
    const ByteTable &x = side == 0 ? function->table : same;
    const ByteTable &y = side == 0 ? same : function->table;
    ByteFunction both{};
    compute_int8(candidate.kernels.int8, arithmetic->operation, x.data(), 1, y.data(), 1, both.table.data(), 256);
    *slots.table = both;
    --candidate.uses.readers[static_cast<size_t>(other)];
    return producer;
  }
  return nullptr;
}

}  // namespace cpuacc
