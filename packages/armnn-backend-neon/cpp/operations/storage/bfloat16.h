/* SPDX-License-Identifier: MIT */
/* Operands of a gemm in bfloat16: weights packed once, what is computed rounded while running. */
#ifndef CPUACC_OPERATIONS_STORAGE_BFLOAT16_H_
#define CPUACC_OPERATIONS_STORAGE_BFLOAT16_H_

#include "operations/gemm/gemm.h"

namespace cpuacc {

/* Whether a gemm gains by bfloat16: rounding its rows must cost less than what it saves. */
bool gains_by_bfloat16(const Setup &setup, const WeightLayout &layout);

/* Panels as of float32; in each, for every tap and two k's, one row of pairs. */
size_t packed_bfloat16_bytes(const WeightLayout &layout, const Kernels &kernels);
void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels,
                  Bfloat16 *packed);

/* Rows of numbers side by side, and of the same numbers rounded, maybe with a filler between. */
struct RoundedRows {
  RoundedRows() = default;
  RoundedRows(int64_t count, int64_t length);

  int64_t count = 0;
  int64_t length = 0;
  int64_t stride = 0; /* of the rounded ones */

  size_t bytes() const;
  void round(const Frame &frame, const float *from, Bfloat16 *to) const;
};

}  // namespace cpuacc

#endif
