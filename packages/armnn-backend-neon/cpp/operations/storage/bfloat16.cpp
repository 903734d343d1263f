/* SPDX-License-Identifier: MIT */
#include "operations/storage/bfloat16.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* The upper half is to the nearest, ties to even; NaN stays. */
uint32_t rounded(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint32_t quiet = bits | 0x400000u;
  return x != x ? quiet : bits + 0x7fffu + (bits >> 16 & 1u);
}

}  // namespace

/* As a pair is stored: the first number has the lower half. */
uint32_t pair_of(float first, float second) {
  return rounded(first) >> 16 | (rounded(second) & 0xffff0000u);
}

RoundedRows::RoundedRows(int64_t count, int64_t length)
    : count(count),
      length(length),
      stride(length % costs::kCrowdedFloats == 0 ? length + costs::kBfloat16RowFiller : length) {}

size_t RoundedRows::bytes() const {
  return aligned_bytes(static_cast<size_t>(count * stride) * sizeof(Bfloat16));
}

void RoundedRows::round(const Frame &frame, const float *from, Bfloat16 *to) const {
  if (count == 0 || length == 0) return;
  const int64_t rows = std::max<int64_t>(1, costs::kChunkElements / length); /* of a piece */
  const double piece_ns = static_cast<double>(rows * length) * costs::kRoundedNs;
  frame.pool.run((count + rows - 1) / rows, piece_ns, [&](int64_t begin, int64_t end, int32_t) {
    const int64_t last = std::min(end * rows, count);
    const int64_t at = begin * rows;
    if (stride == length) {
      return frame.kernels.round_to_bfloat16(from + at * length, to + at * length, (last - at) * length);
    }
    for (int64_t i = at; i < last; ++i) {
      frame.kernels.round_to_bfloat16(from + i * length, to + i * stride, length);
    }
  });
}

}  // namespace cpuacc
