/* SPDX-License-Identifier: MIT */
/* Numbers of 2, 4 or 8 bits, whose blocks have scales and zero points: made real, or multiplied as they are. */
#pragma once

#include <memory>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* the block size of a product is a multiple of this: the numbers of 2 bits in a word */
constexpr int64_t kFewBitsMultiple = 16;
constexpr int64_t kFewBitsLargestBlock = 4096; /* numbers whose sum of products of bytes fits into 32 bits */

/* Args: inputs: rows, scales, zero points or kNone. */
OperationPtr dequantize_few_bits(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t rows);

/* Rows of the weights of a product that reads them packed. Args: inputs: indices of rows, weights, scales, zero
 * points or kNone; form, columns: as of that product.
 */
OperationPtr few_bits_rows(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns);

/* input x weights^T + bias. Args: inputs: input, weights, scales, zero points or kNone, bias or kNone;
 * quantizes_rows: whether numbers of the input may be rounded to 8 bits; else they stay nearly as exact as floats.
 */
OperationPtr few_bits_gemm(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns,
                           bool quantizes_rows);

}  // namespace cpuacc
