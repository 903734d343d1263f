/* SPDX-License-Identifier: MIT */
/* Rewrites of a lowered graph before its operations are prepared. */
#pragma once

#include "graph/ir.h"

namespace cpuacc {

/* All of them, in order. Args: in_bfloat16: whether the kernels multiply in it, and may. */
void run_passes(Graph &graph, const Kernels &kernels, bool in_bfloat16);

/* Removes operations whose outputs have no reader. */
void drop_unread(Graph &graph);
/* Lets embeddings read the packed weights of a product that has the same ones. */
void read_tied_tables(Graph &graph);
/* Lets operations take over the ones that follow them. */
void fuse(Graph &graph, const Kernels &kernels);
/* Computes operations in Float16 whose results are rounded to it anyway, at a level that can. */
void compute_in_float16(Graph &graph, const Kernels &kernels);
/* Joins pointwise operations that read each other's outputs into one loop over memory. */
void chain(Graph &graph);
/* Whether a chain may have it as a link. */
bool can_be_link(const Graph &graph, const Operation &operation);
/* Stores tensors in bfloat16 where their makers and readers can do with it. */
void store_in_bfloat16(Graph &graph, const Kernels &kernels);
/* Whether the maker of a tensor may store it in bfloat16, as far as operations before the passes tell: a pointwise one
 * is taken for a part of what makes its inputs, if there is such an operation.
 */
bool may_be_stored_in_bfloat16(const Graph &graph, const Kernels &kernels, TensorId id);

}  // namespace cpuacc
