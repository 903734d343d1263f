/* SPDX-License-Identifier: MIT */
/* gemm of integers, which wrap around as theirs do elsewhere, and of Float64. */
#pragma once

#include "operations/gemm/gemm.h"

namespace cpuacc {

/* left x right, all of that type; nothing is packed. nullptr: the type is not multiplied. */
OperationPtr plain_gemm(TensorId left, TensorId right, TensorId out, armnn_data_type type, GemmShape shape);

}  // namespace cpuacc
