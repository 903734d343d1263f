/* SPDX-License-Identifier: MIT */
/* The transformations of minimal filtering along one axis, F(m, r) with n = m + r - 1 points.
 *
 * The points are 0, 1, -1, 2, -2 and infinity, with n = 8 also 1/2 and -1/2. Inputs are transformed
 * the same for every r: Winograd, Arithmetic Complexity of Computations, 1980.
 */
#pragma once

#include "kernels/winograd/stored.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

inline void transform_tile(Floats (&d)[6]) {
  const Floats even = d[4] - 4.0f * d[2];
  const Floats odd = d[3] - 4.0f * d[1];
  const Floats wide_even = d[4] - d[2];
  const Floats wide_odd = 2.0f * (d[3] - d[1]);
  d[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
  d[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
  d[1] = even + odd;
  d[2] = even - odd;
  d[3] = wide_even + wide_odd;
  d[4] = wide_even - wide_odd;
}

inline void transform_tile(Floats (&d)[8]) {
  const Floats even = d[2] - 4.25f * d[4] + d[6];
  const Floats odd = d[1] - 4.25f * d[3] + d[5];
  const Floats wide_even = 0.25f * d[2] - 1.25f * d[4] + d[6];
  const Floats wide_odd = 0.5f * d[1] - 2.5f * d[3] + 2.0f * d[5];
  const Floats near_even = 4.0f * d[2] - 5.0f * d[4] + d[6];
  const Floats near_odd = 2.0f * d[1] - 2.5f * d[3] + 0.5f * d[5];
  d[0] = 5.25f * (d[2] - d[4]) + d[6] - d[0];
  d[7] = 5.25f * (d[3] - d[5]) + d[7] - d[1];
  d[1] = even + odd;
  d[2] = even - odd;
  d[3] = wide_even + wide_odd;
  d[4] = wide_even - wide_odd;
  d[5] = near_even + near_odd;
  d[6] = near_even - near_odd;
}

template <int N, typename Number, typename Lanes>
inline void input_vector(const Winograd1dInputOf<Number> &tile, int64_t c, const Lanes &lanes) {
  Floats d[N];
  CPUACC_UNROLL for (int i = 0; i < N; ++i) {
    const bool is_there = i >= tile.first && i < tile.last;
    d[i] = is_there ? get(lanes, tile.from + i * tile.step + c) : Floats{};
  }
  transform_tile(d);
  CPUACC_UNROLL for (int i = 0; i < N; ++i) lanes.put(tile.to + i * tile.stride + c, d[i]);
}

template <int N, typename Number>
void winograd_1d_input(const Winograd1dInputOf<Number> &tile) {
  int64_t c = 0;
  for (; c + kLanes <= tile.channels; c += kLanes) input_vector<N>(tile, c, All{});
  if (c < tile.channels) input_vector<N>(tile, c, First{tile.channels - c});
}

/* Output i is the sum of point^i times the point's sum; infinity adds to the last one alone. */
template <int N, int M>
inline void transform_sums(const Floats (&s)[N], Floats (&y)[M]) {
  const Floats sums[] = {s[1] + s[2], s[1] - s[2]};
  const Floats wide[] = {s[3] + s[4], s[3] - s[4]};
  CPUACC_UNROLL for (int i = 0; i < M; ++i) {
    const auto power = static_cast<float>(1 << i);
    y[i] = sums[i % 2] + power * wide[i % 2];
    if constexpr (N == 8) y[i] += (1.0f / power) * (i % 2 == 0 ? s[5] + s[6] : s[5] - s[6]);
  }
  y[0] += s[0];
  y[M - 1] += s[N - 1];
}

template <int N, int M, bool kHasBfloat16, typename Lanes>
inline void output_vector(const Winograd1dOutput &tile, int64_t c, const Lanes &lanes) {
  Floats s[N];
  CPUACC_UNROLL for (int i = 0; i < N; ++i) s[i] = load(tile.sums + i * tile.stride + c);
  Floats y[M];
  transform_sums(s, y);
  const Floats bias = tile.bias == nullptr ? Floats{} : lanes.get(tile.bias + c);
  CPUACC_UNROLL for (int i = 0; i < M; ++i) {
    y[i] += bias;
    if (i < tile.count) add_residual<kHasBfloat16>(tile, i * tile.step + c, lanes, y[i]);
  }
  finish(tile.function, y);
  CPUACC_UNROLL for (int i = 0; i < M; ++i) {
    if (i < tile.count) put_stored<kHasBfloat16>(tile.to, i * tile.step + c, lanes, y[i]);
  }
}

template <int N, int M, bool kHasBfloat16>
void winograd_1d_output(const Winograd1dOutput &tile) {
  int64_t c = 0;
  for (; c + kLanes <= tile.channels; c += kLanes) output_vector<N, M, kHasBfloat16>(tile, c, All{});
  if (c < tile.channels) output_vector<N, M, kHasBfloat16>(tile, c, First{tile.channels - c});
}

template <bool kHasBfloat16>
void fill_winograd_1d_output(Kernels &table) {
  table.winograd_1d_output[0][0] = winograd_1d_output<6, 2, kHasBfloat16>;
  table.winograd_1d_output[0][1] = winograd_1d_output<6, 4, kHasBfloat16>;
  table.winograd_1d_output[1][0] = winograd_1d_output<8, 2, kHasBfloat16>;
  table.winograd_1d_output[1][1] = winograd_1d_output<8, 4, kHasBfloat16>;
  table.winograd_1d_output[1][2] = winograd_1d_output<8, 6, kHasBfloat16>;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
