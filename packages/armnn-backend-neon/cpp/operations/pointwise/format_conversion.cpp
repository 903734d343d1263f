/* SPDX-License-Identifier: MIT */
/* The kernels that convert stored formats from and to float32. */
#include "operations/pointwise/format_conversion.h"

#include "operations/storage/formats.h"

namespace cpuacc {

Description FormatConversion::describe() const {
  return is_half(stored_) ? Description(Conversion{}) : Description();
}

size_t FormatConversion::prepare(const Setup &setup) {
  quantization_ = setup[decodes_ ? inputs[0] : outputs[0]].quantization;
  return Unary::prepare(setup);
}

void FormatConversion::compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                                    int64_t n) const {
  const void *from = operands[0];
  const auto format = static_cast<int>(half_format_of(stored_));
  if (!is_half(stored_)) {
    decodes_ ? dequantize(kernels, stored_, quantization_, from, static_cast<float *>(to), n)
             : quantize(kernels, stored_, quantization_, static_cast<const float *>(from), to, n);
  } else if (decodes_) {
    kernels.half_to_float32[format](static_cast<const uint16_t *>(from), static_cast<float *>(to), n);
  } else {
    kernels.float32_to_half[format](static_cast<const float *>(from), static_cast<uint16_t *>(to), n);
  }
}

}  // namespace cpuacc
