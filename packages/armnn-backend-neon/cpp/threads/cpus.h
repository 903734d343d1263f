/* SPDX-License-Identifier: MIT */
/* The number of CPUs that this process may use: affinity and cgroup quotas. */
#pragma once

#include <cstdint>

namespace cpuacc {

/* The CPUs that this process may use: its affinity mask, bounded by the quotas of its cgroup and of
 * those around it.
 */
int32_t usable_cpus();

}  // namespace cpuacc
