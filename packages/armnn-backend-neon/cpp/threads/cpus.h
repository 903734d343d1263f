/* SPDX-License-Identifier: MIT */
/* How many CPUs there are to use. */
#pragma once

#include <cstdint>

namespace cpuacc {

/* The CPUs that this process may use: its affinity mask, bounded by the quotas of its cgroup and of
 * those around it.
 */
int32_t usable_cpus();

}  // namespace cpuacc
