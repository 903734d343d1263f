/* SPDX-License-Identifier: MIT */
/* A compiled subgraph: operations in order, and where each tensor is in memory. */
#pragma once

#include <memory>
#include <vector>

#include "graph/arena.h"
#include "graph/ir.h"
#include "graph/packed.h"
#include "threads/gain.h"

namespace cpuacc {

class Program {
 public:
  /* Prepares the operations of a graph, and lays out tensors and scratch memory in the arena. */
  Program(Graph graph, const Kernels &kernels, ProgramWeights weights, std::shared_ptr<Pool> pool,
          Sharing sharing, bool multiplies_bfloat16);

  const Arena &arena() const { return arena_; }
  const Graph &graph() const { return graph_; }
  const ProgramWeights &weights() const { return weights_; }
  /* The host's constants that a run reads unpacked, sorted by address. */
  std::vector<const void *> read_constants() const;
  /* The bytes of packed weights and of the constants that a run reads unpacked. */
  size_t weight_bytes() const;
  const Kernels &kernels() const { return kernels_; }
  Pool &pool() const { return *pool_; }
  /* Whether as many calls as CPUs run: then a loop that is shared by threads only waits for CPUs. */
  bool is_crowded(int32_t calls) const { return calls > 1 && calls >= pool_->cpus(); }

  /* The working memory of one call at a time. */
  class Context {
   public:
    Context(const Program &program, ArenaPool &arenas);
    ~Context() { arenas_.leave(program_.arena_.bytes); }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;
    /* Runs the operations. Calls stop(position) before each; if that returns true, run ends and returns false. */
    template <typename Stop>
    bool run(const void *const *inputs, void *const *outputs, const Stop &stop) {
      const Loan loan(arenas_, program_.arena_.bytes);
      std::byte *arena = loan.memory();
      if (arena != arena_) set_arena(arena);
      bind(inputs, outputs);
      /* While as many calls as CPUs run, and soon after, a call stays on its own thread: in a server the other
       * CPUs are busy then, and a second thread would join and leave all the time.
       */
      const bool was_crowded = arenas_.was_crowded();
      bool is_crowded = false;
      const bool has_threads = program_.pool_->threads() > 1;
      const bool is_timed = has_threads && gain_.is_timed();
      const bool is_alone = is_timed && gain_.is_alone();
      if (is_timed) gain_.begin();
      for (size_t i = 0; i < program_.graph_.operations.size(); ++i) {
        if (stop(i)) return false;
        is_crowded = is_crowded || program_.is_crowded(arenas_.taken());
        Pool &pool = is_alone || was_crowded || is_crowded ? program_.alone_ : *program_.pool_;
        const Frame frame(tensors_.data(), arena + program_.arena_.scratch[i], pool, program_.kernels_);
        program_.graph_.operations[i]->run(frame);
      }
      if (is_crowded) arenas_.note_crowd();
      if (is_timed && !was_crowded && !is_crowded) gain_.end();
      return true;
    }

   private:
    /* A block of the pool, borrowed for one call. */
    class Loan {
     public:
      Loan(ArenaPool &pool, size_t bytes) : pool_(pool), block_(pool.take(bytes)) {}
      ~Loan() { pool_.give_back(std::move(block_)); }
      Loan(const Loan &) = delete;
      Loan &operator=(const Loan &) = delete;
      std::byte *memory() const { return static_cast<std::byte *>(block_.memory.get()); }

     private:
      ArenaPool &pool_;
      Block block_;
    };

    void set_arena(std::byte *arena);
    void bind(const void *const *inputs, void *const *outputs);

    const Program &program_;
    ArenaPool &arenas_;
    std::byte *arena_ = nullptr; /* the block that tensors_ points into; after a run another call may use it */
    std::vector<void *> tensors_;
    ThreadGain gain_;
  };

 private:
  struct Port {
    TensorId tensor;
    size_t index;
    size_t offset; /* from the beginning of the caller's memory */
  };
  struct ArenaTensor {
    TensorId tensor;
    size_t offset; /* from the beginning of the arena */
  };
  std::vector<size_t> packing_order() const;
  std::vector<size_t> prepare_all(const Setup &setup);
  void drop_constant(TensorId id);
  void drop_unread_constants();
  void find_ports();
  void find_arena_tensors();

  Graph graph_;
  const Kernels &kernels_;
  ProgramWeights weights_;
  std::shared_ptr<Pool> pool_;
  mutable Pool alone_{1}; /* a pool without threads has no state: calls may share it */
  Arena arena_;
  std::vector<Port> inputs_; /* tensors in memory of the caller's */
  std::vector<Port> outputs_;
  std::vector<ArenaTensor> arena_tensors_;
};

}  // namespace cpuacc
