/* SPDX-License-Identifier: MIT */
#include "operations/quantised/conversion.h"

#include "operations/storage/formats.h"

namespace cpuacc {

size_t Dequantize::prepare(const Setup &setup) {
  const Tensor &from = setup[inputs[0]];
  integer_ = integer_of(from.type);
  scale_ = from.quantization.scales[0];
  zero_point_ = from.quantization.zero_points[0];
  return Unary::prepare(setup);
}

void Dequantize::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                              int64_t n) const {
  kernels.dequantize[static_cast<int>(integer_)](operands[0], static_cast<float *>(to), n, scale_,
                                                 zero_point_);
}

size_t Quantize::prepare(const Setup &setup) {
  const Tensor &to = setup[outputs[0]];
  integer_ = integer_of(to.type);
  scale_ = to.quantization.scales[0];
  zero_point_ = to.quantization.zero_points[0];
  return Unary::prepare(setup);
}

void Quantize::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                            int64_t n) const {
  kernels.quantize[static_cast<int>(integer_)](static_cast<const float *>(operands[0]), to, n, scale_,
                                               zero_point_);
}

}  // namespace cpuacc
