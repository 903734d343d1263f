/* SPDX-License-Identifier: MIT */
/* Reductions and softmax of data types that no kernel takes. */
#ifndef CPUACC_OPERATIONS_REDUCTION_SCAN_H_
#define CPUACC_OPERATIONS_REDUCTION_SCAN_H_

#include "layers/lowering.h"

namespace cpuacc {

/* Args: order: of the input in memory, [outer, count, inner] there; left: of the output. */
void lower_other_reduction(Lowering &lowering, Reduction reduction, const Order &order, const Order &left,
                           int64_t outer, int64_t count, int64_t inner);
void lower_other_softmax(Lowering &lowering, bool takes_logarithm);

}  // namespace cpuacc

#endif
