/* SPDX-License-Identifier: MIT */
/* Runs of simulated times, shared or alone as ThreadGain says: prints how many of each were shared. */
#include "threads/gain.h"

#include <cstdint>
#include <cstdio>

namespace {

constexpr double kUs = 1e3;

/* Runs a program for so many seconds; returns the share of runs that threads shared, in percent. */
template <typename Takes>
double shared_percent_of(cpuacc::ThreadGain &gain, double seconds, const Takes &takes_us) {
  int runs = 0;
  int shared = 0;
  for (double left = seconds * 1e9; left > 0.0; ++runs) {
    const bool is_alone = gain.is_alone();
    const double ns = takes_us(is_alone, runs) * kUs;
    shared += is_alone ? 0 : 1;
    left -= ns;
    gain.note(ns);
  }
  return 100.0 * shared / runs;
}

template <typename Shared>
double shared_percent(cpuacc::ThreadGain &gain, double seconds, double alone_us, const Shared &shared_us) {
  return shared_percent_of(gain, seconds, [&](bool is_alone, int run) { return is_alone ? alone_us : shared_us(run); });
}

double of_steady_times(double alone_us, double shared_us) {
  cpuacc::ThreadGain gain;
  return shared_percent(gain, 3.0, alone_us, [&](int) { return shared_us; });
}

/* Others on the same cores slow down runs of both kinds, by another factor every ten milliseconds. */
double on_a_crowded_host(double alone_us, double shared_us) {
  uint32_t state = 1;
  const auto random = [&] { return (state = state * 1664525u + 1013904223u) / 4294967296.0; };
  double phase_us = 0.0;
  double slower = 1.0;
  const auto takes_us = [&](bool is_alone, int) {
    for (; phase_us > 10e3; phase_us -= 10e3) slower = 1.0 + 1.5 * random();
    const double us = (is_alone ? alone_us : shared_us) * slower * (1.0 + 0.3 * random());
    phase_us += us;
    return us;
  };
  cpuacc::ThreadGain gain;
  return shared_percent_of(gain, 10.0, takes_us);
}

}  // namespace

int main() {
  std::printf("gains: %.2f\n", of_steady_times(100.0, 60.0));
  std::printf("gains little: %.2f\n", of_steady_times(100.0, 95.0));
  std::printf("loses: %.2f\n", of_steady_times(100.0, 160.0));
  std::printf("loses in long runs: %.2f\n", of_steady_times(4000.0, 8000.0));

  cpuacc::ThreadGain quick;
  quick.note(40e3);
  for (int i = 0; i < 2; ++i) quick.note(2e3);
  std::printf("quick, timed: %d\n", quick.is_timed());

  cpuacc::ThreadGain interrupted;
  const auto often = [](int run) { return run % 5 == 0 ? 2000.0 : 60.0; };
  std::printf("interrupted: %.2f\n", shared_percent(interrupted, 3.0, 100.0, often));

  cpuacc::ThreadGain moved; /* the host moves a CPU, and moves it back */
  const auto near = [](int) { return 60.0; };
  const auto far = [](int) { return 160.0; };
  shared_percent(moved, 1.0, 100.0, near);
  std::printf("becomes slow: %.2f\n", shared_percent(moved, 3.0, 100.0, far));
  std::printf("is fast again: %.2f\n", shared_percent(moved, 3.0, 100.0, near));

  std::printf("crowded: %.2f\n", on_a_crowded_host(100.0, 85.0));
  std::printf("loses on a crowded host: %.2f\n", on_a_crowded_host(100.0, 130.0));

  cpuacc::ThreadGain changed; /* runs alone were slow when they were measured */
  shared_percent(changed, 0.5, 150.0, [](int) { return 120.0; });
  std::printf("alone became faster: %.2f\n", shared_percent(changed, 3.0, 100.0, [](int) { return 120.0; }));
}
