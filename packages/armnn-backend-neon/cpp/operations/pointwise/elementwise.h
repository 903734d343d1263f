/* SPDX-License-Identifier: MIT */
/* Functions of elements by the numbers of the layers. */
#ifndef CPUACC_OPERATIONS_POINTWISE_ELEMENTWISE_H_
#define CPUACC_OPERATIONS_POINTWISE_ELEMENTWISE_H_

#include "layers/lowering.h"

namespace cpuacc {

/* By the numbers of Activation; identity stands for what is not computed here. */
Elementwise activation_of(int64_t number, float a, float b);

/* By the numbers of ElementwiseBinary and ElementwiseUnary, without kernels: for data types and
 * functions that these do not have.
 */
void lower_other_arithmetic(Lowering &lowering, int64_t operation);
void lower_other_function(Lowering &lowering, int64_t operation);

}  // namespace cpuacc

#endif
