/* SPDX-License-Identifier: MIT */
/* ThreadGain: measures whether repeated runs gain by threads. */
#pragma once

#include <chrono>

namespace cpuacc {

/* Decides by the times of earlier runs whether the next one shares its loops among threads.
 *
 * The price of sharing changes. On one virtual machine a cache line took 80 ns to another CPU and back, and 450 ns
 * some seconds later, when the host ran the two CPUs elsewhere. A program of many short loops then takes almost
 * twice as long with two threads as with one. So two runs are timed on one thread. When shared runs repeatedly
 * take longer than these, two more runs are timed on one thread, as the host may have slowed down both kinds
 * since. If the shared runs are slower than those, too, the next runs use one thread for a while; after that some
 * are shared again. Each comparison is between the best of a few runs: the best of many would be the luckiest.
 * Results have the same bits with any number of threads.
 */
class ThreadGain {
 public:
  /* Whether the next run is to be timed. Runs that are shorter than any loop that is shared are not: reading the
   * clock takes a tenth of a run of half a microsecond.
   */
  bool is_timed() const { return phase_ != Phase::too_short; }
  /* Whether the next run uses the calling thread only. */
  bool is_alone() const { return phase_ == Phase::measure || phase_ == Phase::verify || phase_ == Phase::single_thread; }
  void begin() { start_ = Clock::now(); }
  void end() { note(std::chrono::duration<double, std::nano>(Clock::now() - start_).count()); }
  /* Notes the time of a run. */
  void note(double ns);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase {
    warm_up, /* the first runs, which bring weights into the caches */
    too_short, /* final: runs are too short for threads */
    measure, /* two runs on one thread */
    shared, /* runs on all threads */
    verify, /* two runs on one thread, after several slow shared runs: was the machine slow, or sharing? */
    single_thread, /* runs on one thread, as sharing was slow */
    probe /* some shared runs, to find whether sharing gains again */
  };

  void enter(Phase phase);
  void note_shared(double ns);

  Phase phase_ = Phase::warm_up;
  int runs_ = 0; /* of this phase */
  int slow_ = 0; /* shared runs in a row that took longer than a run on one thread */
  double best_ns_ = 0.0; /* the least time of a run of this phase */
  double spent_ns_ = 0.0; /* the time of all runs of this phase */
  double slow_ns_ = 0.0; /* the time of the best of the slow runs */
  double before_verify_ns_ = 0.0; /* how long the shared phase before `verify` took */
  double alone_ns_ = 0.0; /* the time of a run on one thread */
  double stay_ns_ = 0.0; /* how long runs stay on one thread */
  Clock::time_point start_;
};

}  // namespace cpuacc
