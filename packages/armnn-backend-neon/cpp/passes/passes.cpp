/* SPDX-License-Identifier: MIT */
#include "passes/passes.h"

namespace cpuacc {

void run_passes(Graph &graph, const Kernels &kernels) {
  fuse(graph, kernels);
  compute_in_float16(graph, kernels);
  chain(graph);
}

}  // namespace cpuacc
