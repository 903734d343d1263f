/* SPDX-License-Identifier: MIT */
/* Conversions between float32 and the formats in which tensors store real numbers. */
#pragma once

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

/* Conversion of floats of 16 bits, or of stored integers with one scale per tensor, from or to float32. */
class FormatConversion final : public Unary {
 public:
  /* Args: stored: the data type of the side that is not Float32; decodes: whether that side is the input. */
  FormatConversion(Io io, armnn_data_type stored, bool decodes) : Unary(io), stored_(stored), decodes_(decodes) {}

  Description describe() const override;
  size_t prepare(const Setup &setup) override;
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override;

 private:
  armnn_data_type stored_;
  bool decodes_;
  Quantization quantization_;
};

}  // namespace cpuacc
