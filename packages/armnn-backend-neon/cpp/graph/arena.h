/* SPDX-License-Identifier: MIT */
/* The places of tensors and scratch memory while a program runs. */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "graph/ir.h"
#include "graph/packed.h"
#include "threads/forks.h"

namespace cpuacc {

/* A range of the arena that is in use from one operation to another, both included. */
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

/* Which tensors may share memory: programs use the first value, tests compare it with the others. */
enum class Sharing {
  in_place, /* as by_lifetime; in addition outputs overwrite inputs, and tensors lie inside others */
  by_lifetime, /* tensors that are never in use at the same time */
  none,
};

constexpr size_t kNowhere = ~size_t{0};

struct Arena {
  std::vector<size_t> tensors; /* offset by tensor that owns its memory; kNowhere: not in the arena */
  std::vector<size_t> scratch; /* offset by operation */
  size_t bytes = 0;
  size_t scratch_bytes = 0; /* of the operation that needs the most */
};

/* For each tensor that owns its memory: whether this memory is the caller's or a constant's. */
std::vector<bool> outside_tensors(const Graph &graph);

/* Plans the arena of a graph whose operations are prepared. Where the arena does not grow by it, an output
 * overwrites an input that has no later reader, and a tensor that is copied into or out of a larger one
 * (joined tensors, slices) lies inside that one, as an alias of it.
 *
 * Args: scratch_bytes: of each operation.
 */
Arena plan_arena(Graph &graph, const std::vector<size_t> &scratch_bytes, Sharing sharing);

/* Working memory that the contexts of all programs of a backend use in turns. */

/* A block of memory, aligned to 64 bytes. */
struct Block {
  std::shared_ptr<void> memory;
  size_t bytes = 0;
};

/* Holds as many blocks as calls run at the same time: programs of one network for several shapes share them.
 * A block is as large as the largest arena that used it. When a context ends, blocks that are more than twice
 * as large as the largest arena of the other contexts are freed.
 */
class ArenaPool {
 public:
  explicit ArenaPool(const MemorySource &source) : source_(source) {}

  /* Adds a context with an arena of this size, for which it gets a block; throws std::bad_alloc. */
  void enter(size_t bytes);
  /* Removes a context with an arena of this size; frees blocks that are much larger than the others need. */
  void leave(size_t bytes);

  /* Returns a block of at least this size, if possible the one used last; throws std::bad_alloc. */
  Block take(size_t bytes);
  /* Puts a block back into the pool, without allocating memory. */
  void give_back(Block block);
  /* The number of blocks in use, which is that of the calls that run now. */
  int32_t taken() const { return taken_.load(std::memory_order_relaxed); }

  /* Whether at least as many calls as there are CPUs ran at the same time within the last 20 ms. */
  bool was_crowded() const;
  /* Records that this is so now. */
  void note_crowd();

 private:
  Block found(size_t bytes);

  const MemorySource &source_;
  ForkSafeMutex mutex_;
  std::atomic<int32_t> taken_{0};
  std::atomic<int64_t> crowded_ns_{0}; /* the time of the last note_crowd(); 0: never */
  std::vector<Block> free_; /* the one used last at the end */
  std::vector<size_t> needs_; /* the arena's bytes of each living context */
};

}  // namespace cpuacc
