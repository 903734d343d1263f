/* SPDX-License-Identifier: MIT */
/* Rules of fusion: what of an operation the producer of its input can compute. */
#pragma once

#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* An operation and its slots; none where it is nullptr. */
struct Producer {
  Operation *operation = nullptr;
  EpilogueSlots slots;
};

/* Which operation writes each tensor, and how many read it; an alias and an output of the graph read, too. */
struct Uses {
  std::vector<int32_t> readers;
  std::vector<Operation *> writers;

  explicit Uses(const Graph &graph);
  /* The writer of a tensor with one reader. */
  Producer only_producer(TensorId id) const;
};

/* An operation that a producer may absorb. */
struct Candidate {
  const Graph &graph;
  const Kernels &kernels;
  Uses &uses;
  const Operation &operation;
  const Description description;

  template <typename T>
  const T *computes() const { return std::get_if<T>(&description); }
  /* What computes an input for this operation alone. */
  Producer producer(size_t input) const { return uses.only_producer(operation.inputs[input]); }
  /* The same where the operation may read it in another shape. */
  Producer producer_of_memory(size_t input) const;
};

/* Returns the producer that computes the operation as well from now on, its slots filled; nullptr if it
 * does not fit, and then nothing has changed.
 */
using Rule = Operation *(const Candidate &candidate);

/* Each in the file of its name, in the order in which they are tried. */
Rule fuse_function, fuse_residual_and_bias, fuse_row_arithmetic, fuse_dequantisation, fuse_byte_function,
    fuse_byte_pair, fuse_int8_addition, fuse_permutation;
constexpr Rule *kRules[] = {fuse_function,      fuse_residual_and_bias, fuse_row_arithmetic, fuse_dequantisation,
                            fuse_byte_function, fuse_byte_pair,         fuse_int8_addition,  fuse_permutation};

}  // namespace cpuacc
