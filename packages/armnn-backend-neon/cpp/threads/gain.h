/* SPDX-License-Identifier: MIT */
/* Whether repeated runs gain by threads. */
#pragma once

#include <chrono>

namespace cpuacc {

/* Decides by the times of earlier runs whether a next one shares its loops.
 *
 * What threads cost is not the same all the time: a line of memory that goes to another CPU and back takes from
 * 50 to 500 ns on one virtual machine, by where its host runs the two CPUs at the moment. A program of
 * many short loops then takes up to twice as long with two threads as with one. So after some runs one is tried alone; when
 * shared ones repeatedly take longer than that, runs stay alone for a while, and then are shared again to see. Results do
 * not depend on it: they are the same bits with any number of threads.
 */
class ThreadGain {
 public:
  /* Whether the next run shall compute all of its loops on its own thread. */
  bool is_alone() const { return phase_ == Phase::measures || phase_ == Phase::alone; }
  void begin() { start_ = Clock::now(); }
  void end() { note(std::chrono::duration<double, std::nano>(Clock::now() - start_).count()); }
  /* What a run took. */
  void note(double ns);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase {
    warms_up, /* memory comes into the caches */
    measures, /* some runs alone */
    shared,
    alone,
    tries /* shared again */
  };

  void enter(Phase phase);
  void note_shared(double ns);

  Phase phase_ = Phase::warms_up;
  int runs_ = 0; /* of this phase */
  int slow_ = 0; /* shared ones in a row that took longer than alone */
  double best_ns_ = 0.0; /* of this phase */
  double spent_ns_ = 0.0; /* in this phase */
  double alone_ns_ = 0.0; /* what a run alone took */
  double stay_ns_ = 0.0; /* how long runs stay alone */
  Clock::time_point start_;
};

}  // namespace cpuacc
