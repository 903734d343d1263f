/* SPDX-License-Identifier: MIT */
/* Loops of a pool whose other thread gets no CPU: prints what the calling thread computed of them.
 *
 * The thread is held where it sleeps, and then within a chunk; a pool that waits for more than that chunk never ends.
 */
#include "threads/pool.h"

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kCount = 1600;
constexpr double kItemNs = 1e5; /* such loops are worth a thread that sleeps */
constexpr double kLate = 0.2e9; /* ns: so long is a chunk late */

const std::thread::id kCaller = std::this_thread::get_id();
std::atomic<bool> holds{false};
std::atomic<bool> is_held{false};

void sleep_ns(double ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<int64_t>(ns))); }

template <typename IsDone>
void await(const IsDone &is_done) {
  while (!is_done()) sleep_ns(2e4);
}

}  // namespace

/* Instead of the system's: wakes at any time, as it may, but a thread that is held does not. */
extern "C" int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *mutex) {
  pthread_mutex_unlock(mutex);
  sleep_ns(2e4);
  if (std::this_thread::get_id() != kCaller) {
    await([] {
      if (holds) is_held = true;
      return !holds;
    });
  }
  return pthread_mutex_lock(mutex);
}

namespace {

/* How the items and chunks of a loop were shared among the threads. */
struct Shared {
  int64_t wrong = 0; /* items that were not computed once */
  int64_t by_caller = 0;
  int64_t parts = 0; /* that the calling thread was given */
};

/* Args: begin: of a chunk; gets the thread and how many items the calling one has computed. */
template <typename Begin>
Shared loop(cpuacc::Pool &pool, double item_ns, const Begin &begin_chunk) {
  std::vector<int> times(kCount);
  std::atomic<int64_t> by_caller{0};
  int64_t parts = 0;
  pool.run(kCount, item_ns, [&](int64_t begin, int64_t end, int32_t thread) {
    begin_chunk(thread, end - begin, by_caller);
    for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
    if (thread != 0) return;
    by_caller += end - begin;
    ++parts;
  });
  Shared result;
  for (const int time : times) result.wrong += time == 1 ? 0 : 1;
  result.by_caller = by_caller;
  result.parts = parts;
  return result;
}

void print(const char *what, const Shared &shared) {
  std::printf("%s: %ld wrong, %ld by the caller in %ld parts\n", what, static_cast<long>(shared.wrong),
              static_cast<long>(shared.by_caller), static_cast<long>(shared.parts));
}

}  // namespace

int main() {
  const auto nothing = [](int32_t, int64_t, const std::atomic<int64_t> &) {};
  cpuacc::Pool pool(2, 1000.0);
  holds = true;
  loop(pool, kItemNs, nothing); /* starts the thread */
  await([] { return is_held.load(); });
  print("never wakes", loop(pool, kItemNs, nothing));
  print("wakes", [&] {
    holds = false;
    std::atomic<bool> has_begun{false};
    return loop(pool, kItemNs, [&](int32_t thread, int64_t items, const std::atomic<int64_t> &by_caller) {
      if (thread == 0) return await([&] { return has_begun.load(); });
      if (has_begun.exchange(true)) return;
      await([&] { return by_caller == kCount - items; }); /* all but this chunk */
      sleep_ns(kLate);
    });
  }());
  print("after it was late", loop(pool, 10.0, nothing));
}
