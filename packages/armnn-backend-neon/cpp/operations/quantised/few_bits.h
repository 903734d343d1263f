/* SPDX-License-Identifier: MIT */
/* Numbers of 2, 4 or 8 bits, whose blocks have scales and zero points: made real, or multiplied as they are. */
#pragma once

#include <memory>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* Rows of such numbers, from the lowest bits of a byte on. */
struct FewBits {
  int32_t bits;
  int64_t block_size; /* numbers that share a scale; the last block may have fewer */
  int64_t size; /* of a row */
  int64_t row_bytes = 0; /* that are given */

  int64_t blocks() const { return ratio_up(size, block_size); }
  int64_t packed_bytes(int64_t count) const { return ratio_up(count * bits, 8); }
  int32_t number(const uint8_t *row, int64_t k) const {
    return row[k * bits / 8] >> (k * bits % 8) & ((1 << bits) - 1);
  }
};

constexpr int64_t kFewBitsMultiple = 16; /* of which the block of a product is one: a word has as many numbers of 2 bits */
constexpr int64_t kFewBitsLargestBlock = 4096; /* whose sums of bytes fit into 32 bits */

/* Args: inputs: rows, scales, zero points or kNone. */
OperationPtr dequantize_few_bits(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t rows);

/* input x weights^T + bias. Args: inputs: input, weights, scales, zero points or kNone, bias or kNone; is_rounded: whether a
 * number of the input may be 8 bits, else it is nearly a float.
 */
OperationPtr few_bits_gemm(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns,
                           bool is_rounded);

}  // namespace cpuacc
