/* SPDX-License-Identifier: MIT */
/* Float16 and BFloat16 to float32 and back. */
#ifndef CPUACC_OPERATIONS_STORAGE_HALF_H_
#define CPUACC_OPERATIONS_STORAGE_HALF_H_

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

bool is_half(armnn_data_type type);
HalfFormat half_format_of(armnn_data_type type);
/* What the bits stand for. */
float float32_of(uint16_t bits, HalfFormat format);

class HalfToFloat32 final : public Unary {
 public:
  HalfToFloat32(TensorId from, TensorId to, HalfFormat format) : Unary(from, to), format_(format) {}
  Description describe() const override { return Conversion{}; }
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override;

 private:
  HalfFormat format_;
};

class Float32ToHalf final : public Unary {
 public:
  Float32ToHalf(TensorId from, TensorId to, HalfFormat format) : Unary(from, to), format_(format) {}
  Description describe() const override { return Conversion{}; }
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override;

 private:
  HalfFormat format_;
};

}  // namespace cpuacc

#endif
