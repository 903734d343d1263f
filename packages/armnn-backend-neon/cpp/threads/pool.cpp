/* SPDX-License-Identifier: MIT */
/* The threads of a pool: waking, spinning, sleeping, and shares of a loop. */
#include "threads/pool.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "costs/costs.h"
#include "threads/cpus.h"
#include "threads/forks.h"

namespace cpuacc {
namespace {

using Clock = std::chrono::steady_clock;

/* How long a thread spins before it sleeps: longer than most stretches of loops that are too short for threads. It
 * is not a number of spins, as the pause instruction takes tens to hundreds of cycles, depending on the CPU.
 */
constexpr auto kSpinning = std::chrono::microseconds(100);
constexpr int kSpinsPerLook = 32; /* at the clock */
/* a loss of time this long after the last time alone counts as a first one */
constexpr auto kForgotten = std::chrono::milliseconds(100);
constexpr int64_t kChunksPerShare = 8;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/* Spins for kSpinning at most; returns whether is_done() was true by then. */
template <typename IsDone>
bool spin_until(const IsDone &is_done) {
  const auto end = std::chrono::steady_clock::now() + kSpinning;
  do {
    for (int spin = 0; spin < kSpinsPerLook; ++spin) {
      if (is_done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/* While one lives, threads that this thread starts block all signals: the host's threads handle them. */
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

/* A share is one cache line, which has all that its thread reads and writes: sharing a loop costs the time in
 * which this line passes to the other CPU and back.
 */
struct Pool::Team {
  explicit Team(int32_t threads, double worth_waking_ns)
      : shares(static_cast<size_t>(threads)), worth_waking_ns(worth_waking_ns), owner(fork_generation()) {
    const SignalsBlocked blocked;
    try {
      for (int32_t i = 1; i < threads; ++i) workers.emplace_back([this, i] { work(i); });
    } catch (const std::system_error &) {
      /* The system starts no more threads: the loops run on those that it started and on the calling one. */
    }
  }

  ~Team() {
    is_ending.store(true);
    ++round;
    for (Share &share : shares) share.left.store(round * kRound);
    { const std::lock_guard<std::mutex> guard(mutex); }
    wake.notify_all();
    for (std::thread &worker : workers) worker.join();
  }

  /* Deals out a loop and takes part in it. */
  void run(int64_t count, double item_ns, LoopBody body, const void *arg) {
    const double loop_ns = static_cast<double>(count) * item_ns;
    if (is_alone && loop_ns < costs::kTimeSliceNs && worth_waking_ns > 0.0) {
      is_alone = Clock::now() < alone_until;
      if (is_alone) return body(arg, 0, count, 0);
    }
    const auto shared = static_cast<int64_t>(shares.size());
    const int64_t chunk = std::max<int64_t>({1, count / (shared * kChunksPerShare),
                                             std::min(count / shared, static_cast<int64_t>(costs::kChunkNs / item_ns))});
    ++round;
    int64_t chunks = 0;
    for (int64_t i = shared - 1; i > 0; --i) {
      Share &share = shares[static_cast<size_t>(i)];
      share.deal(first_of(i, count), first_of(i + 1, count), chunk, body, arg);
      share.left.store(round * kRound + share.chunks, std::memory_order_release);
      chunks += static_cast<int64_t>(share.chunks);
    }
    Share &own = shares.front();
    own.deal(0, first_of(1, count), chunk, body, arg);
    own.left.store(round * kRound + own.chunks - 1, std::memory_order_release); /* the first chunk is taken */
    if (sleepers.load(std::memory_order_relaxed) > 0) wake_for(loop_ns);
    own.compute(0, 0);
    int64_t computed = 1;
    for (Share &share : shares) {
      while (share.compute_one(0)) ++computed;
    }
    done_by_others += chunks + static_cast<int64_t>(own.chunks) - computed;
    const double lost_ns = await_others();
    const bool has_lost = lost_ns > std::max(loop_ns, costs::kLostToOthersNs);
    if (!has_lost && !is_crowded.load(std::memory_order_relaxed)) {
      shared_ns += loop_ns;
      if (shared_ns > next_alone_ns) next_alone_ns = costs::kLeastAloneNs;
      if (shared_ns > costs::kCalmNs) alone_per_lost = costs::kLeastAlonePerLost;
      return;
    }
    /* A thread that wakes may begin on the caller's CPU and leave it at once: the first time alone is short. */
    is_crowded.store(false, std::memory_order_relaxed);
    const auto now = Clock::now();
    if (now > alone_until + kForgotten) {
      next_alone_ns = costs::kLeastAloneNs;
      alone_per_lost = costs::kLeastAlonePerLost;
    }
    is_alone = true;
    alone_until = now + std::chrono::nanoseconds(static_cast<int64_t>(has_lost ? alone_per_lost * lost_ns : next_alone_ns));
    if (has_lost) alone_per_lost = std::min(2.0 * alone_per_lost, costs::kAlonePerLost);
    next_alone_ns = std::min(2.0 * next_alone_ns, costs::kAlonePerLost * costs::kTimeSliceNs);
    shared_ns = 0.0;
  }

 private:
  static constexpr uint64_t kRound = 0x10000;

  /* A thread's share of a loop. Members other than left are read only by a thread that took a chunk of the share,
   * and written by the calling thread only when all chunks are done.
   */
  struct alignas(64) Share {
    std::atomic<uint64_t> left{0}; /* the number of the loop times kRound, plus the number of chunks not taken */
    std::atomic<int64_t> done{0}; /* chunks of all shares and loops that its thread has computed */
    LoopBody body = nullptr;
    const void *arg = nullptr;
    int64_t begin = 0;
    int64_t end = 0;
    int64_t chunk = 1;
    uint32_t chunks = 0;
    int32_t cpu = -1; /* of the calling thread */

    void deal(int64_t first, int64_t last, int64_t size, LoopBody loop_body, const void *loop_arg) {
      body = loop_body;
      arg = loop_arg;
      begin = first;
      end = last;
      chunk = size;
      chunks = static_cast<uint32_t>((last - first + size - 1) / size);
      cpu = sched_getcpu();
    }

    void compute(uint64_t place, int32_t thread) const {
      const int64_t first = begin + static_cast<int64_t>(place) * chunk;
      body(arg, first, std::min(first + chunk, end), thread);
    }

    /* Takes a chunk and computes it; false: none is left. */
    bool compute_one(int32_t thread) {
      uint64_t now = left.load(std::memory_order_relaxed);
      do {
        if (now % kRound == 0) return false;
      } while (!left.compare_exchange_weak(now, now - 1, std::memory_order_acquire, std::memory_order_relaxed));
      compute(chunks - now % kRound, thread);
      return true;
    }
  };

  static_assert(sizeof(Share) == 64, "a share is one line of memory");

  /* The first item of a share. The calling thread's is never empty. */
  int64_t first_of(int64_t share, int64_t count) const {
    const auto shared = static_cast<int64_t>(shares.size());
    return (count * share + shared - 1) / shared;
  }

  void work(int32_t thread) {
    Share &own = shares[static_cast<size_t>(thread)];
    uint64_t seen = 0;
    while (true) {
      await_round(own, seen);
      if (is_ending.load()) return;
      seen = own.left.load(std::memory_order_relaxed) / kRound;
      for (size_t i = 0; i < shares.size(); ++i) {
        Share &share = shares[(static_cast<size_t>(thread) + i) % shares.size()];
        while (share.compute_one(thread)) {
          if (share.cpu == sched_getcpu()) is_crowded.store(true, std::memory_order_relaxed);
          own.done.store(own.done.load(std::memory_order_relaxed) + 1);
          if (caller_sleeps.load()) notify_caller();
        }
      }
    }
  }

  void await_round(const Share &own, uint64_t seen) {
    const auto is_new = [&] { return own.left.load(std::memory_order_acquire) / kRound != seen; };
    if (spin_until(is_new)) return;
    sleepers.fetch_add(1);
    {
      std::unique_lock<std::mutex> guard(mutex);
      wake.wait(guard, is_new);
    }
    sleepers.fetch_sub(1);
  }

  /* A thread that falls asleep just now may miss this loop, which the calling thread then computes alone. */
  void wake_for(double loop_ns) {
    slept_ns += loop_ns;
    if (slept_ns < worth_waking_ns) return;
    slept_ns = 0.0;
    { const std::lock_guard<std::mutex> guard(mutex); }
    wake.notify_all();
  }

  void notify_caller() {
    { const std::lock_guard<std::mutex> guard(mutex); }
    done.notify_one();
  }

  /* Waits until all chunks that others took are done. Returns the nanoseconds that the calling thread slept. */
  double await_others() {
    const auto is_done = [&] {
      int64_t sum = 0;
      for (const Share &share : shares) sum += share.done.load();
      return sum == done_by_others;
    };
    if (spin_until(is_done)) return 0.0;
    const auto start = std::chrono::steady_clock::now();
    caller_sleeps.store(true);
    {
      std::unique_lock<std::mutex> guard(mutex);
      done.wait(guard, is_done);
    }
    caller_sleeps.store(false);
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  }

  std::vector<Share> shares;
  const double worth_waking_ns;
  uint64_t round = 0;
  int64_t done_by_others = 0; /* chunks of all loops that other threads took */
  bool is_alone = false; /* short loops run on the calling thread, until alone_until */
  Clock::time_point alone_until;
  double next_alone_ns = costs::kLeastAloneNs; /* at the next loop with a thread on the caller's CPU */
  double alone_per_lost = costs::kLeastAlonePerLost; /* times the time lost, at the next loss */
  double shared_ns = 0.0; /* of loops since the last loss or thread on the caller's CPU */
  double slept_ns = 0.0; /* of loops that met a sleeping thread since the last waking */
  alignas(64) std::atomic<int32_t> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  std::atomic<bool> is_crowded{false}; /* a thread ran on the CPU of the calling one: there is no other for it */
  std::atomic<bool> is_ending{false};
  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable done;
  std::vector<std::thread> workers;

 public:
  const int64_t owner; /* the fork generation of the process that started the threads */
};

Pool::Pool(int32_t threads, double least_ns) : threads_(std::max(1, threads)), least_ns_(least_ns), cpus_(threads > 1 ? usable_cpus() : 1) {}

Pool::~Pool() {
  /* The threads of a parent process are not here to be joined. */
  if (team_ && team_->owner != fork_generation()) (void)team_.release();
}

void Pool::run_body(int64_t count, double item_ns, LoopBody body, const void *arg) {
  const int64_t own = fork_generation() + 1;
  int64_t user = user_.load(std::memory_order_relaxed);
  /* A parent process that forked within a loop left its own mark in user_, which does not count here. */
  if (user == own || !user_.compare_exchange_strong(user, own, std::memory_order_acquire)) {
    return body(arg, 0, count, 0);
  }
  if (team_ && team_->owner + 1 != own) (void)team_.release();
  if (!team_) team_ = std::make_unique<Team>(threads_, costs::kLoopsWorthWaking * least_ns_);
  team_->run(count, item_ns, body, arg);
  user_.store(0, std::memory_order_release);
}

}  // namespace cpuacc
