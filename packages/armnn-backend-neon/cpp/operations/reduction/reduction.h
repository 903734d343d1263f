/* SPDX-License-Identifier: MIT */
/* Which axes a layer sums up. */
#ifndef CPUACC_OPERATIONS_REDUCTION_REDUCTION_H_
#define CPUACC_OPERATIONS_REDUCTION_REDUCTION_H_

#include "layers/lowering.h"

namespace cpuacc {

/* In this order the input is [outer, count, inner], the output [outer, inner] in the order left. */
struct ReducedAxes {
  Order order;
  Order left;
  int64_t outer;
  int64_t count;
  int64_t inner;
};

/* By axis and keep_dims; refuses axes that are not known. */
ReducedAxes reduced_axes_of(const Lowering &lowering);

}  // namespace cpuacc

#endif
