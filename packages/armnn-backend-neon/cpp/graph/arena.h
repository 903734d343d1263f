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
  in_place, /* tensors that are never in use at one time, parts of tensors, inputs with outputs */
  by_lifetime, /* tensors that are never in use at one time */
  none,
};

constexpr size_t kNowhere = ~size_t{0};

struct Arena {
  std::vector<size_t> tensors; /* offset by tensor that owns its memory; kNowhere: not in the arena */
  std::vector<size_t> scratch; /* offset by operation */
  size_t bytes = 0;
  size_t scratch_bytes = 0; /* the most that one operation has */
};

/* Whether a tensor's memory is the caller's or a constant's, by owner. */
std::vector<bool> outside_tensors(const Graph &graph);

/* Plans the arena of a graph whose operations are prepared. Where it saves memory, or costs none,
 * operations write over an input that has no later reader, and tensors that are joined, or cut
 * out of one, are parts of it: such tensors become aliases.
 *
 * Args: scratch_bytes: by operation.
 */
Arena plan_arena(Graph &graph, const std::vector<size_t> &scratch_bytes, Sharing sharing);

/* Working memory that the contexts of all programs of a backend use in turns. */

/* A block of memory, aligned to 64 bytes. */
struct Block {
  std::shared_ptr<void> memory;
  size_t bytes = 0;
};

/* As many blocks as calls run at once, each as large as the largest arena that used it, and at most twice
 * that of a living context: programs of one network for several shapes share it.
 */
class ArenaPool {
 public:
  explicit ArenaPool(const MemorySource &source) : source_(source) {}

  /* Makes a block of so many bytes available to a context; throws std::bad_alloc. */
  void enter(size_t bytes);
  /* The context of so many bytes is gone: frees the blocks that are much larger than any other needs. */
  void leave(size_t bytes);

  /* Returns a block of at least so many bytes, the one used last if it can be; throws std::bad_alloc. */
  Block take(size_t bytes);
  /* Takes a block back; it never allocates. */
  void give_back(Block block);
  /* The blocks in use: the calls that run now. */
  int32_t taken() const { return taken_.load(std::memory_order_relaxed); }

  /* Whether each CPU had a call of its own within the last 20 ms. */
  bool was_crowded() const;
  /* Records that each CPU has one now. */
  void note_crowd();

 private:
  Block found(size_t bytes);

  const MemorySource &source_;
  ForkSafeMutex mutex_;
  std::atomic<int32_t> taken_{0};
  std::atomic<int64_t> crowded_ns_{0}; /* when each CPU had a call; 0 for never */
  std::vector<Block> free_; /* the one used last at the end */
  std::vector<size_t> needs_; /* of the living contexts */
};

}  // namespace cpuacc
