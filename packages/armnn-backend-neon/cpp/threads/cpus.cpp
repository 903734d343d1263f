/* SPDX-License-Identifier: MIT */
/* CPU affinity, and quotas of cgroups of both versions. */
#include "threads/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "costs/text_file.h"

/* Files of the system; tests have files of their own. */
#ifndef CPUACC_CGROUPS
#define CPUACC_CGROUPS "/sys/fs/cgroup"
#define CPUACC_OWN_CGROUPS "/proc/self/cgroup"
#endif

namespace cpuacc {
namespace {

int32_t whole_cpus(double quota, double period) {
  return quota > 0.0 && period > 0.0 ? std::max(1, static_cast<int32_t>(quota / period + 0.5)) : 0;
}

/* The quota of one cgroup of version 2: "200000 100000", or "max 100000"; 0: none. */
int32_t quota_of(const std::string &folder) {
  const std::string text = text_of_file(folder + "/cpu.max").value_or("");
  char *end = nullptr;
  const double quota = std::strtod(text.c_str(), &end);
  return whole_cpus(quota, std::strtod(end, nullptr));
}

/* The quota of one cgroup of version 1; 0: none. */
int32_t old_quota_of(const std::string &folder) {
  const auto number = [&](const char *name) {
    return std::strtod(text_of_file(folder + name).value_or("").c_str(), nullptr);
  };
  return whole_cpus(number("/cpu.cfs_quota_us"), number("/cpu.cfs_period_us"));
}

/* The path of the cgroup of this process for a controller ("": of version 2): "/a/b", or "" for the root. */
std::string own_cgroup(const std::string &controller) {
  const std::string text = text_of_file(CPUACC_OWN_CGROUPS).value_or("");
  std::string_view lines = text;
  for (std::string line; take_line(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string listed = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    const bool is_below_root = path.size() > 1 && path.front() == '/';
    if (listed.find("," + controller + ",") != std::string::npos) return is_below_root ? path : "";
  }
  return "";
}

/* The least quota of a cgroup and of those above it; 0: none. */
int32_t tightest_quota(const std::string &root, std::string group, int32_t (*quota_in)(const std::string &)) {
  int32_t tightest = 0;
  while (true) {
    const int32_t quota = quota_in(root + group);
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
  int32_t cpus = is_known ? CPU_COUNT(&set) : static_cast<int32_t>(std::thread::hardware_concurrency());
  const std::string root = CPUACC_CGROUPS;
  for (const int32_t quota : {tightest_quota(root, own_cgroup(""), quota_of),
                              tightest_quota(root + "/cpu", own_cgroup("cpu"), old_quota_of)}) {
    if (quota > 0) cpus = std::min(cpus, quota);
  }
  return std::max(1, cpus);
}

}  // namespace cpuacc
