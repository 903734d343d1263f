/* SPDX-License-Identifier: MIT */
/* Quantise and dequantise: stored integers to real values and back, with one scale per tensor. */
#pragma once

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

class Dequantize final : public Unary {
 public:
  Dequantize(TensorId from, TensorId to) : Unary(from, to) {}
  size_t prepare(const Setup &setup) override;
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override;

 private:
  Integer integer_ = Integer::unsigned8;
  float scale_ = 1.0f;
  int32_t zero_point_ = 0;
};

class Quantize final : public Unary {
 public:
  Quantize(TensorId from, TensorId to) : Unary(from, to) {}
  size_t prepare(const Setup &setup) override;
  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override;

 private:
  Integer integer_ = Integer::unsigned8;
  float scale_ = 1.0f;
  int32_t zero_point_ = 0;
};

}  // namespace cpuacc
