/* SPDX-License-Identifier: MIT */
/* Bilinear resizing of a row: pixels between pixels. */
#include "kernels/tile_shape.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* The two pixels between which one is. */
struct Between {
  const float *low;
  const float *high;
  float share;
};

/* The difference of both pixels could overflow. */
template <typename Vector>
CPUACC_INLINE Vector mixed(Vector low, Vector high, float share) {
  return rounded_product(low, (1.0f - share) - Vector{}) + rounded_product(high, share - Vector{});
}

/* Half a vector is as long as the pixels of many images. */
CPUACC_INLINE int64_t mix_half(const Between &pixels, float *made, int64_t c, int64_t n) {
  if (!kHasNarrowVectors || n - c < kNarrowLanes) return c;
  const NarrowFloats half = mixed(load_narrow(pixels.low + c), load_narrow(pixels.high + c), pixels.share);
  *reinterpret_cast<UnalignedNarrowFloats *>(made + c) = half;
  return c + kNarrowLanes;
}

CPUACC_INLINE void mix(const Between &pixels, float *made, int64_t n) {
  int64_t c = 0;
  for (; c + kLanes <= n; c += kLanes) {
    store(made + c, mixed(load(pixels.low + c), load(pixels.high + c), pixels.share));
  }
  c = mix_half(pixels, made, c, n);
  if (c == n) return;
  const First rest{n - c};
  rest.put(made + c, mixed(rest.get(pixels.low + c), rest.get(pixels.high + c), pixels.share));
}

void resize_bilinear_row(const MixedPixels &pixels) {
  const int64_t n = pixels.channels;
  for (int64_t i = 0; i < pixels.count; ++i) {
    const Between between{pixels.row + pixels.low[i] * n, pixels.row + pixels.high[i] * n, pixels.share[i]};
    float *made = pixels.made + i * n;
    if (between.share != 0.0f) {
      mix(between, made, n);
    } else { /* high may be infinite */
      std::memcpy(made, between.low, static_cast<size_t>(n) * sizeof(float));
    }
  }
}

}  // namespace

void fill_mixed_pixels(Kernels &table) { table.resize_bilinear_row = resize_bilinear_row; }

}  // namespace cpuacc::CPUACC_LEVEL
