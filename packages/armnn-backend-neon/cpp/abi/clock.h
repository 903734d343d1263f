/* SPDX-License-Identifier: MIT */
/* The time as the host measures it. */
#pragma once

#include <cstdint>
#include <ctime>

namespace cpuacc {

inline uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace cpuacc
