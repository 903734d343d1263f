/* SPDX-License-Identifier: MIT */
#include "graph/arena_pool.h"

#include <algorithm>
#include <chrono>

namespace cpuacc {
namespace {

/* A block stays while it is at most so many times what the largest context left needs: where shapes come
 * and go, the largest of those that are kept is now one and now another, and to get megabytes of new pages
 * takes longer than many a run.
 */
constexpr size_t kSpare = 2;

constexpr int64_t kCrowdNs = 20000000; /* a few times what a server takes from one call to the next */

int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void ArenaPool::enter(size_t bytes) {
  Block block = take(bytes);
  const std::lock_guard<std::mutex> guard(mutex_);
  taken_.fetch_sub(1, std::memory_order_relaxed);
  needs_.push_back(bytes);
  free_.reserve(needs_.size() + 1);
  free_.push_back(std::move(block));
}

void ArenaPool::leave(size_t bytes) {
  std::vector<Block> gone; /* freed after the lock is: that may take long */
  const std::lock_guard<std::mutex> guard(mutex_);
  needs_.erase(std::find(needs_.begin(), needs_.end(), bytes));
  const size_t most = needs_.empty() ? 0 : *std::max_element(needs_.begin(), needs_.end());
  const auto is_needed = [&](const Block &block) { return !needs_.empty() && block.bytes <= kSpare * most; };
  const auto end = std::stable_partition(free_.begin(), free_.end(), is_needed);
  gone.assign(std::make_move_iterator(end), std::make_move_iterator(free_.end()));
  free_.erase(end, free_.end());
}

Block ArenaPool::take(size_t bytes) {
  Block block;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    block = found(bytes);
  }
  if (block.memory == nullptr || block.bytes < bytes) {
    block.memory = source_.grown(std::move(block.memory), bytes);
    block.bytes = bytes;
  }
  taken_.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void ArenaPool::give_back(Block block) {
  const std::lock_guard<std::mutex> guard(mutex_);
  taken_.fetch_sub(1, std::memory_order_relaxed);
  if (free_.size() < free_.capacity()) free_.push_back(std::move(block));
}

bool ArenaPool::was_crowded() const {
  const int64_t seen = crowded_ns_.load(std::memory_order_relaxed);
  return seen != 0 && now_ns() - seen < kCrowdNs;
}

void ArenaPool::note_crowd() { crowded_ns_.store(now_ns(), std::memory_order_relaxed); }

/* The block used last that is large enough, else any, which is to be replaced, else none. */
Block ArenaPool::found(size_t bytes) {
  if (free_.empty()) return {};
  auto place = std::find_if(free_.rbegin(), free_.rend(), [&](const Block &b) { return b.bytes >= bytes; });
  if (place == free_.rend()) place = free_.rbegin();
  Block block = std::move(*place);
  free_.erase(std::next(place).base());
  return block;
}

}  // namespace cpuacc
