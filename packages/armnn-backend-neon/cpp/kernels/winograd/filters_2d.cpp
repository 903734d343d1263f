/* SPDX-License-Identifier: MIT */
/* The transformation of filters for F(m x m, 3 x 3), in float64. */
#include <cstring>

#include "kernels/tile_shape.h"
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

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
  const int64_t row = f.columns <= kLanes ? kPanelRow<1> : kColumns;
  for (int64_t k = 0; k < f.depth; k += kDepths) {
    const int64_t depths = f.depth - k < kDepths ? f.depth - k : kDepths;
    for (int64_t first = 0; first < row; first += kHalf) {
      if (first + kHalf > f.columns) std::memset(taps, 0, sizeof taps);
      for (int64_t j = 0; j < kHalf && first + j < f.columns; ++j) {
        const float *from = f.weights + (first + j) * f.column_stride + k * f.depth_stride;
        for (int64_t d = 0; d < depths; ++d) {
          for (int64_t t = 0; t < kTaps; ++t) taps[d][t][j] = from[d * f.depth_stride + t * f.tap_stride];
        }
      }
      for (int64_t d = 0; d < depths; ++d) {
        transform_filters<M>(f.matrix, taps[d][0], made[0] + d * row + first, kDepths * kColumns);
      }
    }
    for (int64_t p = 0; p < kPoints; ++p) {
      std::memcpy(f.to + (p * f.depth + k) * row, made[p],
                  static_cast<size_t>(depths * row) * sizeof(float));
    }
  }
}

}  // namespace

void fill_winograd_filters_2d(Kernels &table) {
  table.winograd_2d_filters[0] = winograd_2d_filters<2>;
  table.winograd_2d_filters[1] = winograd_2d_filters<4>;
  table.winograd_2d_filters[2] = winograd_2d_filters<6>;
}

}  // namespace cpuacc::CPUACC_LEVEL
