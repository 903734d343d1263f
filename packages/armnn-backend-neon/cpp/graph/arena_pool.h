/* SPDX-License-Identifier: MIT */
/* Working memory that the contexts of all programs of a backend use in turns. */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/packed.h"

namespace cpuacc {

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
  std::mutex mutex_;
  std::atomic<int32_t> taken_{0};
  std::atomic<int64_t> crowded_ns_{0}; /* when each CPU had a call; 0 for never */
  std::vector<Block> free_; /* the one used last at the end */
  std::vector<size_t> needs_; /* of the living contexts */
};

}  // namespace cpuacc
