/* SPDX-License-Identifier: MIT */
/* The transformations of Winograd's minimal filtering F(m x m, 3 x 3); Lavin and Gray, 2015.
 *
 * The interpolation points are 0, 1, -1 and infinity for m = 2, 2 and -2 as well for m = 4, and for
 * m = 6 also their inverses.
 */
#pragma once

#include "kernels/winograd/stored.h"

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

template <int M, bool kIsInside, typename Number>
inline void input_vector(const Winograd2dInputOf<Number> &tile, int64_t c) {
  constexpr int kSide = M + 2;
  Floats d[kSide * kSide];
  for (int i = 0; i < kSide; ++i) {
    const int64_t y = tile.top + i;
    const bool is_row = kIsInside || (y >= 0 && y < tile.height);
    const Number *line = tile.image + (y * tile.width + tile.left) * tile.channels + c;
    CPUACC_UNROLL for (int j = 0; j < kSide; ++j) {
      const int64_t x = tile.left + j;
      const bool is_there = kIsInside || (is_row && x >= 0 && x < tile.width);
      d[i * kSide + j] = is_there ? get(All{}, line + j * tile.channels) : Floats{};
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
template <int M, typename Number>
void winograd_2d_input(const Winograd2dInputOf<Number> &tile) {
  const bool is_inside = tile.top >= 0 && tile.left >= 0 && tile.top + M + 2 <= tile.height &&
                         tile.left + M + 2 <= tile.width;
  for (int64_t c = 0; c < tile.channels; c += kLanes) {
    const int64_t first = c + kLanes <= tile.channels ? c : tile.channels - kLanes;
    is_inside ? input_vector<M, true>(tile, first) : input_vector<M, false>(tile, first);
  }
}

template <int M, bool kHasBfloat16, typename Lanes>
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
      if (i < tile.rows) {
        add_residual<kHasBfloat16>(tile, i * tile.row_stride + j * tile.column_stride + c, lanes, made[i]);
      }
    }
    finish(tile.function, made);
    for (int64_t i = 0; i < M && i < tile.rows; ++i) {
      put_stored<kHasBfloat16>(tile.to, i * tile.row_stride + j * tile.column_stride + c, lanes, made[i]);
    }
  }
}

template <int M, bool kHasBfloat16>
void winograd_2d_output(const Winograd2dOutput &tile) {
  int64_t c = 0;
  for (; c + kLanes <= tile.count; c += kLanes) output_vector<M, kHasBfloat16>(tile, c, All{});
  if (c < tile.count) output_vector<M, kHasBfloat16>(tile, c, First{tile.count - c});
}

template <bool kHasBfloat16>
void fill_winograd_2d_output(Kernels &table) {
  table.winograd_2d_output[0] = winograd_2d_output<2, kHasBfloat16>;
  table.winograd_2d_output[1] = winograd_2d_output<4, kHasBfloat16>;
  table.winograd_2d_output[2] = winograd_2d_output<6, kHasBfloat16>;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
