/* SPDX-License-Identifier: MIT */
/* The generation of forks, and mutexes that a child finds unlocked. */
#include "threads/forks.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace cpuacc {
namespace {

std::atomic<int64_t> generation{0};

struct Registry {
  std::mutex mutex;
  std::vector<ForkSafeMutex *> living;

  void lock_all() {
    mutex.lock();
    for (ForkSafeMutex *each : living) each->lock();
  }

  void unlock_all() {
    for (ForkSafeMutex *each : living) each->unlock();
    mutex.unlock();
  }
};

/* Never destroyed: objects that end with the process unregister their mutexes in any order. */
Registry &registry() {
  static Registry &made = *new Registry;
  return made;
}

void watch() {
  static const int is_watched = pthread_atfork([] { registry().lock_all(); }, [] { registry().unlock_all(); },
                                               [] {
                                                 registry().unlock_all();
                                                 generation.fetch_add(1);
                                               });
  (void)is_watched;
}

}  // namespace

int64_t fork_generation() {
  watch();
  return generation.load(std::memory_order_relaxed);
}

ForkSafeMutex::ForkSafeMutex() {
  watch();
  const std::lock_guard<std::mutex> guard(registry().mutex);
  registry().living.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  const std::lock_guard<std::mutex> guard(registry().mutex);
  std::vector<ForkSafeMutex *> &living = registry().living;
  living.erase(std::find(living.begin(), living.end(), this));
}

}  // namespace cpuacc
