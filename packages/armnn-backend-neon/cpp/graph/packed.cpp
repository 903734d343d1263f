/* SPDX-License-Identifier: MIT */
#include "graph/packed.h"

#include <cstdlib>
#include <new>

namespace cpuacc {

std::shared_ptr<void> aligned_memory(size_t bytes) {
  const size_t whole = (bytes + 63) / 64 * 64 + 64;
  void *memory = std::aligned_alloc(64, whole);
  if (memory == nullptr) throw std::bad_alloc();
  return std::shared_ptr<void>(memory, std::free);
}

std::shared_ptr<const void> PackedWeights::get(const void *source, std::shared_ptr<const void> keeper,
                                               const std::string &recipe, size_t bytes,
                                               const std::function<void(void *)> &fill) {
  const auto key = std::make_pair(source, recipe);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      if (std::shared_ptr<const void> packed = found->second.lock()) return packed;
    }
  }
  const std::shared_ptr<void> memory = aligned_memory(bytes);
  fill(memory.get());
  /* The packed form holds the source: as long as an entry lives, its key means what it meant. */
  const auto packed = std::shared_ptr<const void>(memory.get(), [memory, keeper](const void *) {});
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    entry = entry->second.expired() ? entries_.erase(entry) : std::next(entry);
  }
  entries_[key] = packed;
  return packed;
}

}  // namespace cpuacc
