/* SPDX-License-Identifier: MIT */
/* A compiled subgraph: operations in order, and where each tensor lies. */
#ifndef CPUACC_GRAPH_PROGRAM_H_
#define CPUACC_GRAPH_PROGRAM_H_

#include <memory>
#include <set>
#include <vector>

#include "graph/ir.h"
#include "graph/packed.h"

namespace cpuacc {

/* A stretch of the arena that is in use from one operation to another, both included. */
struct Lease {
  size_t bytes;
  size_t first;
  size_t last;
  size_t offset;
};

/* Gives each lease an offset, so that those in use at one time do not overlap. Returns the size of
 * the arena.
 */
size_t arrange(std::vector<Lease> &leases);

class Program {
 public:
  /* Fuses, prepares and places the operations of a graph. */
  Program(Graph graph, const Kernels &kernels, ProgramWeights weights, std::shared_ptr<Pool> pool);

  size_t arena_bytes() const { return arena_bytes_; }
  const Graph &graph() const { return graph_; }
  const ProgramWeights &weights() const { return weights_; }
  /* The constants that a run reads as they are. */
  std::set<const void *> read_constants() const;
  const Kernels &kernels() const { return kernels_; }
  Pool &pool() const { return *pool_; }

  /* Working memory of one call at a time. */
  class Context {
   public:
    explicit Context(const Program &program);
    /* Runs the operations; before each it asks stop(position), which ends the run by true. */
    template <typename Stop>
    bool run(const void *const *inputs, void *const *outputs, const Stop &stop) {
      bind(inputs, outputs);
      for (size_t i = 0; i < program_.graph_.operations.size(); ++i) {
        if (stop(i)) return false;
        const Frame frame(tensors_.data(), arena_.get() + program_.scratch_[i], *program_.pool_,
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
  };
  void drop_unread_constants();
  void place(const std::vector<size_t> &scratch_bytes);
  void lease_tensors(std::vector<Lease> &leases, std::vector<TensorId> &owners) const;

  Graph graph_;
  const Kernels &kernels_;
  ProgramWeights weights_;
  std::shared_ptr<Pool> pool_;
  std::vector<size_t> offsets_; /* in the arena, by tensor that owns its memory */
  std::vector<size_t> scratch_; /* in the arena, by operation */
  std::vector<Port> inputs_; /* tensors in memory of the caller's */
  std::vector<Port> outputs_;
  size_t arena_bytes_ = 0;
};

}  // namespace cpuacc

#endif
