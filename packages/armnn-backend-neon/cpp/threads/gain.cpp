/* SPDX-License-Identifier: MIT */
/* The phases of ThreadGain. */
#include "threads/gain.h"

#include <algorithm>

#include "costs/costs.h"

namespace cpuacc {
namespace {

constexpr int kWarmUps = 3;
constexpr int kMeasured = 2;
constexpr int kSlowInARow = 4; /* shared runs: one or two may have lost time to other programs */
constexpr int kTried = 3; /* shared runs of a probe; the first one wakes the threads */
constexpr double kSlow = 1.05; /* a shared run is slow if it takes more than this times the best time on one thread */
constexpr double kLongNs = 3.0e6; /* longer runs gain by threads on any machine */
constexpr double kLeastStayNs = 5.0e6;
constexpr double kMostStayNs = 200.0e6;
constexpr double kRefreshNs = 200.0e6; /* after this time a small gain is measured again */
constexpr double kSmallGain = 0.75; /* of the time on one thread: the gain is small if a shared run takes longer */

}  // namespace

void ThreadGain::enter(Phase phase) {
  phase_ = phase;
  runs_ = slow_ = 0;
  best_ns_ = spent_ns_ = 0.0;
}

void ThreadGain::note(double ns) {
  ++runs_;
  spent_ns_ += ns;
  /* The best time is that of the phase or, on a single thread, of the last few runs: conditions may have changed. */
  const bool is_first = runs_ == 1 || (phase_ == Phase::single_thread && runs_ % kTried == 1);
  best_ns_ = is_first ? ns : std::min(best_ns_, ns);
  switch (phase_) {
    case Phase::warm_up:
      if (runs_ < kWarmUps) return;
      if (best_ns_ < costs::kWorthSplittingNs) return enter(Phase::too_short);
      return enter(ns < kLongNs ? Phase::measure : Phase::warm_up);
    case Phase::too_short: return;
    case Phase::measure:
      if (runs_ < kMeasured) return;
      alone_ns_ = best_ns_;
      return enter(Phase::shared);
    case Phase::shared: return note_shared(ns);
    case Phase::verify:
      if (runs_ < kMeasured) return;
      alone_ns_ = best_ns_;
      if (slow_ns_ <= kSlow * alone_ns_) return enter(Phase::shared);
      stay_ns_ = before_verify_ns_ > kMostStayNs ? kLeastStayNs : std::clamp(2.0 * stay_ns_, kLeastStayNs, kMostStayNs);
      return enter(Phase::single_thread);
    case Phase::single_thread:
      if (spent_ns_ < stay_ns_ || runs_ % kTried != 0) return;
      alone_ns_ = best_ns_;
      return enter(Phase::probe);
    case Phase::probe:
      if (runs_ == 1) best_ns_ = alone_ns_;
      if (runs_ < kTried) return;
      if (best_ns_ < alone_ns_) return enter(Phase::shared);
      stay_ns_ = std::min(2.0 * stay_ns_, kMostStayNs);
      return enter(Phase::single_thread);
  }
}

void ThreadGain::note_shared(double ns) {
  slow_ns_ = slow_ == 0 ? ns : std::min(slow_ns_, ns);
  slow_ = ns > kSlow * alone_ns_ ? slow_ + 1 : 0;
  if (slow_ == kSlowInARow) {
    before_verify_ns_ = spent_ns_;
    return enter(Phase::verify);
  }
  if (spent_ns_ < kRefreshNs) return;
  /* alone_ns_ may have been measured while the machine was slow. */
  if (best_ns_ > kSmallGain * alone_ns_) return enter(Phase::measure);
  enter(Phase::shared);
}

}  // namespace cpuacc
