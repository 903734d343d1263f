/* SPDX-License-Identifier: MIT */
/* Forks while other threads lock mutexes and change what these guard: prints how many children found a mutex locked for good,
 * or what it guards half changed.
 */
#include "threads/forks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kForks = 100;

struct Guarded {
  cpuacc::ForkSafeMutex mutex;
  volatile int first = 0;
  volatile int second = 0; /* equals first while the mutex is free */
};

bool is_whole(Guarded &guarded) {
  const std::lock_guard<cpuacc::ForkSafeMutex> guard(guarded.mutex);
  return guarded.first == guarded.second;
}

}  // namespace

int main() {
  std::vector<std::unique_ptr<Guarded>> all;
  for (int i = 0; i < 3; ++i) all.push_back(std::make_unique<Guarded>());
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (const auto &each : all) {
    threads.emplace_back([&ends, &guarded = *each] {
      while (!ends.load()) {
        const std::lock_guard<cpuacc::ForkSafeMutex> guard(guarded.mutex);
        guarded.first = guarded.first + 1;
        for (volatile int i = 0; i < 2000; i = i + 1) {
        }
        guarded.second = guarded.first;
      }
    });
  }
  const int64_t before = cpuacc::fork_generation();
  int wrong = 0;
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool is_right = cpuacc::fork_generation() == before + 1;
      for (const auto &each : all) is_right = is_whole(*each) && is_right;
      _exit(is_right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    wrong += status == 0 ? 0 : 1;
  }
  ends.store(true);
  for (std::thread &thread : threads) thread.join();
  std::printf("%d of %d children wrong\n", wrong, kForks);
}
