/* SPDX-License-Identifier: MIT */
/* Span functions, of any data type, that no kernel has; a number is that of the layer's operation. */
#pragma once

#include <memory>

#include "graph/ir.h"
#include "operations/pointwise/binary.h"

namespace cpuacc {

/* By the operation's number in ElementwiseUnary; nullptr: not for this type. */
SpanFunction element_function(int64_t operation, armnn_data_type type);

/* By the operation's number in ElementwiseBinary; nullptr: not for this type. */
SpanFunction arithmetic_function(int64_t operation, armnn_data_type type);

/* Whether an element takes many times as long as an addition. */
bool is_costly(int64_t operation);

/* By the number in Comparison or LogicalBinary. Throws Refusal for others; nullptr: not for this type. */
SpanFunction comparison_function(int64_t number, armnn_data_type type);

SpanFunction logical_function(int64_t number);

/* The selection by a condition from two operands with elements of so many bytes. */
SpanFunction select_function(size_t element_bytes);

/* nullptr: not for this type. */
SpanFunction is_nan_function(armnn_data_type type);

SpanFunction is_infinite_function(armnn_data_type type, bool is_positive, bool is_negative);

using Convert = void (*)(const void *from, void *to, int64_t n);

/* nullptr: there is none. */
Convert converter(armnn_data_type from, armnn_data_type to);

/* A conversion to float32 such that a later one to 16 bits rounds only once; nullptr: there is none. */
Convert converter_to_odd(armnn_data_type from);

OperationPtr cast(Io io, Convert convert);

/* Functions of float32 and Float16 elements, and arithmetic of two operands with broadcasting. */

OperationPtr apply_function(Io io, const Elementwise &function);
OperationPtr combine(const BinaryOperands &operands, Arithmetic operation);

/* Operations in Float16, at levels that compute in it; nullptr: the result would have other bits than float32's. */
OperationPtr float16_function(const Kernels &kernels, Io io, const Elementwise &function);
OperationPtr float16_arithmetic(const BinaryOperands &operands, Arithmetic operation);

/* x where it is positive, else x * y. */
OperationPtr prelu(const BinaryOperands &operands);

/* scale * x + shift, a number of each per channel; the channels are last. */
OperationPtr scale_shift(Io io, TensorId scale, TensorId shift, int64_t channels);

}  // namespace cpuacc
