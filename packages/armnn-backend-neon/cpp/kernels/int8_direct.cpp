/* SPDX-License-Identifier: MIT */
/* Convolutions of bytes whose windows slide over one line of an image; see sliding.cpp. */
#include "kernels/int8_tile.h"
#include "kernels/level.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

/* Vectors of columns as a whole register or, where columns are few, half of one. */
struct Whole {
  typedef Ints Sum;
  static Ints loaded(const void *p) { return load_ints(p); }
  static Ints bytes_of(int32_t four, Ints turned) { return splat_int(four) ^ turned; }
  static Ints added(Ints sum, Ints x, Ints weights) { return dot(sum, fours(x), fours(weights)); }
  static Ints widened(Ints sum) { return sum; }
};

#if CPUACC_VECTOR_BYTES == 64

typedef int32_t HalfInts __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));

struct Half {
  typedef HalfInts Sum;
  static HalfInts loaded(const void *p) {
    return reinterpret_cast<HalfInts>(_mm256_loadu_si256(static_cast<const __m256i *>(p)));
  }
  static HalfInts bytes_of(int32_t four, HalfInts turned) { return (four - HalfInts{}) ^ turned; }
  static HalfInts added(HalfInts sum, HalfInts x, HalfInts weights) {
    return reinterpret_cast<HalfInts>(_mm256_dpbusd_epi32(reinterpret_cast<__m256i>(sum),
                                                          reinterpret_cast<__m256i>(x),
                                                          reinterpret_cast<__m256i>(weights)));
  }
  static Ints widened(HalfInts sum) {
    return reinterpret_cast<Ints>(_mm512_maskz_inserti32x8(0xffff, _mm512_setzero_si512(),
                                                           reinterpret_cast<__m256i>(sum), 0));
  }
};

#endif

/* The sums of R outputs, V vectors of columns each. */
template <typename Kind, int R, int V>
inline void sum_windows(const Int8SlidingLine &line, int64_t first, typename Kind::Sum (&sums)[R][V]) {
  typedef typename Kind::Sum Sum;
  constexpr int kGroup = 3; /* outputs that are reached from one pointer: at 0, 1 and 2 steps */
  constexpr int kGroups = (R + kGroup - 1) / kGroup;
  constexpr int64_t kVectorBytes = static_cast<int64_t>(sizeof(Sum));
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const Sum bias = Kind::loaded(line.bias + v * kVectorBytes / 4);
    CPUACC_UNROLL for (int r = 0; r < R; ++r) sums[r][v] = bias;
  }
  const Sum turned = hidden(turned_bits(line.is_signed) - Sum{});
  const int64_t step = line.step;
  const int8_t *b = line.b;
  for (int64_t t = 0; t < line.taps; ++t) {
    const uint8_t *a[kGroups];
    CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) {
      a[g] = line.image + t * line.tap_step + (first + g * kGroup) * step;
    }
    for (int64_t k = 0; k < line.depth; k += 4, b += kColumns * 4) {
      Sum weights[V];
      CPUACC_UNROLL for (int v = 0; v < V; ++v) weights[v] = Kind::loaded(b + v * kVectorBytes);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const Sum x = Kind::bytes_of(read_four(a[r / kGroup] + r % kGroup * step), turned);
        CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = Kind::added(sums[r][v], x, weights[v]);
      }
      CPUACC_UNROLL for (int g = 0; g < kGroups; ++g) a[g] += 4;
    }
  }
}

template <typename Kind, int R, int V>
void outputs(const Int8SlidingLine &line, int64_t first) {
  typename Kind::Sum sums[R][V];
  sum_windows<Kind, R, V>(line, first, sums);
  Ints whole[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    CPUACC_UNROLL for (int v = 0; v < V; ++v) whole[r][v] = Kind::widened(sums[r][v]);
  }
  store_rows<R, V>(line.c + first * line.c_stride, line.c_stride, line.column_count, line.requantization,
                   whole);
}

template <typename Kind, int V>
void all_outputs(const Int8SlidingLine &line) {
  int64_t x = 0;
  for (; x + kRows <= line.count; x += kRows) outputs<Kind, kRows, V>(line, x);
  if constexpr (kRows > 8) {
    if (x + 8 <= line.count) outputs<Kind, 8, V>(line, x), x += 8;
  }
  if constexpr (kRows > 4) {
    if (x + 4 <= line.count) outputs<Kind, 4, V>(line, x), x += 4;
  }
  if (x + 2 <= line.count) outputs<Kind, 2, V>(line, x), x += 2;
  if (x < line.count) outputs<Kind, 1, V>(line, x);
}

void sliding_line(const Int8SlidingLine &line) {
#if CPUACC_VECTOR_BYTES == 64
  if (line.column_count <= kLanes / 2) return all_outputs<Half, 1>(line);
#endif
  line.column_count <= kLanes ? all_outputs<Whole, 1>(line) : all_outputs<Whole, kVectors>(line);
}

}  // namespace

void fill_int8_sliding(Int8Kernels &table) { table.sliding_line = sliding_line; }

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
