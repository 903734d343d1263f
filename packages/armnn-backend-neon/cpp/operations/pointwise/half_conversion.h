/* SPDX-License-Identifier: MIT */
/* Float16 and BFloat16 to float32 and back. */
#pragma once

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

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
