/* SPDX-License-Identifier: MIT */
/* The number of CPUs that this process may use: affinity and cgroup quotas. */
#pragma once

#include <cstdint>

namespace cpuacc {

/* The number of CPUs in the affinity mask of this process, bounded by the quotas of its cgroup and of the cgroups
 * above it.
 */
int32_t usable_cpus();

}  // namespace cpuacc
