/* SPDX-License-Identifier: MIT */
/* Adjugates: transposed matrices of cofactors, Arm NN's adjoints. */
#pragma once

#include "graph/ir.h"

namespace cpuacc {

/* Of [count, size, size], Float32 or Float64. */
OperationPtr adjugate(Ends ends, armnn_data_type type, int64_t count, int64_t size);

}  // namespace cpuacc
