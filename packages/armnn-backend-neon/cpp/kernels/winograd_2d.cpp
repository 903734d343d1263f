/* SPDX-License-Identifier: MIT */
/* The transformations of Winograd's minimal filtering F(m x m, 3 x 3); Lavin and Gray, 2015.
 *
 * The interpolation points are 0, 1, -1 and infinity for m = 2, 2 and -2 as well for m = 4, and for
 * m = 6 also their inverses.
 */
#include <cstring>

#include "kernels/functions.h"
#include "kernels/tile_shape.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Along one axis: the m + 2 inputs of a tile, step vectors apart, in place. */
template <int M>
inline void transform_input(Floats *d, int step) {
  const Floats d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step];
  if constexpr (M == 2) {
    d[0] = d0 - d2;
    d[step] = d1 + d2;
    d[2 * step] = d2 - d1;
    d[3 * step] = d1 - d3;
  } else if constexpr (M == 6) {
    const Floats d4 = d[4 * step], d5 = d[5 * step], d6 = d[6 * step], d7 = d[7 * step];
    const Floats even = d2 + d6 - 4.25f * d4;
    const Floats odd = d1 + d5 - 4.25f * d3;
    const Floats wide_even = d6 + 0.25f * d2 - 1.25f * d4;
    const Floats wide_odd = 0.5f * d1 - 2.5f * d3 + 2.0f * d5;
    const Floats close_even = d6 + 4.0f * d2 - 5.0f * d4;
    const Floats close_odd = 2.0f * d1 - 2.5f * d3 + 0.5f * d5;
    d[0] = d0 - d6 + 5.25f * (d4 - d2);
    d[step] = even + odd;
    d[2 * step] = even - odd;
    d[3 * step] = wide_even + wide_odd;
    d[4 * step] = wide_even - wide_odd;
    d[5 * step] = close_even + close_odd;
    d[6 * step] = close_even - close_odd;
    d[7 * step] = d7 - d1 + 5.25f * (d3 - d5);
  } else {
    const Floats d4 = d[4 * step], d5 = d[5 * step];
    const Floats even = d4 - 4.0f * d2;
    const Floats odd = d3 - 4.0f * d1;
    const Floats wide_even = d4 - d2;
    const Floats wide_odd = 2.0f * (d3 - d1);
    d[0] = 4.0f * d0 - 5.0f * d2 + d4;
    d[step] = even + odd;
    d[2 * step] = even - odd;
    d[3 * step] = wide_even + wide_odd;
    d[4 * step] = wide_even - wide_odd;
    d[5 * step] = 4.0f * d1 - 5.0f * d3 + d5;
  }
}

/* Along one axis: the sums of a tile to m outputs, in place. */
template <int M>
inline void transform_sums(Floats *s, int step) {
  const Floats s0 = s[0], s1 = s[step], s2 = s[2 * step], s3 = s[3 * step];
  const Floats sum = s1 + s2;
  const Floats difference = s1 - s2;
  if constexpr (M == 2) {
    s[0] = s0 + sum;
    s[step] = difference - s3;
  } else if constexpr (M == 6) {
    const Floats s4 = s[4 * step], s5 = s[5 * step], s6 = s[6 * step], s7 = s[7 * step];
    const Floats wide_sum = s3 + s4;
    const Floats wide_difference = s3 - s4;
    const Floats close_sum = s5 + s6;
    const Floats close_difference = s5 - s6;
    s[0] = s0 + sum + wide_sum + close_sum;
    s[step] = difference + 2.0f * wide_difference + 0.5f * close_difference;
    s[2 * step] = sum + 4.0f * wide_sum + 0.25f * close_sum;
    s[3 * step] = difference + 8.0f * wide_difference + 0.125f * close_difference;
    s[4 * step] = sum + 16.0f * wide_sum + 0.0625f * close_sum;
    s[5 * step] = difference + 32.0f * wide_difference + 0.03125f * close_difference + s7;
  } else {
    const Floats s4 = s[4 * step], s5 = s[5 * step];
    const Floats wide_sum = s3 + s4;
    const Floats wide_difference = s3 - s4;
    s[0] = s0 + sum + wide_sum;
    s[step] = difference + 2.0f * wide_difference;
    s[2 * step] = sum + 4.0f * wide_sum;
    s[3 * step] = difference + 8.0f * wide_difference + s5;
  }
}

template <int M, bool kIsInside>
inline void input_vector(const Winograd2dInput &tile, int64_t c) {
  constexpr int kSide = M + 2;
  Floats d[kSide * kSide];
  for (int i = 0; i < kSide; ++i) {
    const int64_t y = tile.top + i;
    const bool is_row = kIsInside || (y >= 0 && y < tile.height);
    const float *line = tile.image + (y * tile.width + tile.left) * tile.channels + c;
    CPUACC_UNROLL for (int j = 0; j < kSide; ++j) {
      const int64_t x = tile.left + j;
      const bool is_there = kIsInside || (is_row && x >= 0 && x < tile.width);
      d[i * kSide + j] = is_there ? load(line + j * tile.channels) : Floats{};
    }
    transform_input<M>(d + i * kSide, 1);
  }
  for (int j = 0; j < kSide; ++j) {
    transform_input<M>(d + j, kSide);
    CPUACC_UNROLL for (int i = 0; i < kSide; ++i) {
      store(tile.to + (i * kSide + j) * tile.stride + c, d[i * kSide + j]);
    }
  }
}

/* The last vector of channels overlaps the one before rather than being cut. */
template <int M>
void winograd_2d_input(const Winograd2dInput &tile) {
  const bool is_inside = tile.top >= 0 && tile.left >= 0 && tile.top + M + 2 <= tile.height &&
                         tile.left + M + 2 <= tile.width;
  for (int64_t c = 0; c < tile.channels; c += kLanes) {
    const int64_t first = c + kLanes <= tile.channels ? c : tile.channels - kLanes;
    is_inside ? input_vector<M, true>(tile, first) : input_vector<M, false>(tile, first);
  }
}

template <int M, typename Lanes>
inline void output_vector(const Winograd2dOutput &tile, int64_t c, const Lanes &lanes) {
  constexpr int kSide = M + 2;
  Floats s[kSide * kSide];
  for (int i = 0; i < kSide; ++i) {
    CPUACC_UNROLL for (int j = 0; j < kSide; ++j) {
      s[i * kSide + j] = load(tile.sums + (i * kSide + j) * tile.stride + c);
    }
    transform_sums<M>(s + i * kSide, 1);
  }
  const Floats bias = tile.bias == nullptr ? Floats{} : lanes.get(tile.bias + c);
  for (int64_t j = 0; j < tile.columns; ++j) {
    transform_sums<M>(s + j, kSide);
    Floats made[M];
    for (int64_t i = 0; i < M; ++i) {
      made[i] = s[i * kSide + j] + bias;
      if (tile.residual != nullptr && i < tile.rows) {
        made[i] += lanes.get(tile.residual + i * tile.row_stride + j * tile.column_stride + c);
      }
    }
    finish(tile.function, made);
    for (int64_t i = 0; i < M && i < tile.rows; ++i) {
      lanes.put(tile.to + i * tile.row_stride + j * tile.column_stride + c, made[i]);
    }
  }
}

template <int M>
void winograd_2d_output(const Winograd2dOutput &tile) {
  int64_t c = 0;
  for (; c + kLanes <= tile.count; c += kLanes) output_vector<M>(tile, c, All{});
  if (c < tile.count) output_vector<M>(tile, c, First{tile.count - c});
}

typedef double Doubles __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
constexpr int64_t kHalf = kLanes / 2;
constexpr int64_t kWindow = 3;
constexpr int64_t kTaps = kWindow * kWindow;
constexpr int64_t kDepths = 4; /* filters of a column that are read together */

/* sum + x * y, both rounded: a fused product would give other bits at other levels. */
inline Doubles with_product(Doubles sum, double x, Doubles y) {
  Doubles product = x * y;
  asm("" : CPUACC_IN_REGISTER(product));
  return sum + product;
}

/* G g G^T of as many filters as there are lanes, to numbers step apart. */
template <int M>
inline void transform_filters(const double *g, const double *taps, float *to, int64_t step) {
  constexpr int kSide = M + 2;
  Doubles filter[kTaps];
  std::memcpy(filter, taps, sizeof filter);
  for (int i = 0; i < kSide; ++i) {
    Doubles half[kWindow];
    CPUACC_UNROLL for (int j = 0; j < kWindow; ++j) {
      half[j] = Doubles{};
      CPUACC_UNROLL for (int k = 0; k < kWindow; ++k) {
        half[j] = with_product(half[j], g[i * kWindow + k], filter[k * kWindow + j]);
      }
    }
    CPUACC_UNROLL for (int j = 0; j < kSide; ++j) {
      Doubles sum{};
      CPUACC_UNROLL for (int k = 0; k < kWindow; ++k) sum = with_product(sum, g[j * kWindow + k], half[k]);
      const NarrowFloats made = __builtin_convertvector(sum, NarrowFloats);
      std::memcpy(to + (i * kSide + j) * step, &made, sizeof made);
    }
  }
}

/* Reads and writes whole cache lines: filters of some depths become numbers of all columns in a buffer. */
template <int M>
void winograd_2d_filters(const Winograd2dFilters &f) {
  constexpr int kPoints = (M + 2) * (M + 2);
  alignas(64) float made[kPoints][kDepths * kColumns];
  alignas(64) double taps[kDepths][kTaps][kHalf];
  for (int64_t k = 0; k < f.depth; k += kDepths) {
    const int64_t depths = f.depth - k < kDepths ? f.depth - k : kDepths;
    for (int64_t first = 0; first < kColumns; first += kHalf) {
      if (first + kHalf > f.columns) std::memset(taps, 0, sizeof taps);
      for (int64_t j = 0; j < kHalf && first + j < f.columns; ++j) {
        const float *from = f.weights + (first + j) * f.column_stride + k * f.depth_stride;
        for (int64_t d = 0; d < depths; ++d) {
          for (int64_t t = 0; t < kTaps; ++t) taps[d][t][j] = from[d * f.depth_stride + t * f.tap_stride];
        }
      }
      for (int64_t d = 0; d < depths; ++d) {
        transform_filters<M>(f.matrix, taps[d][0], made[0] + d * kColumns + first, kDepths * kColumns);
      }
    }
    for (int64_t p = 0; p < kPoints; ++p) {
      std::memcpy(f.to + (p * f.depth + k) * kColumns, made[p],
                  static_cast<size_t>(depths * kColumns) * sizeof(float));
    }
  }
}

}  // namespace

void fill_winograd_2d(Kernels &table) {
  table.winograd_2d_input[0] = winograd_2d_input<2>;
  table.winograd_2d_input[1] = winograd_2d_input<4>;
  table.winograd_2d_input[2] = winograd_2d_input<6>;
  table.winograd_2d_output[0] = winograd_2d_output<2>;
  table.winograd_2d_output[1] = winograd_2d_output<4>;
  table.winograd_2d_output[2] = winograd_2d_output<6>;
  table.winograd_2d_filters[0] = winograd_2d_filters<2>;
  table.winograd_2d_filters[1] = winograd_2d_filters<4>;
  table.winograd_2d_filters[2] = winograd_2d_filters<6>;
}

}  // namespace cpuacc::CPUACC_LEVEL
