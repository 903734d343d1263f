/* SPDX-License-Identifier: MIT */
/* The access patterns of broadcast operands, and operations of one operand. */
#include "operations/pointwise/pointwise.h"

#include <algorithm>

#include "costs/costs.h"

namespace cpuacc {

std::optional<AccessPattern> access_pattern_of(const Shape &shape, const Shape &strides) {
  AccessPattern pattern{1, 1};
  size_t axis = shape.size();
  for (; axis > 0 && (strides[axis - 1] == 0 || shape[axis - 1] == 1); --axis) pattern.inner *= shape[axis - 1];
  for (; axis > 0 && strides[axis - 1] == pattern.period; --axis) pattern.period *= shape[axis - 1];
  for (; axis > 0; --axis) {
    if (strides[axis - 1] != 0 && shape[axis - 1] != 1) return std::nullopt;
  }
  return pattern;
}

size_t Unary::prepare(const Setup &setup) {
  count_ = setup[inputs[0]].count();
  from_bytes_ = static_cast<int64_t>(element_bytes(setup[inputs[0]].type));
  to_bytes_ = static_cast<int64_t>(element_bytes(setup[outputs[0]].type));
  return 0;
}

void Unary::run(const Frame &frame) const {
  const auto *from = frame.in<std::byte>(inputs[0]);
  auto *to = frame.out<std::byte>(outputs[0]);
  const double item_ns = costs::kChunkElements * in_elements() * frame.element_ns();
  const int64_t chunks = ratio_up(count_, costs::kChunkElements);
  frame.pool.run(chunks, item_ns, [&](int64_t begin, int64_t end, int32_t) {
    constexpr int64_t kSteps[] = {1};
    const int64_t first = begin * costs::kChunkElements;
    const void *const operands[] = {from + first * from_bytes_};
    compute_span(frame.kernels, operands, kSteps, to + first * to_bytes_,
                 std::min(end * costs::kChunkElements, count_) - first);
  });
}

std::optional<AccessPattern> Unary::access_pattern(const Graph &graph, size_t) const {
  return AccessPattern{1, graph[outputs[0]].count()};
}

}  // namespace cpuacc
