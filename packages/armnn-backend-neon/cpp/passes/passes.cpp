/* SPDX-License-Identifier: MIT */
/* The order of the passes. */
#include "passes/passes.h"

namespace cpuacc {

void run_passes(Graph &graph, const Kernels &kernels, bool in_bfloat16) {
  read_tied_tables(graph);
  fuse(graph, kernels);
  compute_in_float16(graph, kernels);
  chain(graph);
  if (in_bfloat16) store_in_bfloat16(graph, kernels);
}

}  // namespace cpuacc
