/* SPDX-License-Identifier: MIT */
#include "threads/pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace cpuacc {
namespace {

constexpr int kSpins = 2000;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/* The quota of cgroup version 2, or of version 1; 0: none. */
int32_t quota_cpus() {
  double quota = 0.0;
  double period = 0.0;
  if (FILE *file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    const int found = std::fscanf(file, "%lf %lf", &quota, &period);
    std::fclose(file);
    if (found != 2) return 0;
  } else if (FILE *old = std::fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re")) {
    const int found = std::fscanf(old, "%lf", &quota);
    std::fclose(old);
    period = 100000.0;
    if (found != 1) return 0;
  }
  if (quota <= 0.0 || period <= 0.0) return 0;
  return std::max(1, static_cast<int32_t>(quota / period + 0.5));
}

}  // namespace

int32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_known = sched_getaffinity(0, sizeof set, &set) == 0;
  const int32_t cpus =
      is_known ? CPU_COUNT(&set) : static_cast<int32_t>(std::thread::hardware_concurrency());
  const int32_t quota = quota_cpus();
  return std::max(1, quota > 0 ? std::min(cpus, quota) : cpus);
}

struct Pool::Team {
  explicit Team(int32_t threads) : owner(getpid()) {
    for (int32_t i = 1; i < threads; ++i) workers.emplace_back([this, i] { work(i); });
  }

  ~Team() {
    {
      const std::lock_guard<std::mutex> guard(mutex);
      ends = true;
      round.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
    for (std::thread &worker : workers) worker.join();
  }

  void work(int32_t thread) {
    uint64_t seen = 0;
    while (true) {
      for (int spin = 0; spin < kSpins && round.load(std::memory_order_acquire) == seen; ++spin) relax();
      if (round.load(std::memory_order_acquire) == seen) {
        std::unique_lock<std::mutex> guard(mutex);
        wake.wait(guard, [&] { return round.load(std::memory_order_acquire) != seen; });
      }
      seen = round.load(std::memory_order_acquire);
      if (ends) return;
      compute(thread);
      busy.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void compute(int32_t thread) const {
    const int64_t parts = static_cast<int64_t>(workers.size()) + 1;
    const int64_t begin = count * thread / parts;
    const int64_t end = count * (thread + 1) / parts;
    if (begin < end) part(arg, begin, end, thread);
  }

  const pid_t owner;
  std::mutex in_use; /* held while a loop runs */
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<uint64_t> round{0};
  std::atomic<int32_t> busy{0};
  bool ends = false;
  int64_t count = 0;
  Part part = nullptr;
  const void *arg = nullptr;
  std::vector<std::thread> workers;
};

namespace {

/* Guards the making of teams only. Taken over a fork, so that the child never finds it held. */
std::mutex &making() {
  static std::mutex *mutex = new std::mutex;
  return *mutex;
}

}  // namespace

Pool::Pool(int32_t threads) : threads_(std::max(1, threads)) {}

Pool::~Pool() {
  /* The threads of a parent process are not here to be joined. */
  if (team_ && team_->owner != getpid()) (void)team_.release();
}

void Pool::run_parts(int64_t count, Part part, const void *arg) {
  Team *team = nullptr;
  {
    const std::lock_guard<std::mutex> guard(making());
    if (team_ && team_->owner != getpid()) (void)team_.release();
    if (!team_) team_ = std::make_unique<Team>(threads_);
    team = team_.get();
  }
  std::unique_lock<std::mutex> use(team->in_use, std::try_to_lock);
  if (!use.owns_lock()) return part(arg, 0, count, 0);
  team->count = count;
  team->part = part;
  team->arg = arg;
  team->busy.store(threads_ - 1, std::memory_order_relaxed);
  {
    const std::lock_guard<std::mutex> guard(team->mutex);
    team->round.fetch_add(1, std::memory_order_release);
  }
  team->wake.notify_all();
  team->compute(0);
  for (int spin = 0; team->busy.load(std::memory_order_acquire) != 0; ++spin) {
    spin < kSpins ? relax() : std::this_thread::yield();
  }
}

}  // namespace cpuacc
