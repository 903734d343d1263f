/* SPDX-License-Identifier: MIT */
/* Between float32 and the formats in which tensors store real numbers. */
#pragma once

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

/* Of floats of 16 bits, and of stored integers with one scale per tensor. */
class FormatConversion final : public Unary {
 public:
  /* Args: stored: the data type of the side that is not Float32; decodes: whether that is what it reads. */
  FormatConversion(Ends ends, armnn_data_type stored, bool decodes) : Unary(ends), stored_(stored), decodes_(decodes) {}

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
