/* SPDX-License-Identifier: MIT */
#include "threads/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

namespace cpuacc {
namespace {

const std::string kRoot = "/sys/fs/cgroup";

int32_t whole_cpus(double quota, double period) {
  return quota > 0.0 && period > 0.0 ? std::max(1, static_cast<int32_t>(quota / period + 0.5)) : 0;
}

/* The quota of one cgroup of version 2; 0: none. */
int32_t quota_of(const std::string &folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0.0;
  double period = 0.0;
  return file >> quota >> period ? whole_cpus(quota, period) : 0;
}

/* The quota of version 1; 0: none. */
int32_t old_quota() {
  std::ifstream quota_file(kRoot + "/cpu/cpu.cfs_quota_us");
  std::ifstream period_file(kRoot + "/cpu/cpu.cfs_period_us");
  double quota = 0.0;
  double period = 0.0;
  return quota_file >> quota && period_file >> period ? whole_cpus(quota, period) : 0;
}

/* The cgroup of this process below the root, of version 2: "/a/b", or "" for the root. */
std::string own_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) return line == "0::/" ? "" : line.substr(3);
  }
  return "";
}

int32_t tightest_quota() {
  int32_t tightest = old_quota();
  std::string group = own_cgroup();
  while (true) {
    const int32_t quota = quota_of(kRoot + group);
    if (quota > 0) tightest = tightest > 0 ? std::min(tightest, quota) : quota;
    if (group.empty()) return tightest;
    group.resize(group.find_last_of('/'));
  }
}

}  // namespace

int32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_known = sched_getaffinity(0, sizeof set, &set) == 0;
  const int32_t cpus =
      is_known ? CPU_COUNT(&set) : static_cast<int32_t>(std::thread::hardware_concurrency());
  const int32_t quota = tightest_quota();
  return std::max(1, quota > 0 ? std::min(cpus, quota) : cpus);
}

}  // namespace cpuacc
