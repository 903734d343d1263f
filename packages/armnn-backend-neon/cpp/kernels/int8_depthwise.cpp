/* SPDX-License-Identifier: MIT */
/* Depthwise convolution of 8-bit images, channels last.
 *
 * The elements of kGroup rows of a window that stand over each other make one vector, which every
 * output whose window holds this column takes as it is.
 */
#include "kernels/int8_vector.h"
#include "kernels/level.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

constexpr int64_t kBlock = 4; /* outputs side by side that share their columns */

#if defined(__AVX512VNNI__)

constexpr int kGroup = 4;

/* Four rows of bytes, transposed: the four of a channel stand side by side. */
inline Ints column(const uint8_t *const (&p)[kGroup], int64_t c, int64_t n, Ints turned) {
  const __m512i across = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __m512i within = _mm512_maskz_broadcast_i32x4(
      0xffff, _mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
  __m512i rows = _mm512_zextsi128_si512(some_bytes(p[0] + c, n));
  rows = _mm512_maskz_inserti32x4(0xffff, rows, some_bytes(p[1] + c, n), 1);
  rows = _mm512_maskz_inserti32x4(0xffff, rows, some_bytes(p[2] + c, n), 2);
  rows = _mm512_maskz_inserti32x4(0xffff, rows, some_bytes(p[3] + c, n), 3);
  rows = _mm512_maskz_permutexvar_epi32(0xffff, across, rows);
  rows = _mm512_maskz_shuffle_epi8(~__mmask64{0}, rows, within);
  return reinterpret_cast<Ints>(rows) ^ turned;
}

inline Ints add_products(Ints sum, Ints column, Ints weights) { return dot(sum, column, weights); }

#elif defined(__x86_64__)

constexpr int kGroup = 2;

/* Two rows of bytes, the two of a channel side by side as 16 bits each. */
inline Ints column(const uint8_t *const (&p)[kGroup], int64_t c, int64_t n, Ints turned) {
  const __m128i turned_half = _mm_set1_epi32(turned[0]);
  const __m128i both = _mm_unpacklo_epi8(some_bytes(p[0] + c, n), some_bytes(p[1] + c, n));
  const __m128i bytes = _mm_xor_si128(both, turned_half);
#if CPUACC_VECTOR_BYTES == 32
  return reinterpret_cast<Ints>(_mm256_cvtepi8_epi16(bytes));
#else
  return reinterpret_cast<Ints>(_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8));
#endif
}

inline Ints add_products(Ints sum, Ints column, Ints weights) {
  return sum + pairs_of_products(reinterpret_cast<Shorts>(column), reinterpret_cast<Shorts>(weights));
}

#else

constexpr int kGroup = 1;

inline Ints column(const uint8_t *const (&p)[kGroup], int64_t c, int64_t n, Ints turned) {
  int32_t four = 0;
  if (n >= kLanes) {
    std::memcpy(&four, p[0] + c, sizeof four);
  } else {
    std::memcpy(&four, p[0] + c, static_cast<size_t>(n));
  }
  const int8x8_t bytes = vreinterpret_s8_s32(vdup_n_s32(four ^ turned[0]));
  return reinterpret_cast<Ints>(vmovl_s16(vget_low_s16(vmovl_s8(bytes))));
}

inline Ints add_products(Ints sum, Ints column, Ints weights) { return sum + column * weights; }

#endif

/* The image's rows of one group of window rows; one that lies outside stays at the zero points. */
struct Lines {
  const uint8_t *begin[kGroup];
  int64_t step[kGroup]; /* from one image column to the next one */
};

inline Lines lines_of(const Int8DepthwiseRow &row, int64_t first) {
  Lines lines;
  CPUACC_UNROLL for (int i = 0; i < kGroup; ++i) {
    const uint8_t *line = row.lines[first + i];
    lines.begin[i] = line == nullptr ? row.outside : line;
    lines.step[i] = line == nullptr ? 0 : row.channels;
  }
  return lines;
}

/* The elements over each other at image column x. */
inline Ints column_at(const Int8DepthwiseRow &row, const Lines &lines, int64_t x, int64_t c, int64_t n,
                      Ints turned) {
  const bool is_inside = x >= 0 && x < row.width;
  const uint8_t *p[kGroup];
  CPUACC_UNROLL for (int i = 0; i < kGroup; ++i) {
    p[i] = is_inside ? lines.begin[i] + x * lines.step[i] : row.outside;
  }
  return column(p, c, n, turned);
}

template <int64_t B>
inline void store_outputs(const Int8DepthwiseRow &row, int64_t x, int64_t c, int64_t n, const Ints (&sums)[B]) {
  const Requantizer requantize(row.requantization);
  const Floats scale = load(row.requantization.scales + c);
  CPUACC_UNROLL for (int64_t b = 0; b < B; ++b) {
    uint8_t *to = row.output + (x + b) * row.channels + c;
    const Bytes stored = requantize(sums[b], scale);
    n >= kLanes ? store_bytes(to, stored) : store_bytes(to, stored, n);
  }
}

/* B outputs of up to kLanes channels. The width and the stride are constants where they
 * can be, so that neighbouring windows share their columns; 0: known at run time only.
 */
template <int W, int S, int64_t B>
inline void depthwise_block(const Int8DepthwiseRow &row, int64_t x, int64_t c, Ints turned) {
  const int64_t n = row.channels - c;
  const int64_t padded = (row.channels + kLanes - 1) / kLanes * kLanes;
  const int64_t left = row.left + x * row.stride_x;
  const int64_t width = W != 0 ? W : row.window_width;
  Ints sums[B];
  const Ints bias = load_ints(row.bias + c);
  CPUACC_UNROLL for (int64_t b = 0; b < B; ++b) sums[b] = bias;
  const auto *weights = static_cast<const int32_t *>(row.weights) + c;
  for (int64_t i = 0; i < row.window_height; i += kGroup, weights += width * padded) {
    const Lines lines = lines_of(row, i);
    if constexpr (S != 0) {
      constexpr int kColumns = (B - 1) * S + W;
      Ints columns[kColumns];
      CPUACC_UNROLL for (int j = 0; j < kColumns; ++j) {
        columns[j] = column_at(row, lines, left + j, c, n, turned);
      }
      CPUACC_UNROLL for (int j = 0; j < W; ++j) {
        const Ints weight = load_ints(weights + j * padded);
        CPUACC_UNROLL for (int64_t b = 0; b < B; ++b) {
          sums[b] = add_products(sums[b], columns[b * S + j], weight);
        }
      }
    } else {
      for (int64_t j = 0; j < width; ++j) {
        const Ints weight = load_ints(weights + j * padded);
        CPUACC_UNROLL for (int64_t b = 0; b < B; ++b) {
          const int64_t at = left + b * row.stride_x + j * row.dilation_x;
          sums[b] = add_products(sums[b], column_at(row, lines, at, c, n, turned), weight);
        }
      }
    }
  }
  store_outputs<B>(row, x, c, n, sums);
}

template <int W, int S>
void depthwise(const Int8DepthwiseRow &row) {
  const Ints turned = splat_int(turned_bits(row.is_signed));
  for (int64_t c = 0; c < row.channels; c += kLanes) {
    int64_t x = 0;
    for (; x + kBlock <= row.output_width; x += kBlock) depthwise_block<W, S, kBlock>(row, x, c, turned);
    for (; x < row.output_width; ++x) depthwise_block<W, S, 1>(row, x, c, turned);
  }
}

void depthwise_row(const Int8DepthwiseRow &row) {
  const bool is_dense = row.dilation_x == 1;
  if (row.window_width == 1) return depthwise<1, 0>(row);
  if (is_dense && row.window_width == 3 && row.stride_x == 1) return depthwise<3, 1>(row);
  if (is_dense && row.window_width == 3 && row.stride_x == 2) return depthwise<3, 2>(row);
  if (is_dense && row.window_width == 5 && row.stride_x == 1) return depthwise<5, 1>(row);
  if (is_dense && row.window_width == 5 && row.stride_x == 2) return depthwise<5, 2>(row);
  return depthwise<0, 0>(row);
}

}  // namespace

void fill_int8_depthwise(Int8Kernels &table) {
  table.depthwise_group = kGroup;
  table.depthwise_row = depthwise_row;
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
