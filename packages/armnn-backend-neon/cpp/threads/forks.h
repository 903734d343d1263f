/* SPDX-License-Identifier: MIT */
/* Forks: a child process inherits nothing of its parent's threads but the locks that they held. */
#pragma once

#include <cstdint>
#include <mutex>

namespace cpuacc {

/* The number of forks between the first process and this one. */
int64_t fork_generation();

/* A mutex that fork() waits for, so that in the child the guarded data is consistent and the mutex is unlocked. A
 * thread that holds one must not lock, construct or destroy another one.
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
