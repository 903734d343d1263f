/* SPDX-License-Identifier: MIT */
/* This machine's CPU, as the system describes it. */
#pragma once

#include <string>

#include "costs/machine.h"

namespace cpuacc {
namespace costs {

/* As /proc/cpuinfo has it, with family and model, since CPUs of several generations may have one name:
 * "AMD EPYC, family 26, model 2". Empty: unknown. */
std::string cpu_name();

/* As /sys has them; what is unknown is that of a small core. */
Caches cpu_caches();

}  // namespace costs
}  // namespace cpuacc
