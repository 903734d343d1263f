/* SPDX-License-Identifier: MIT */
/* The thread pool: threads that share the tasks of a loop. */
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "costs/costs.h"

namespace cpuacc {

/* Starts its threads with the first loop that is worth them. A thread spins for a tenth of a millisecond, then
 * sleeps until one long loop, or several short ones together, are worth waking it. After a fork the child starts
 * threads of its own. While one call uses the pool, loops of other calls run on their own threads.
 *
 * A loop is split into one share for each thread, so that a thread finds in its caches what it wrote before. A
 * thread takes chunks of its own share, then of the others'. The calling thread computes all chunks that nobody
 * has begun, so a thread that sleeps or was taken off its CPU delays it by a chunk at most. A thread that was
 * taken off its CPU within a chunk may delay it by a time slice: then short loops run on the calling thread alone
 * for a multiple of the time that was lost.
 */
class Pool {
 public:
  /* Args: least_ns: loops that take less run on the calling thread. */
  explicit Pool(int32_t threads, double least_ns = costs::kWorthSplittingNs);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  int32_t threads() const { return threads_; }
  double least_ns() const { return least_ns_; }
  /* The number of CPUs that this process may use; 1 for a pool of one thread. */
  int32_t cpus() const { return cpus_; }

  /* Calls body(begin, end, thread) for chunks of 0 .. count - 1; thread < threads(). Returns when all chunks are done.
   * body must not throw.
   *
   * Args: item_ns: the time of one item, in nanoseconds.
   */
  template <typename Body>
  void run(int64_t count, double item_ns, const Body &body) {
    if (count <= 0) return;
    if (threads_ == 1 || count == 1 || static_cast<double>(count) * item_ns < least_ns_) {
      return body(int64_t{0}, count, 0);
    }
    run_body(
        count, item_ns,
        [](const void *arg, int64_t begin, int64_t end, int32_t thread) {
          (*static_cast<const Body *>(arg))(begin, end, thread);
        },
        &body);
  }

  /* Runs a loop over items of unknown cost, each long enough for a thread. */
  template <typename Body>
  void run(int64_t count, const Body &body) {
    run(count, costs::kWorthSplittingNs, body);
  }

 private:
  using LoopBody = void (*)(const void *arg, int64_t begin, int64_t end, int32_t thread);
  void run_body(int64_t count, double item_ns, LoopBody body, const void *arg);

  struct Team;
  int32_t threads_;
  double least_ns_;
  int32_t cpus_;
  std::atomic<int64_t> user_{0}; /* 1 + the fork generation of the process whose loop uses the team; 0: none */
  std::unique_ptr<Team> team_;
};

}  // namespace cpuacc
