/* SPDX-License-Identifier: MIT */
/* Forks: a child process inherits nothing of its parent's threads but the locks that they held. */
#pragma once

#include <cstdint>
#include <mutex>

namespace cpuacc {

/* The number of forks between the first process and this one. */
int64_t fork_generation();

/* A mutex that a fork waits for, so that what it guards is whole in the child, and the mutex free. While a thread
 * holds one, it locks, makes and ends no other one.
 */
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex &) = delete;
  ForkSafeMutex &operator=(const ForkSafeMutex &) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace cpuacc
