/* SPDX-License-Identifier: MIT */
/* What a program may compute less exactly. */
#pragma once

namespace cpuacc {

struct FastMath {
  bool is_allowed = false;
  bool has_bfloat16 = false; /* the kernels do: a gemm multiplies it */
};

}  // namespace cpuacc
