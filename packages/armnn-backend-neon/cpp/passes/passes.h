/* SPDX-License-Identifier: MIT */
/* Rewrites of a lowered graph before its operations are prepared. */
#pragma once

#include "graph/ir.h"

namespace cpuacc {

/* Runs all passes, in order. Args: in_bfloat16: whether the kernels can and may multiply bfloat16. */
void run_passes(Graph &graph, const Kernels &kernels, bool in_bfloat16);

/* Removes operations whose outputs have no reader. */
void drop_unread(Graph &graph);
/* Lets an embedding read its rows from the packed weights of a product that has the same table as weights. */
void read_tied_tables(Graph &graph);
/* Lets operations absorb the operations that read their results. */
void fuse(Graph &graph, const Kernels &kernels);
/* Computes operations in Float16 whose results are rounded to it anyway, at a level that can. */
void compute_in_float16(Graph &graph, const Kernels &kernels);
/* Joins pointwise operations that read each other's outputs into one loop over memory. */
void chain(Graph &graph);
/* Whether an operation may be a link of a chain. */
bool can_be_link(const Graph &graph, const Operation &operation);
/* Stores tensors in bfloat16 where the operations that write and read them can. */
void store_in_bfloat16(Graph &graph, const Kernels &kernels);
/* Whether a tensor may be stored in bfloat16, as far as can be told before the passes run. A pointwise operation
 * may store it so if one of its inputs may be stored so, or if no operation computes any of its inputs.
 */
bool may_be_stored_in_bfloat16(const Graph &graph, const Kernels &kernels, TensorId id);

}  // namespace cpuacc
