/* SPDX-License-Identifier: MIT */
/* This machine's CPU, as the system describes it. */
#pragma once

#include <string>

#include "costs/machine.h"

namespace cpuacc {
namespace costs {

/* As /proc/cpuinfo has it; empty: unknown. */
std::string cpu_name();

/* As /sys has them; what is unknown is that of a small core. */
Caches cpu_caches();

}  // namespace costs
}  // namespace cpuacc
