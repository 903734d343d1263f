/* SPDX-License-Identifier: MIT */
/* Adjugates: transposed matrices of cofactors, Arm NN's adjoints. */
#pragma once

#include "graph/ir.h"

namespace cpuacc {

/* Of [count, size, size]. */
OperationPtr adjugate(Ends ends, int64_t count, int64_t size);

}  // namespace cpuacc
