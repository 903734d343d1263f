/* SPDX-License-Identifier: MIT */
/* Pointwise layers: functions, and operands that are broadcast. */
#pragma once

#include "layers/lowering/lowering.h"
#include "operations/pointwise/binary.h"

namespace cpuacc {

/* Lowers a layer to a span function over all its inputs; refuses if there is none. Args: elements: what
 * a number takes, in times of costs::element.
 */
void lower_span_function(Lowering &lowering, SpanFunction function, double elements,
                         SpanKind kind = SpanKind::plain);

/* Refuses operands of other types than the first. */
void require_one_type(const Lowering &lowering);

/* Both operands and the output in an order in which the innermost step of each is 0 or 1. */
BinaryOperands operands_of(Lowering &lowering);

/* How tensors in plain order broadcast to a shape. */
Broadcast broadcast_of(const Shape &x, const Shape &y, const Shape &to);

/* By the numbers of Activation; identity: not computed here. */
Elementwise activation_of(int64_t number, float a, float b);

/* Lowers a function of the first input. */
void lower_function(Lowering &lowering, Elementwise function);

}  // namespace cpuacc
