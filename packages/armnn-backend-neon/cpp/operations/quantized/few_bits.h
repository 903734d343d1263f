/* SPDX-License-Identifier: MIT */
/* Numbers of 2, 4 or 8 bits, whose blocks have scales and zero points: made real, or multiplied as they are. */
#pragma once

#include <memory>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* of which the block of a product is one: a word has as many numbers of 2 bits */
constexpr int64_t kFewBitsMultiple = 16;
constexpr int64_t kFewBitsLargestBlock = 4096; /* numbers of a block whose sums of bytes fit into 32 bits */

/* Args: inputs: rows, scales, zero points or kNone. */
OperationPtr dequantize_few_bits(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t rows);

/* Rows of the weights of a product that reads them packed. Args: inputs: which ones, weights, scales, zero points or
 * kNone; form, columns: as of that product.
 */
OperationPtr few_bits_rows(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns);

/* input x weights^T + bias. Args: inputs: input, weights, scales, zero points or kNone, bias or kNone; quantizes_rows: whether a
 * number of the input may be 8 bits, else it is nearly a float.
 */
OperationPtr few_bits_gemm(std::vector<TensorId> inputs, TensorId to, const FewBits &form, int64_t columns,
                           bool quantizes_rows);

}  // namespace cpuacc
