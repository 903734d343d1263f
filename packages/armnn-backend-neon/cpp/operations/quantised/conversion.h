/* SPDX-License-Identifier: MIT */
/* Stored integers to real values and back, with one scale per tensor. */
#ifndef CPUACC_OPERATIONS_QUANTISED_CONVERSION_H_
#define CPUACC_OPERATIONS_QUANTISED_CONVERSION_H_

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

/* Whether elements of a type stand for scale * (stored - zero_point), in 8 or 16 bits. */
bool is_quantized(armnn_data_type type);
Integer integer_of(armnn_data_type type);

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

class Lowering;
/* An input in an order, its bytes in steps of the output: it is looked up where these differ. Refuses
 * other than 8 bits there.
 */
TensorId requantized(Lowering &lowering, size_t i, const Order &order);

}  // namespace cpuacc

#endif
