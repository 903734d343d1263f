/* SPDX-License-Identifier: MIT */
/* Float16 and BFloat16 to float32 and back. */
#ifndef CPUACC_OPERATIONS_STORAGE_HALF_H_
#define CPUACC_OPERATIONS_STORAGE_HALF_H_

#include "operations/pointwise/pointwise.h"

namespace cpuacc {

bool is_half(armnn_data_type type);
Half half_of(armnn_data_type type);
/* What the bits stand for. */
float widened(uint16_t bits, Half half);

class Widen final : public OneToOne {
 public:
  Widen(TensorId from, TensorId to, Half half) : OneToOne(from, to), half_(half) {}
  bool widens_float16() const override { return half_ == Half::float16; }
  void compute_line(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override;

 private:
  Half half_;
};

class Narrow final : public OneToOne {
 public:
  Narrow(TensorId from, TensorId to, Half half) : OneToOne(from, to), half_(half) {}
  bool narrows_to_float16() const override { return half_ == Half::float16; }
  void compute_line(const Kernels &kernels, const void *const *operands, const int64_t *steps, void *to,
                    int64_t n) const override;

 private:
  Half half_;
};

}  // namespace cpuacc

#endif
