/* SPDX-License-Identifier: MIT */
/* The features of an Arm processor, by their names in levels.toml. */
#pragma once

#include <sys/auxv.h>

namespace cpuacc {

inline bool cpu_has_asimd() { return true; /* of every Armv8-A */ }
inline bool cpu_has_asimdhp() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0; }
inline bool cpu_has_asimddp() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
inline bool cpu_has_i8mm() { return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0; }
inline bool cpu_has_bf16() { return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0; }

}  // namespace cpuacc
