/* SPDX-License-Identifier: MIT */
/* Loops of many sizes by a pool of threads: prints what was not computed once, whether short loops wake a thread, and
 * whether few are shared where both threads have one CPU.
 */
#include "threads/pool.h"

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr double kShortNs = 1500.0; /* of a loop that is just worth two threads */

int64_t wrong_items(cpuacc::Pool &pool) {
  constexpr int64_t kMost = 3000;
  std::vector<int> times(kMost);
  int64_t wrong = 0;
  for (int64_t loop = 0; loop < 3000; ++loop) {
    const int64_t count = 1 + loop * 7919 % (loop % 3 == 0 ? kMost : 9);
    const double item_ns = loop % 2 == 0 ? 5000.0 : 3.0;
    for (int64_t i = 0; i < count; ++i) times[static_cast<size_t>(i)] = 0;
    pool.run(count, item_ns, [&](int64_t begin, int64_t end, int32_t thread) {
      for (int64_t i = begin; i < end; ++i) times[static_cast<size_t>(i)] += thread < pool.threads() ? 1 : 2;
    });
    for (int64_t i = 0; i < count; ++i) wrong += times[static_cast<size_t>(i)] == 1 ? 0 : 1;
  }
  return wrong;
}

/* Whether the other thread, asleep by then, computes some of a loop before the time is over. */
bool short_loops_wake(cpuacc::Pool &pool) {
  using Clock = std::chrono::steady_clock;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  bool is_shared = false;
  for (const auto end = Clock::now() + std::chrono::seconds(10); !is_shared && Clock::now() < end;) {
    bool by_thread[2] = {false, false};
    pool.run(2, kShortNs / 2, [&](int64_t, int64_t, int32_t thread) {
      const auto done = Clock::now() + std::chrono::microseconds(20);
      while (Clock::now() < done) {
      }
      by_thread[thread] = true;
    });
    is_shared = by_thread[1];
  }
  return is_shared;
}

/* Whether nearly all loops run on the calling thread. */
bool is_alone_on_one_cpu() {
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof one, &one);
  int shared = 0;
  {
    constexpr int kLoops = 4000;
    cpuacc::Pool pool(2, 1000.0); /* its thread inherits the CPU */
    for (int i = 0; i < kLoops; ++i) {
      bool is_shared = false;
      pool.run(32, 1000.0, [&](int64_t, int64_t, int32_t thread) {
        const auto done = std::chrono::steady_clock::now() + std::chrono::microseconds(2);
        while (std::chrono::steady_clock::now() < done) {
        }
        if (thread == 1) is_shared = true;
      });
      shared += is_shared ? 1 : 0;
    }
    std::fprintf(stderr, "%d of %d loops were shared\n", shared, kLoops);
  }
  sched_setaffinity(0, sizeof before, &before);
  return shared < 40;
}

}  // namespace

int main() {
  int64_t wrong = 0;
  for (const int32_t threads : {1, 2, 3, 5}) {
    cpuacc::Pool pool(threads, 0.0);
    wrong += wrong_items(pool);
  }
  cpuacc::Pool pool(2, 1000.0);
  pool.run(2, 1e6, [](int64_t, int64_t, int32_t) {}); /* starts the thread */
  std::printf("%lld wrong, short loops wake: %d, alone on one CPU: %d\n", static_cast<long long>(wrong),
              short_loops_wake(pool) ? 1 : 0, is_alone_on_one_cpu() ? 1 : 0);
}
