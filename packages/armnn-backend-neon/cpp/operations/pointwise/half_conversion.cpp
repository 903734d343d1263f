/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/half_conversion.h"

namespace cpuacc {

void HalfToFloat32::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                                 int64_t n) const {
  kernels.half_to_float32[static_cast<int>(format_)](static_cast<const uint16_t *>(operands[0]),
                                                     static_cast<float *>(to), n);
}

void Float32ToHalf::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                                 int64_t n) const {
  kernels.float32_to_half[static_cast<int>(format_)](static_cast<const float *>(operands[0]),
                                                     static_cast<uint16_t *>(to), n);
}

}  // namespace cpuacc
