/* SPDX-License-Identifier: MIT */
/* The sources of gemm/ that choose, for choices.cpp; beside others their names would clash. */
#include "operations/gemm/gemm.cpp"
#include "operations/gemm/panels.cpp"
#include "operations/gemm/work.cpp"
