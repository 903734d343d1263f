/* SPDX-License-Identifier: MIT */
/* Transpositions in registers.
 *
 * N vectors in a row are one sequence of N * kLanes numbers. Interleaving its halves rotates the bits
 * of all indices by one; as many such steps as N has bits exchange rows and columns.
 */
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* The lanes of two vectors in turn, from lane First on. */
template <int First>
inline Floats zipped(Floats x, Floats y) {
  Ints lanes{};
  CPUACC_UNROLL for (int i = 0; i < kLanes; ++i) {
    lanes[i] = First + i / 2 + (i % 2) * static_cast<int>(kLanes);
  }
  return __builtin_shuffle(x, y, lanes);
}

template <int N>
inline void interleave_halves(Floats (&v)[N]) {
  Floats result[N];
  CPUACC_UNROLL for (int i = 0; i < N / 2; ++i) {
    result[2 * i] = zipped<0>(v[i], v[i + N / 2]);
    result[2 * i + 1] = zipped<kLanes / 2>(v[i], v[i + N / 2]);
  }
  CPUACC_UNROLL for (int i = 0; i < N; ++i) v[i] = result[i];
}

template <int N, int Size>
inline void rotate(Floats (&v)[N]) {
  CPUACC_UNROLL for (int step = 1; step < Size; step *= 2) interleave_halves<N>(v);
}

/* R rows side by side: their elements alternate. */
template <int R>
void interleave(const float *x, int64_t x_stride, float *y, int64_t columns) {
  for (int64_t c = 0; c < columns; c += kLanes) {
    const int64_t count = columns - c < kLanes ? columns - c : kLanes;
    Floats v[R];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      const float *line = x + r * x_stride + c;
      v[r] = count == kLanes ? load(line) : load_part(line, count);
    }
    rotate<R, R>(v);
    int64_t left = count * R;
    CPUACC_UNROLL for (int r = 0; r < R; ++r, left -= kLanes) {
      if (left <= 0) break;
      float *to = y + c * R + r * kLanes;
      left >= kLanes ? store(to, v[r]) : store_part(to, v[r], left);
    }
  }
}

/* Interleaves three rows, for which no rotation of bits does it. */
template <>
void interleave<3>(const float *x, int64_t x_stride, float *y, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    CPUACC_UNROLL for (int r = 0; r < 3; ++r) y[c * 3 + r] = x[r * x_stride + c];
  }
}

/* rows and columns: 1 .. kLanes. */
inline void transpose_block(const float *x, int64_t x_stride, float *y, int64_t y_stride, int64_t rows,
                            int64_t columns) {
  constexpr int kSide = static_cast<int>(kLanes);
  Floats v[kSide];
  if (rows == kLanes && columns == kLanes) {
    CPUACC_UNROLL for (int r = 0; r < kSide; ++r) v[r] = load(x + r * x_stride);
    rotate<kSide, kSide>(v);
    CPUACC_UNROLL for (int c = 0; c < kSide; ++c) store(y + c * y_stride, v[c]);
    return;
  }
  CPUACC_UNROLL for (int r = 0; r < kSide; ++r) {
    v[r] = r < rows ? load_part(x + r * x_stride, columns) : Floats{};
  }
  rotate<kSide, kSide>(v);
  CPUACC_UNROLL for (int c = 0; c < kSide; ++c) {
    if (c < columns) store_part(y + c * y_stride, v[c], rows);
  }
}

void transpose(const float *x, int64_t x_stride, float *y, int64_t y_stride, int64_t rows,
               int64_t columns) {
  if (rows == y_stride) {
    switch (rows) {
      case 2: return interleave<2>(x, x_stride, y, columns);
      case 3: return interleave<3>(x, x_stride, y, columns);
      case 4: return interleave<4>(x, x_stride, y, columns);
      case 8: return interleave<8>(x, x_stride, y, columns);
      default: break;
    }
  }
  for (int64_t r = 0; r < rows; r += kLanes) {
    const int64_t high = rows - r < kLanes ? rows - r : kLanes;
    for (int64_t c = 0; c < columns; c += kLanes) {
      const int64_t wide = columns - c < kLanes ? columns - c : kLanes;
      transpose_block(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride, high, wide);
    }
  }
}

}  // namespace

void fill_transpose(Kernels &table) { table.transpose = transpose; }

}  // namespace cpuacc::CPUACC_LEVEL
