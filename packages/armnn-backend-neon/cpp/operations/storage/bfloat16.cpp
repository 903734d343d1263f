/* SPDX-License-Identifier: MIT */
#include "operations/storage/bfloat16.h"

#include <algorithm>
#include <cstring>

namespace cpuacc {
namespace {

constexpr int64_t kLeastDepth = 4;
constexpr int64_t kLeastColumns = 8;
constexpr int64_t kPiece = 4096; /* numbers that a thread rounds at a time, at least */
constexpr double kRoundNs = 0.1;

/* Rows that begin so far from each other crowd a few sets of the nearest cache. */
constexpr int64_t kCrowding = 512;
constexpr int64_t kFiller = 32;

/* The upper half is to the nearest, ties to even; NaN stays. */
uint32_t rounded(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint32_t quiet = bits | 0x400000u;
  return x != x ? quiet : bits + 0x7fffu + (bits >> 16 & 1u);
}

/* As a pair lies in memory: the first number has the lower half. */
uint32_t pair_of(float first, float second) {
  return rounded(first) >> 16 | (rounded(second) & 0xffff0000u);
}

}  // namespace

bool gains_by_bfloat16(const Setup &setup, const WeightLayout &layout) {
  return setup.multiplies_bfloat16 && layout.depth >= kLeastDepth && layout.columns >= kLeastColumns;
}

size_t packed_bfloat16_bytes(const WeightLayout &layout, const Kernels &kernels) {
  WeightLayout even = layout;
  even.depth = packed_depth(layout.depth, static_cast<const Bfloat16 *>(nullptr));
  return packed_bytes(even, kernels) / sizeof(float) * sizeof(Bfloat16);
}

void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels,
                  Bfloat16 *packed) {
  auto *line = reinterpret_cast<uint32_t *>(packed); /* a pair for each column */
  for (int64_t first = 0; first < layout.columns; first += kernels.columns) {
    const int64_t width = std::min<int64_t>(kernels.columns, layout.columns - first);
    for (int64_t t = 0; t < layout.taps; ++t) {
      for (int64_t k = 0; k < layout.depth; k += 2) {
        const float *source = weights + t * layout.tap_stride + k * layout.depth_stride +
                              first * layout.column_stride;
        if (k + 1 < layout.depth) {
          const float *other = source + layout.depth_stride;
          for (int64_t j = 0; j < width; ++j) {
            line[j] = pair_of(source[j * layout.column_stride], other[j * layout.column_stride]);
          }
        } else {
          for (int64_t j = 0; j < width; ++j) line[j] = pair_of(source[j * layout.column_stride], 0.0f);
        }
        std::fill(line + width, line + kernels.columns, 0u);
        line += kernels.columns;
      }
    }
  }
}

RoundedRows::RoundedRows(int64_t count, int64_t length)
    : count(count), length(length), stride(length % kCrowding == 0 ? length + kFiller : length) {}

size_t RoundedRows::bytes() const {
  return aligned_bytes(static_cast<size_t>(count * stride) * sizeof(Bfloat16));
}

void RoundedRows::round(const Frame &frame, const float *from, Bfloat16 *to) const {
  if (count == 0 || length == 0) return;
  const int64_t lines = std::max<int64_t>(1, kPiece / length); /* of a piece */
  const double piece_ns = static_cast<double>(lines * length) * kRoundNs;
  frame.pool.run((count + lines - 1) / lines, piece_ns, [&](int64_t begin, int64_t end, int32_t) {
    const int64_t last = std::min(end * lines, count);
    const int64_t at = begin * lines;
    if (stride == length) {
      return frame.kernels.round_to_bfloat16(from + at * length, to + at * length, (last - at) * length);
    }
    for (int64_t i = at; i < last; ++i) {
      frame.kernels.round_to_bfloat16(from + i * length, to + i * stride, length);
    }
  });
}

}  // namespace cpuacc
