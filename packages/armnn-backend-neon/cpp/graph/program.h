/* SPDX-License-Identifier: MIT */
/* A compiled subgraph: operations in order, and the place of each tensor. */
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "graph/arena.h"
#include "graph/ir.h"
#include "graph/packed.h"

namespace cpuacc {

class Program {
 public:
  /* Prepares and places the operations of a graph. */
  Program(Graph graph, const Kernels &kernels, ProgramWeights weights, std::shared_ptr<Pool> pool,
          Sharing sharing, bool multiplies_bfloat16);

  const Arena &arena() const { return arena_; }
  const Graph &graph() const { return graph_; }
  const ProgramWeights &weights() const { return weights_; }
  /* The constants that a run reads as they are. */
  std::set<const void *> read_constants() const;
  /* Of packed weights and of the constants that a run reads as they are. */
  size_t weight_bytes() const;
  const Kernels &kernels() const { return kernels_; }
  Pool &pool() const { return *pool_; }

  /* Working memory of one call at a time. */
  class Context {
   public:
    Context(const Program &program, const MemorySource &memory);
    /* Runs the operations; before each it asks stop(position), which ends the run by true. */
    template <typename Stop>
    bool run(const void *const *inputs, void *const *outputs, const Stop &stop) {
      bind(inputs, outputs);
      for (size_t i = 0; i < program_.graph_.operations.size(); ++i) {
        if (stop(i)) return false;
        const Frame frame(tensors_.data(), arena_.get() + program_.arena_.scratch[i], *program_.pool_,
                          program_.kernels_);
        program_.graph_.operations[i]->run(frame);
      }
      return true;
    }

   private:
    void bind(const void *const *inputs, void *const *outputs);

    const Program &program_;
    std::shared_ptr<std::byte> arena_;
    std::vector<void *> tensors_;
  };

 private:
  struct Port {
    TensorId tensor;
    size_t index;
    size_t offset; /* from the beginning of the caller's memory */
  };
  std::vector<size_t> prepare_all(const Setup &setup);
  void drop_constant(TensorId id);
  void drop_unread_constants();
  void find_ports();

  Graph graph_;
  const Kernels &kernels_;
  ProgramWeights weights_;
  std::shared_ptr<Pool> pool_;
  Arena arena_;
  std::vector<Port> inputs_; /* tensors in memory of the caller's */
  std::vector<Port> outputs_;
};

}  // namespace cpuacc
