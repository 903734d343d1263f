/* SPDX-License-Identifier: MIT */
#include "threads/pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "costs/costs.h"
#include "threads/cpus.h"

namespace cpuacc {
namespace {

constexpr int kSpins = 2000;
constexpr int64_t kChunksPerShare = 8;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::atomic<int64_t> generation{0}; /* forks between the first process and this one */

int64_t own_generation() {
  static const int is_watched = pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1); });
  (void)is_watched;
  return generation.load(std::memory_order_relaxed);
}

/* While it lives, threads that this one starts get no signals: the host handles them on its own. */
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

struct Pool::Team {
  explicit Team(int32_t threads) : shares(static_cast<size_t>(threads)), owner(own_generation()) {
    const SignalsBlocked blocked;
    try {
      for (int32_t i = 1; i < threads; ++i) workers.emplace_back([this, i] { work(i); });
    } catch (const std::system_error &) {
      /* The system gives no more threads: those that are there do, or the calling one alone. */
    }
  }

  ~Team() {
    {
      const std::lock_guard<std::mutex> guard(mutex);
      ends = true;
    }
    wake.notify_all();
    gate.fetch_add(kRound);
    for (std::thread &worker : workers) worker.join();
  }

  /* Deals out a loop and takes part in it. */
  void run(int64_t count, double item_ns, Part loop_part, const void *loop_arg) {
    const double total = static_cast<double>(count) * item_ns;
    const auto shared = static_cast<int64_t>(shares.size());
    part = loop_part;
    arg = loop_arg;
    chunk = std::max<int64_t>({1, count / (shared * kChunksPerShare),
                               std::min(count / shared, static_cast<int64_t>(costs::kChunkNs / item_ns))});
    for (int64_t i = 0; i < shared; ++i) {
      Share &share = shares[static_cast<size_t>(i)];
      share.next.store(count * i / shared, std::memory_order_relaxed);
      share.end = count * (i + 1) / shared;
    }
    const uint64_t round = gate.load(std::memory_order_relaxed) / kRound + 1;
    gate.store(round * kRound + kOpen);
    if (total >= costs::kWorthWakingNs && sleepers.load() > 0) {
      { const std::lock_guard<std::mutex> guard(mutex); }
      wake.notify_all();
    }
    compute(0);
    gate.fetch_and(~kOpen);
    await_others();
  }

 private:
  /* A gate holds the number of the loop, whether threads may enter it, and how many are inside. */
  static constexpr uint64_t kInside = 0xffff;
  static constexpr uint64_t kOpen = 0x10000;
  static constexpr uint64_t kRound = 0x20000;

  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  void work(int32_t thread) {
    uint64_t seen = 0;
    while (true) {
      await_round(seen);
      if (ends.load()) return;
      uint64_t now = gate.load();
      while ((now & kOpen) != 0 && !gate.compare_exchange_weak(now, now + 1)) {
      }
      seen = now / kRound;
      if ((now & kOpen) == 0) continue;
      compute(thread);
      const uint64_t before = gate.fetch_sub(1);
      if ((before & kOpen) == 0 && (before & kInside) == 1 && caller_sleeps.load()) {
        { const std::lock_guard<std::mutex> guard(mutex); }
        done.notify_one();
      }
    }
  }

  void await_round(uint64_t seen) {
    const auto is_new = [&] { return gate.load(std::memory_order_acquire) / kRound != seen; };
    for (int spin = 0; spin < kSpins; ++spin) {
      if (is_new()) return;
      relax();
    }
    sleepers.fetch_add(1);
    {
      std::unique_lock<std::mutex> guard(mutex);
      wake.wait(guard, [&] { return ends.load() || gate.load() / kRound != seen; });
    }
    sleepers.fetch_sub(1);
  }

  /* Until no thread is inside. */
  void await_others() {
    const auto is_empty = [&] { return (gate.load() & kInside) == 0; };
    for (int spin = 0; spin < kSpins; ++spin) {
      if (is_empty()) return;
      relax();
    }
    caller_sleeps.store(true);
    {
      std::unique_lock<std::mutex> guard(mutex);
      done.wait(guard, is_empty);
    }
    caller_sleeps.store(false);
  }

  void compute(int32_t thread) {
    const size_t count = shares.size();
    for (size_t i = 0; i < count; ++i) {
      Share &share = shares[(static_cast<size_t>(thread) + i) % count];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const int64_t begin = share.next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= share.end) break;
        part(arg, begin, std::min(begin + chunk, share.end), thread);
      }
    }
  }

  alignas(64) std::atomic<uint64_t> gate{0};
  alignas(64) std::atomic<int32_t> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  std::atomic<bool> ends{false};
  int64_t chunk = 1;
  Part part = nullptr;
  const void *arg = nullptr;
  std::vector<Share> shares;
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable done;
  std::vector<std::thread> workers;

 public:
  const int64_t owner; /* the generation that started the threads */
};

Pool::Pool(int32_t threads, double least_ns) : threads_(std::max(1, threads)), least_ns_(least_ns), cpus_(threads > 1 ? usable_cpus() : 1) {}

Pool::~Pool() {
  /* The threads of a parent process are not here to be joined. */
  if (team_ && team_->owner != own_generation()) (void)team_.release();
}

void Pool::run_parts(int64_t count, double item_ns, Part part, const void *arg) {
  const int64_t own = own_generation() + 1;
  int64_t user = user_.load(std::memory_order_relaxed);
  /* A parent process that forked within a loop left its mark: it is not ours. */
  if (user == own || !user_.compare_exchange_strong(user, own, std::memory_order_acquire)) {
    return part(arg, 0, count, 0);
  }
  if (team_ && team_->owner + 1 != own) (void)team_.release();
  if (!team_) team_ = std::make_unique<Team>(threads_);
  team_->run(count, item_ns, part, arg);
  user_.store(0, std::memory_order_release);
}

}  // namespace cpuacc
