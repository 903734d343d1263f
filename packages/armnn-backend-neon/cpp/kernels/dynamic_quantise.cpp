/* SPDX-License-Identifier: MIT */
/* Quantisation to unsigned bytes, rounded as ONNX does. */
#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Ties go to the even neighbour; what is no number becomes the zero point. */
void quantize_to_even(const float *x, uint8_t *y, int64_t n, float scale, int32_t zero_point) {
  const float lowest = static_cast<float>(-zero_point);
  const float highest = static_cast<float>(255 - zero_point);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = n - i < kLanes ? n - i : kLanes;
    Floats steps = round_even((left == kLanes ? load(x + i) : load_part(x + i, left)) / scale);
    steps = steps == steps ? steps : Floats{};
    steps = minimum(maximum(steps, splat(lowest)), splat(highest));
    const Bytes stored = narrowed(__builtin_convertvector(steps, Ints) + zero_point);
    left == kLanes ? store_bytes(y + i, stored) : store_bytes(y + i, stored, left);
  }
}

}  // namespace

void fill_dynamic_quantise(Kernels &table) { table.quantize_to_even = quantize_to_even; }

}  // namespace cpuacc::CPUACC_LEVEL
