/* SPDX-License-Identifier: MIT */
/* Layers on bytes: their scales and zero points, functions by table, exact gemm. */
#pragma once

#include <functional>
#include <optional>

#include "layers/lowering/lowering.h"
#include "operations/gemm/gemm.h"
#include "operations/quantized/few_bits.h"
#include "operations/quantized/quantized.h"
#include "operations/windows.h"

namespace cpuacc {

/* Whether a value has 8 bits, one scale and a zero point that it can store. */
bool is_int8(const Value &value);

/* The parameters of a layer without weights: of its first input and its output. Refuses types other than bytes. */
Int8Params int8_io_params_of(const Lowering &lowering);

/* The parameters of a layer of two operands. Refuses types other than bytes of one type. */
Int8Params int8_pair_params_of(const Lowering &lowering);

/* The parameters of a layer whose inputs are data, weights and maybe a bias, and whose weights have a scale
 * for each column or one for all. Refuses what is not computed in integers.
 *
 * Args: column_axis: the axis of the weights' columns.
 */
Int8Params int8_params_of(const Lowering &lowering, size_t column_axis, int64_t columns, bool has_bias);

/* Computes a function of 256 real values in their place. */
using RealFunction = std::function<void(const Kernels &, float *)>;

/* Refuses rows of few bits, their scales and zero points that do not fit; notes the bytes of a row.
 *
 * Args: first: which input has the rows, before scales and zero points; rows: their shape.
 */
void require_few_bits(const Lowering &lowering, FewBits &form, size_t first, const Shape &rows);

/* All values of a function of bytes, from those of real numbers. */
ByteTable tabulated(const Lowering &lowering, const Value &from, const Value &to, const RealFunction &function);

/* Which turns the order of bytes around, signed or not. */
ByteTable complemented_bytes();

/* Lowers a function of the input with that number, which has the output's shape. Refuses other than bytes.
 *
 * Args: bounds: of what is stored, if the function is a clamp to these.
 */
void lower_table(Lowering &lowering, size_t i, const RealFunction &function,
                 std::optional<Bounds> bounds = std::nullopt);

/* Lowers a function of the elements of the first input to a kernel on bytes. */
void lower_int8_function(Lowering &lowering, Elementwise function);

/* An input in an order, its bytes in steps of the output: looked up where these differ. Refuses other
 * than 8 bits there.
 */
TensorId requantized(Lowering &lowering, size_t i, const Order &order);

/* Refuses windows whose sums may have more bits than a float is exact in. */
void require_exact_sums(int64_t count);

/* Steps of the output in one of the input. */
float scale_between(const Lowering &lowering);

/* Refuses other operands than bytes, and another output than Signed32. */
void require_integer_operands(const Lowering &lowering);

/* Args: order: of the data; output_order: of the output. */
void lower_integer_gemm(Lowering &lowering, const Order &order, const Order &output_order, const Windows &windows,
                        const WeightLayout &layout);

}  // namespace cpuacc
